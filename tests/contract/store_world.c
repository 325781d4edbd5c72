#include "store_world.h"

#include <ftw.h>
#include <stdlib.h>

#include "remote_store.h"

static const Backend backends[] = {
    { "memory", .on_disk = false, .virtual_time = true },
    { "sqlite", .on_disk = true, .virtual_time = true },
    { "sqlite with threads", .on_disk = true, .virtual_time = false },
    { "memory and others", .on_disk = false, .virtual_time = true, .others = true },
    { "sqlite and others", .on_disk = true, .virtual_time = true, .others = true },
    { "far", .virtual_time = true, .is_remote = true },
    { "etcd", .is_remote = true, .members = 1 },
    { "etcd with three members", .is_remote = true, .members = 3 },
    { "etcd with failing members", .is_remote = true, .members = 3, .fails = true },
};

/* Of the etcd backend of this program, for all its tests. */
static EtcdCluster *etcd;

/* A value written by another client before any key of the tests. */
#define OTHERS_KEY STR("\x01others")

/* --- The world ------------------------------------------------------------------------------- */

static void open_store(World *world)
{
    Error err;
    if (world->backend->members > 0) {
        world->store =
            etcd_cluster_open(world->cluster, world->loop, world->tls, &world->settings, 0);
    } else if (!world->backend->on_disk) {
        world->store = store_open_memory(world->loop, &world->settings);
        if (world->backend->is_remote) {
            world->store = remote_store_new_steady(world->loop, world->store);
        }
    } else if (!store_open_sqlite(world->loop, world->directory, &world->settings, &world->store,
                                  &err)) {
        fail_msg("%s", err.text);
    }
}

/* Deletes what the previous test has left. */
static void empty_store(World *world)
{
    const Answer *leases = world_lease_list(world);
    for (uint32_t i = 0; i < leases->id_count; i++) {
        world_revoke(world, leases->ids[i]);
    }
    world_op(world, (StoreOp){ .kind = STORE_DELETE, .key = STR("\0"), .end = STORE_ALL });
}

void world_open_empty(World *world, uint64_t number)
{
    Error err;
    if (world->backend->members > 0) {
        open_store(world);
        empty_store(world);
    } else if (!world->backend->on_disk) {
        world->store = store_open_memory(world->loop, NULL);
    } else {
        const char *directory = arena_format(&world->arena, "%s/%llu%c", world->directory,
                                             (unsigned long long)number, '\0')
                                    .data;
        if (!store_open_sqlite(world->loop, directory, NULL, &world->store, &err)) {
            fail_msg("%s", err.text);
        }
    }
    world_begin(world);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    return remove(path);
}

