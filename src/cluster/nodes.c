#include "cluster/nodes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/suggest.h"
#include "cluster/cluster_keys.h"

static void *make(size_t size)
{
    void *made = calloc(1, size);
    if (made == NULL) {
        memory_exhausted(size);
    }
    return made;
}

/* All keys that start with `prefix`. */
static StoreOp range_of(Arena *arena, Str prefix, bool keys_only)
{
    return (StoreOp){ .kind = STORE_RANGE,
                      .key = prefix,
                      .end = store_prefix_end(arena, prefix),
                      .keys_only = keys_only };
}

static bool read_failed(const StoreKv *kv, Error *err)
{
    return error_wrap(err, "%" STR_FMT, STR_ARG(kv->key));
}

/* --- Listing --------------------------------------------------------------------------------- */

typedef struct Listing {
    Str prefix;
    Arena arena;
    NodesListed *done;
    void *context;
} Listing;

/* A node's key is followed by the one that says that it is alive, unless another name stands between
 * them; so the latter looks back. */
static void mark_alive(NodeEntry *nodes, uint32_t count, Str name)
{
    for (uint32_t i = count; i > 0; i--) {
        if (str_eq_c(name, nodes[i - 1].record.name)) {
            nodes[i - 1].is_alive = true;
            return;
        }
    }
}

static bool read_nodes(Listing *listing, const StoreOpReply *reply, NodesListing *out, Error *err)
{
    Arena *arena = &listing->arena;
    NodeEntry *nodes = ARENA_ARRAY(arena, NodeEntry, reply->kv_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < reply->kv_count; i++) {
        const StoreKv *kv = &reply->kvs[i];
        KeyKind kind;
        Str parts[KEYS_PARTS_MAX];
        if (!key_parse(arena, listing->prefix, kv->key, &kind, parts)) {
            continue;
        }
        if (kind == KEY_NODE_ALIVE) {
            mark_alive(nodes, count, parts[0]);
        } else if (kind == KEY_NODE) {
            nodes[count] = (NodeEntry){ 0 };
            if (!node_record_read(arena, kv->value, &nodes[count].record, err)) {
                return read_failed(kv, err);
            }
            count++;
        }
    }
    out->nodes = nodes;
    out->node_count = count;
    return true;
}

static bool read_waiting(Listing *listing, const StoreOpReply *reply, NodesListing *out, Error *err)
{
    JoiningRecord *records = ARENA_ARRAY(&listing->arena, JoiningRecord, reply->kv_count);
    for (uint32_t i = 0; i < reply->kv_count; i++) {
        if (!joining_record_read(&listing->arena, reply->kvs[i].value, &records[i], err)) {
            return read_failed(&reply->kvs[i], err);
        }
    }
    out->waiting = records;
    out->waiting_count = reply->kv_count;
    return true;
}

static void listed(void *context, const StoreReply *reply, const Error *err)
{
    Listing *listing = context;
    NodesListing out = { 0 };
    Error bad;
    if (err == NULL && (!read_nodes(listing, &reply->ops[0], &out, &bad) ||
                        !read_waiting(listing, &reply->ops[1], &out, &bad))) {
        err = &bad;
    }
    listing->done(listing->context, err == NULL ? &out : NULL, err);
    arena_clear(&listing->arena);
    free(listing);
}

void nodes_list(const ClusterStore *at, NodesListed *done, void *context)
{
    Listing *listing = make(sizeof *listing);
    Error err;
    arena_init(&listing->arena, ARENA_UNLIMITED);
    listing->prefix = arena_copy(&listing->arena, at->prefix);
    listing->done = done;
    listing->context = context;
    Arena *arena = &listing->arena;
    StoreOp ops[] = { range_of(arena, cluster_key_node_all(arena, at->prefix), false),
                      range_of(arena, cluster_key_joining_all(arena, at->prefix), false) };
    StoreTxn txn = { .success = ops, .success_count = COUNT_OF(ops) };
    if (!store_txn(at->store, &txn, listed, listing, &err)) {
        listed(listing, NULL, &err);
    }
}

/* --- Names that nobody has ------------------------------------------------------------------- */

typedef struct Unknown {
    char name[NODE_NAME_MAX + 1];
    Str prefix;
    Arena arena;
    ClusterDone *done;
    void *context;
} Unknown;

/* The names of both kinds are the last part of their keys. */
static void offer_names(Unknown *unknown, const StoreOpReply *reply, Suggest *suggest)
{
    for (uint32_t i = 0; i < reply->kv_count; i++) {
        KeyKind kind;
        Str parts[KEYS_PARTS_MAX];
        if (key_parse(&unknown->arena, unknown->prefix, reply->kvs[i].key, &kind, parts) &&
            (kind == KEY_NODE || kind == KEY_OBJECT)) {
            suggest_offer(suggest, parts[kind == KEY_NODE ? 0 : 1]);
        }
    }
}

