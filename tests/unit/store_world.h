/* An in-memory store on a virtual loop, in 2027, and helpers to write and read it. */
#pragma once

#include <stdlib.h>

#include "cluster/cluster_keys.h"
#include "cluster/cluster_store.h"
#include "membership/node_record.h"
#include "ready_state.h"
#include "unit.h"

#define PREFIX STR("/eden")

typedef struct StoreWorld {
    Arena arena;
    ClusterStore cluster_store;
    bool is_done; /* the last result of world_done: */
    Error err;
} StoreWorld;

static inline void world_open(StoreWorld *world)
{
    arena_init(&world->arena, ARENA_UNLIMITED);
    world->cluster_store.loop = loop_new_virtual(1);
    loop_virtual_set_wall(world->cluster_store.loop, 1800000000000);
    world->cluster_store.store = store_open_memory(world->cluster_store.loop, NULL);
    world->cluster_store.prefix = PREFIX;
}

/* For code that reads the state. */
static inline void world_follow(StoreWorld *world)
{
    follow_store(&world->cluster_store);
    for (int turn = 0; turn < 1000 && !state_age(world->cluster_store.state).is_ready; turn++) {
        loop_run_virtual_until(world->cluster_store.loop,
                               loop_now_ms(world->cluster_store.loop) + 1);
    }
}

static inline void world_close(StoreWorld *world)
{
    follow_stop(&world->cluster_store);
    store_close(world->cluster_store.store);
    follow_free(&world->cluster_store);
    loop_free(world->cluster_store.loop);
    arena_clear(&world->arena);
}

static inline void world_pass(StoreWorld *world)
{
    loop_run_virtual_until(world->cluster_store.loop, loop_now_ms(world->cluster_store.loop) + 10);
}

/* A ClusterDone. */
static inline void world_done(void *context, const Error *err)
{
    StoreWorld *world = context;
    assert_false(world->is_done);
    world->is_done = true;
    world->err = err == NULL ? (Error){ 0 } : *err;
}

/* Expects how the last requested change ends. */
static inline void world_expect(StoreWorld *world, ErrorKind kind, const char *piece)
{
    world_pass(world);
    assert_true(world->is_done);
    world->is_done = false;
    assert_int_equal(world->err.kind, kind);
    if (piece != NULL && strstr(world->err.text, piece) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", piece, world->err.text);
    }
}

static inline void world_stored(void *context, const StoreReply *reply, const Error *err)
{
    world_done(context, err);
}

static inline void world_put(StoreWorld *world, Str key, Str value)
{
    Error err;
    assert_true(store_put(world->cluster_store.store, key, value, 0, world_stored, world, &err));
    world_expect(world, ERROR_NONE, NULL);
}

typedef struct WorldValue {
    Arena *arena;
    Str value;
    bool there;
    int64_t lease;
} WorldValue;

static inline void world_got(void *context, const StoreReply *reply, const Error *err)
{
    WorldValue *got = context;
    assert_null(err);
    got->there = reply->ops[0].kv_count > 0;
    if (got->there) {
        got->value = arena_copy(got->arena, reply->ops[0].kvs[0].value);
        got->lease = reply->ops[0].kvs[0].lease;
    }
}

static inline WorldValue world_get(StoreWorld *world, Str key)
{
    WorldValue got = { .arena = &world->arena };
    Error err;
    assert_true(store_get(world->cluster_store.store, key, world_got, &got, &err));
    world_pass(world);
    return got;
}

/* Makes some server the leader, deposing the former one; returns the new fence. */
static inline StoreCompare world_lead(StoreWorld *world)
{
    Str key = cluster_key_leader(&world->arena, PREFIX);
    Error err;
    assert_true(store_delete(world->cluster_store.store, key, world_stored, world, &err));
    world_expect(world, ERROR_NONE, NULL);
    world_put(world, key, STR("{}"));
    return (StoreCompare){ .target = STORE_CREATE_REVISION,
                           .relation = STORE_EQUAL,
                           .key = key,
                           .number = store_status(world->cluster_store.store).revision };
}