static void with_backend(void **state)
{
    const void *const *row = *state;
    const StoreTest *test = row[0];
    World world = { .backend = row[1] };
    arena_init(&world.arena, ARENA_UNLIMITED);
    strcpy(world.directory, "/tmp/eden_store.XXXXXX");
    assert_non_null(mkdtemp(world.directory));
    world.loop = world.backend->virtual_time ? loop_new_virtual(1) : loop_new();
    if (world.backend->members > 0) {
        world.cluster = etcd;
        world.tls = etcd_cluster_tls(etcd, world.loop);
        etcd_cluster_settle(etcd);
    }
    open_store(&world);
    if (world.cluster != NULL) {
        empty_store(&world);
    }
    world_begin(&world);
    test->run(&world);
    store_close(world.store);
    tls_context_free(world.tls);
    loop_free(world.loop);
    nftw(world.directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_clear(&world.arena);
}

static const Backend *etcd_backend(void)
{
    const char *name = getenv("EDEN_STORE_ON");
    for (size_t i = 0; name != NULL && i < COUNT_OF(backends); i++) {
        if (strcmp(backends[i].name, name) == 0) {
            return &backends[i];
        }
    }
    return NULL;
}

static int start_etcd(void **state)
{
    etcd = etcd_cluster_start(etcd_backend()->members);
    return 0;
}

static int stop_etcd(void **state)
{
    etcd_cluster_stop(etcd);
    return 0;
}

int store_tests_run(const char *suite, const StoreTest *tests, size_t count)
{
    struct CMUnitTest *rows = calloc(count * COUNT_OF(backends), sizeof *rows);
    const void *(*states)[2] = calloc(count * COUNT_OF(backends), sizeof *states);
    char(*names)[160] = calloc(count * COUNT_OF(backends), sizeof *names);
    size_t used = 0;
    const Backend *chosen = etcd_backend();
    for (size_t b = 0; b < COUNT_OF(backends); b++) {
        for (size_t i = 0; i < count; i++) {
            if (chosen == NULL ? backends[b].members > 0 : &backends[b] != chosen) {
                continue;
            }
            bool is_kept = backends[b].on_disk || backends[b].members > 0;
            if ((tests[i].disk_only && !is_kept) ||
                (tests[i].local_only && backends[b].is_remote) ||
                (tests[i].time_only && !backends[b].virtual_time)) {
                continue;
            }
            snprintf(names[used], sizeof names[used], "%s: %s", backends[b].name, tests[i].name);
            states[used][0] = &tests[i];
            states[used][1] = &backends[b];
            rows[used] = (struct CMUnitTest){ .name = names[used],
                                              .test_func = with_backend,
                                              .initial_state = states[used] };
            used++;
        }
    }
    int failed = _cmocka_run_group_tests(suite, rows, used, chosen == NULL ? NULL : start_etcd,
                                         chosen == NULL ? NULL : stop_etcd);
    free(rows);
    free(states);
    free(names);
    return failed;
}

static void other_done(void *context, const StoreReply *reply, const Error *err)
{
    Answer *answer = context;
    answer->done = true;
    world_wake(answer->world);
}

/* Creates two revisions that cancel each other out. */
static void disturb(World *world);

static void others_write(World *world)
{
    disturb(world);
    Answer put = { .world = world }, gone = { .world = world };
    Error err;
    if (world->backend->others) {
        assert_true(store_put(world->store, OTHERS_KEY, STR("x"), 0, other_done, &put, &err));
        world_wait(world, &put.done);
        assert_true(store_delete(world->store, OTHERS_KEY, other_done, &gone, &err));
        world_wait(world, &gone.done);
    }
}

/* Before a call that writes, while nothing is pending: moves the leader now and then, and kills a
 * member once in each test. The call is made when the cluster is able to serve it, so that it does
 * not fail. */
static void disturb(World *world)
{
    uint32_t call = world->cluster == NULL || !world->backend->fails ? 0 : ++world->calls;
    if (call == 3) {
        uint32_t leader = etcd_cluster_leader(world->cluster);
        etcd_cluster_kill(world->cluster, leader);
        etcd_cluster_leader(world->cluster);
        etcd_cluster_restart(world->cluster, leader);
        world_now(world);
    } else if (call == 6 || call == 30) {
        etcd_cluster_settle(world->cluster);
        etcd_cluster_move_leader(world->cluster);
        world_now(world);
    }
}

int64_t world_now(World *world)
{
    Answer answer = { .world = world };
    Error err;
    assert_true(store_revision(world->store, answer_done, &answer, &err));
    world_wait(world, &answer.done);
    assert_int_equal(answer.err.kind, ERROR_NONE);
    assert_int_equal(answer.reply.op_count, 0);
    return answer.reply.revision;
}

void world_begin(World *world)
{
    world->changes = 0;
    others_write(world);
    world->revisions[0] = world_now(world);
}

int64_t world_revision(const World *world, int64_t nth)
{
    assert_in_range(nth, 0, world->changes);
    return world->revisions[nth];
}

int64_t world_next_revision(World *world)
{
    return world_now(world) + 1;
}

static void record_change(World *world, int64_t revision)
{
    if (revision > world->revisions[world->changes]) {
        assert_true(world->changes + 1 < CHANGES_MAX);
        world->revisions[++world->changes] = revision;
    }
}

int64_t world_nth(World *world, int64_t revision)
{
    for (uint32_t i = world->changes; i > 0; i--) {
        if (world->revisions[i] == revision) {
            return i;
        }
    }
    assert_int_equal(revision, world->revisions[0]);
    return 0;
}

void world_reopen(World *world)
{
    store_close(world->store);
    open_store(world);
}

void world_run_due(World *world)
{
    loop_run_virtual_until(world->loop, loop_now_ms(world->loop));
}

void world_wake(World *world)
{
    if (!world->backend->virtual_time) {
        loop_stop(world->loop);
    }
}

void world_wait(World *world, const bool *flag)
{
    if (world->backend->virtual_time) {
        world_run_due(world);
    }
    while (!*flag && !world->backend->virtual_time) {
        loop_run(world->loop);
    }
    assert_true(*flag);
}

/* --- Responses ------------------------------------------------------------------------------- */

static StoreKv copy_kv(Arena *arena, StoreKv kv)
{
    kv.key = arena_copy(arena, kv.key);
    kv.value = arena_copy(arena, kv.value);
    return kv;
}

static void copy_error(Answer *answer, const Error *err)
{
    assert_false(answer->done);
    answer->done = true;
    answer->err = err == NULL ? (Error){ 0 } : *err;
    world_wake(answer->world);
}

void answer_done(void *context, const StoreReply *reply, const Error *err)
{
    Answer *answer = context;
    Arena *arena = &answer->world->arena;
    copy_error(answer, err);
    assert_true((reply == NULL) == (err != NULL));
    if (reply == NULL) {
        return;
    }
    answer->reply = *reply;
    StoreOpReply *ops = ARENA_ARRAY(arena, StoreOpReply, reply->op_count);
    for (uint32_t i = 0; i < reply->op_count; i++) {
        ops[i] = reply->ops[i];
        StoreKv *kvs = ARENA_ARRAY(arena, StoreKv, ops[i].kv_count);
        for (uint32_t j = 0; j < ops[i].kv_count; j++) {
            kvs[j] = copy_kv(arena, reply->ops[i].kvs[j]);
        }
        ops[i].kvs = kvs;
    }
    answer->reply.ops = ops;
    for (uint32_t i = 0; i < reply->op_count; i++) {
        if (ops[i].kind == STORE_PUT || (ops[i].kind == STORE_DELETE && ops[i].count > 0)) {
            record_change(answer->world, reply->revision);
        }
    }
}

void answer_lease(void *context, const StoreLease *lease, const Error *err)
{
    Answer *answer = context;
    Arena *arena = &answer->world->arena;
    copy_error(answer, err);
    if (lease == NULL) {
        return;
    }
    answer->lease = *lease;
    Str *keys = ARENA_ARRAY(arena, Str, lease->key_count);
    for (uint32_t i = 0; i < lease->key_count; i++) {
        keys[i] = arena_copy(arena, lease->keys[i]);
    }
    answer->lease.keys = keys;
}

static void answer_ids(void *context, const int64_t *ids, uint32_t count, const Error *err)
{
    Answer *answer = context;
    copy_error(answer, err);
    assert_true(count <= COUNT_OF(answer->ids));
    memcpy(answer->ids, ids, count * sizeof *ids);
    answer->id_count = count;
}

static Answer *answer_new(World *world)
{
    Answer *answer = ARENA_NEW(&world->arena, Answer);
    answer->world = world;
    return answer;
}

/* Waits for the response, unless the call was rejected. */
static Answer *wait_answer(World *world, Answer *answer, bool called)
{
    if (called) {
        assert_false(answer->done);
        world_wait(world, &answer->done);
    } else {
        assert_int_not_equal(answer->err.kind, ERROR_NONE);
    }
    return answer;
}

void world_start_put(World *world, Str key, Str value, Answer *answer)
{
    StoreOp op = { .kind = STORE_PUT, .key = key, .value = value };
    StoreTxn txn = { .success = &op, .success_count = 1, .lane = 1 };
    answer->world = world;
    assert_true(store_txn(world->store, &txn, answer_done, answer, &answer->err));
}

Answer *world_txn(World *world, const StoreTxn *txn)
{
    if (!txn->relaxed) {
        others_write(world);
    }
    Answer *answer = answer_new(world);
    return wait_answer(world, answer,
                       store_txn(world->store, txn, answer_done, answer, &answer->err));
}

Answer *world_op(World *world, StoreOp op)
{
    if (op.kind != STORE_RANGE) {
        others_write(world);
    }
    Answer *answer = answer_new(world);
    return wait_answer(world, answer,
                       store_op(world->store, &op, answer_done, answer, &answer->err));
}

Answer *world_put(World *world, const char *key, const char *value)
{
    return world_put_lease(world, key, value, 0);
}

Answer *world_put_lease(World *world, const char *key, const char *value, int64_t lease)
{
    others_write(world);
    Answer *answer = answer_new(world);
    return wait_answer(world, answer,
                       store_put(world->store, str_from_c(key), str_from_c(value), lease,
                                 answer_done, answer, &answer->err));
}

Answer *world_delete(World *world, const char *key)
{
    others_write(world);
    Answer *answer = answer_new(world);
    return wait_answer(
        world, answer,
        store_delete(world->store, str_from_c(key), answer_done, answer, &answer->err));
}

Answer *world_compact(World *world, int64_t revision)
{
    Answer *answer = answer_new(world);
    return wait_answer(world, answer,
                       store_compact(world->store, revision, answer_done, answer, &answer->err));
}

Answer *world_grant(World *world, int64_t ttl_s, int64_t id)
{
    Answer *answer = answer_new(world);
    return wait_answer(
        world, answer,
        store_lease_grant(world->store, ttl_s, id, answer_lease, answer, &answer->err));
}

Answer *world_revoke(World *world, int64_t id)
{
    others_write(world);
    int64_t before = world_now(world);
    Answer *answer = answer_new(world);
    wait_answer(world, answer,
                store_lease_revoke(world->store, id, answer_lease, answer, &answer->err));
    if (answer->err.kind == ERROR_NONE && answer->lease.revision > before) {
        record_change(world, answer->lease.revision);
    }
    return answer;
}

Answer *world_keep_alive(World *world, int64_t id)
{
    Answer *answer = answer_new(world);
    return wait_answer(
        world, answer,
        store_lease_keep_alive(world->store, id, answer_lease, answer, &answer->err));
}

Answer *world_time_to_live(World *world, int64_t id, bool keys)
{
    Answer *answer = answer_new(world);
    return wait_answer(
        world, answer,
        store_lease_time_to_live(world->store, id, keys, answer_lease, answer, &answer->err));
}

Answer *world_lease_list(World *world)
{
    Answer *answer = answer_new(world);
    return wait_answer(world, answer,
                       store_lease_list(world->store, answer_ids, answer, &answer->err));
}

const char *world_get(World *world, const char *key)
{
    Answer *answer = answer_new(world);
    wait_answer(world, answer,
                store_get(world->store, str_from_c(key), answer_done, answer, &answer->err));
    assert_int_equal(answer->err.kind, ERROR_NONE);
    const StoreOpReply *op = &answer->reply.ops[0];
    return op->kv_count == 0 ? NULL : arena_copy_c(&world->arena, op->kvs[0].value);
}

const char *world_show(World *world, StoreOp op)
{
    Answer *answer = world_op(world, op);
    if (answer->err.kind != ERROR_NONE) {
        return answer->err.text;
    }
    const StoreOpReply *reply = &answer->reply.ops[0];
    Str text = STR_EMPTY;
    for (uint32_t i = 0; i < reply->kv_count; i++) {
        const StoreKv *kv = &reply->kvs[i];
        text = arena_format(&world->arena, "%" STR_FMT "%s%" STR_FMT "=%" STR_FMT, STR_ARG(text),
                            i == 0 ? "" : " ", STR_ARG(kv->key), STR_ARG(kv->value));
    }
    return arena_copy_c(&world->arena, text);
}

/* --- Watches --------------------------------------------------------------------------------- */

static void record_event(WatchLog *seen, const StoreEvent *event)
{
    const StoreKv *kv = &event->kv, *was = &event->previous;
    record_change(seen->world, kv->mod_revision); /* also for keys of an expired lease */
    int room = (int)(sizeof seen->log - seen->used);
    int used =
        snprintf(seen->log + seen->used, (size_t)room, "%s%s %" STR_FMT,
                 seen->used == 0 ? "" : ", ", event->deleted ? "delete" : "put", STR_ARG(kv->key));
    if (used < room && !event->deleted) {
        used += snprintf(seen->log + seen->used + used, (size_t)(room - used), "=%" STR_FMT,
                         STR_ARG(kv->value));
    }
    if (used < room) {
        used += snprintf(seen->log + seen->used + used, (size_t)(room - used), "@%lld",
                         (long long)world_nth(seen->world, kv->mod_revision));
    }
    if (used < room && event->has_previous) {
        used += snprintf(seen->log + seen->used + used, (size_t)(room - used),
                         " (was %" STR_FMT "@%lld)", STR_ARG(was->value),
                         (long long)world_nth(seen->world, was->mod_revision));
    }
    seen->used += used < room ? (size_t)used : 0;
}

static void watch_log_batch(void *context, const StoreBatch *batch)
{
    WatchLog *seen = context;
    seen->batches++;
    seen->current |= batch->count == 0 && !batch->resync && batch->err == NULL;
    seen->resync |= batch->resync;
    seen->failed |= batch->err != NULL;
    seen->compacted = batch->compacted;
    assert_true(batch->revision >= seen->revision || batch->resync);
    seen->revision = batch->revision;
    for (uint32_t i = 0; i < batch->count; i++) {
        record_event(seen, &batch->events[i]);
    }
    seen->events += batch->count;
    seen->reached = seen->resync || (seen->events >= seen->wait_for && seen->current);
    if (seen->acks && batch->count > 0) {
        store_watch_ack(seen->watch);
    }
    if (seen->cancel_at == seen->batches) {
        store_watch_cancel(seen->watch);
        seen->watch = NULL;
    }
    world_wake(seen->world);
}

void watch_log_start(WatchLog *seen, World *world, const char *key, Str end, int64_t from,
                     bool previous)
{
    seen->world = world;
    Error err;
    StoreWatchSpec spec = {
        .key = str_from_c(key),
        .end = end,
        .from = from,
        .previous = previous,
        .done = watch_log_batch,
        .context = seen,
    };
    if (!store_watch(world->store, &spec, &seen->watch, &err)) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(seen->batches, 0);
}

void watch_log_wait(WatchLog *seen, uint32_t events)
{
    seen->wait_for = events;
    seen->reached = seen->resync || (seen->events >= events && seen->current);
    if (!seen->reached) {
        world_wait(seen->world, &seen->reached);
    }
}