static void names_listed(void *context, const StoreReply *reply, const Error *err)
{
    Unknown *unknown = context;
    Error out;
    Str near;
    Suggest suggest = suggest_make(str_from_c(unknown->name));
    for (uint32_t i = 0; err == NULL && i < reply->op_count; i++) {
        offer_names(unknown, &reply->ops[i], &suggest);
    }
    if (suggest_found(&suggest, &near)) {
        error_set(&out, ERROR_NOT_FOUND, "there is no node '%s'; did you mean '%" STR_FMT "'?",
                  unknown->name, STR_ARG(near));
    } else {
        error_set(&out, ERROR_NOT_FOUND, "there is no node '%s'", unknown->name);
    }
    unknown->done(unknown->context, &out);
    arena_clear(&unknown->arena);
    free(unknown);
}

void nodes_tell_unknown(const ClusterStore *at, Str name, ClusterDone *done, void *context)
{
    Unknown *unknown = make(sizeof *unknown);
    Error err;
    BUG_IF(name.len > NODE_NAME_MAX);
    memcpy(unknown->name, name.data, name.len);
    arena_init(&unknown->arena, ARENA_UNLIMITED);
    unknown->prefix = arena_copy(&unknown->arena, at->prefix);
    unknown->done = done;
    unknown->context = context;
    Arena *arena = &unknown->arena;
    StoreOp ops[] = { range_of(arena, cluster_key_node_all(arena, at->prefix), true),
                      range_of(arena, cluster_key_joining_all(arena, at->prefix), true) };
    StoreTxn txn = { .success = ops, .success_count = COUNT_OF(ops) };
    if (!store_txn(at->store, &txn, names_listed, unknown, &err)) {
        names_listed(unknown, NULL, &err);
    }
}

/* --- One of them ----------------------------------------------------------------------------- */

typedef struct Showing {
    ClusterStore at;
    char name[NODE_NAME_MAX + 1];
    NodeShown *done;
    void *context;
} Showing;

enum {
    SHOW_NODE,
    SHOW_ALIVE,
    SHOW_JOINING,
    SHOW_FACTS,
    SHOW_COUNT
};

static void showing_end(Showing *showing, const NodeView *view, const Error *err)
{
    showing->done(showing->context, view, err);
    free(showing);
}

static void told_unknown(void *context, const Error *err)
{
    showing_end(context, NULL, err);
}

static bool read_view(Arena *arena, const StoreReply *reply, NodeView *out, Error *err)
{
    const StoreOpReply *node = &reply->ops[SHOW_NODE], *joining = &reply->ops[SHOW_JOINING],
                       *facts = &reply->ops[SHOW_FACTS];
    out->is_member = node->kv_count > 0;
    if (out->is_member && !node_record_read(arena, node->kvs[0].value, &out->node.record, err)) {
        return read_failed(&node->kvs[0], err);
    }
    out->node.is_alive = out->is_member && reply->ops[SHOW_ALIVE].kv_count > 0;
    out->is_waiting = joining->kv_count > 0;
    if (out->is_waiting && !joining_record_read(arena, joining->kvs[0].value, &out->waiting, err)) {
        return read_failed(&joining->kvs[0], err);
    }
    out->facts = facts->kv_count > 0 ? facts->kvs[0].value : STR_EMPTY;
    return true;
}

static void shown(void *context, const StoreReply *reply, const Error *err)
{
    Showing *showing = context;
    AUTO_CLEAR(Arena) arena;
    NodeView view = { 0 };
    Error bad;
    arena_init(&arena, ARENA_UNLIMITED);
    if (err == NULL && !read_view(&arena, reply, &view, &bad)) {
        err = &bad;
    }
    if (err != NULL) {
        showing_end(showing, NULL, err);
    } else if (!view.is_member && !view.is_waiting) {
        nodes_tell_unknown(&showing->at, str_from_c(showing->name), told_unknown, showing);
    } else {
        showing_end(showing, &view, NULL);
    }
}

void nodes_show(const ClusterStore *at, Str name, NodeShown *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!node_name_check(name, &err)) {
        done(context, NULL, &err);
        return;
    }
    Showing *showing = make(sizeof *showing);
    *showing = (Showing){ .at = *at, .done = done, .context = context };
    memcpy(showing->name, name.data, name.len);
    Str keys[SHOW_COUNT] = {
        [SHOW_NODE] = cluster_key_node(&arena, at->prefix, name),
        [SHOW_ALIVE] = cluster_key_alive(&arena, at->prefix, name),
        [SHOW_JOINING] = cluster_key_joining(&arena, at->prefix, name),
        [SHOW_FACTS] = cluster_key_facts(&arena, at->prefix, name),
    };
    StoreOp ops[SHOW_COUNT];
    for (uint32_t i = 0; i < SHOW_COUNT; i++) {
        ops[i] = (StoreOp){ .kind = STORE_RANGE, .key = keys[i] };
    }
    StoreTxn txn = { .success = ops, .success_count = SHOW_COUNT };
    if (!store_txn(at->store, &txn, shown, showing, &err)) {
        shown(showing, NULL, &err);
    }
}
