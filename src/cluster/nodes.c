#include "cluster/nodes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "cluster/cluster_keys.h"

/* All keys that start with `prefix`. */
static StoreOp range_of(Arena *arena, Str prefix, bool keys_only)
{
    return (StoreOp){ .kind = STORE_RANGE,
                      .key = prefix,
                      .end = store_prefix_end(arena, prefix),
                      .keys_only = keys_only };
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
    Unknown *unknown = memory_new(sizeof *unknown);
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

/* --- Records --------------------------------------------------------------------------------- */

bool node_record_is_revoked(const NodeRecord *record, const RevocationList *list)
{
    Error why;
    return strncmp(record->enrolment, record->serial, ENROLMENT_TEXT) != 0 ||
           !revocation_check(list, str_from_c(record->name), str_from_c(record->serial), &why);
}

static Str fault_of(Arena *arena, const StoreKv *kv, const Error *err)
{
    return arena_format(arena, "%" STR_FMT ": %s", STR_ARG(kv->key), err->text);
}

static void copy_name(Str name, char out[NODE_NAME_MAX + 1])
{
    size_t len = name.len < NODE_NAME_MAX ? name.len : NODE_NAME_MAX;
    memcpy(out, name.data, len);
    out[len] = '\0';
}

/* Pages go on behind the name of the last one: it has to be that of the key. */
static bool check_name(Str name, const char *told, Error *err)
{
    return str_eq_c(name, told) ||
           error_set(err, ERROR_INVALID, "the record has another name, '%s'", told);
}

void node_entry_read(Arena *arena, Str name, const StoreKv *kv, NodeEntry *out)
{
    Error err;
    *out = (NodeEntry){ .revision = kv->mod_revision, .error = STR_EMPTY };
    /* Labels borrow from the text. */
    if (!node_record_read(arena, arena_copy(arena, kv->value), &out->record, &err) ||
        !check_name(name, out->record.name, &err)) {
        out->record = (NodeRecord){ .labels = value_missing(), .annotations = value_missing() };
        out->error = fault_of(arena, kv, &err);
        copy_name(name, out->record.name);
    }
}

bool joining_entry_read(Arena *arena, Str name, const StoreKv *kv, int64_t now_ms,
                        JoiningEntry *out)
{
    Error err;
    *out = (JoiningEntry){ .revision = kv->mod_revision, .error = STR_EMPTY };
    if (!joining_record_read(arena, kv->value, &out->record, &err) ||
        !check_name(name, out->record.name, &err)) {
        out->record = (JoiningRecord){ 0 };
        out->error = fault_of(arena, kv, &err);
        copy_name(name, out->record.name);
        return true;
    }
    joining_record_prune(&out->record, now_ms);
    return out->record.count > 0;
}

const JoiningEntry *joining_entry_find(Arena *arena, Str name, const StoreKv *kv, int64_t now_ms)
{
    JoiningEntry *entry = ARENA_NEW(arena, JoiningEntry);
    return joining_entry_read(arena, name, kv, now_ms, entry) ? entry : NULL;
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
    SHOW_SILENT,
    SHOW_JOINING,
    SHOW_FACTS,
    SHOW_SESSION,
    SHOW_REVOCATIONS,
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

static Str value_of(const StoreOpReply *reply)
{
    return reply->kv_count > 0 ? reply->kvs[0].value : STR_EMPTY;
}

static void read_view(Arena *arena, Str name, const StoreReply *reply, int64_t now_ms,
                      NodeView *out)
{
    const StoreOpReply *node = &reply->ops[SHOW_NODE], *joining = &reply->ops[SHOW_JOINING];
    RevocationList revoked = { 0 };
    Str revocations = value_of(&reply->ops[SHOW_REVOCATIONS]);
    Error err;
    out->is_member = node->kv_count > 0;
    if (out->is_member) {
        node_entry_read(arena, name, &node->kvs[0], &out->node);
        node_entry_read_liveness(&out->node, value_of(&reply->ops[SHOW_ALIVE]),
                                 value_of(&reply->ops[SHOW_SILENT]));
        out->node.knows_revoked =
            revocations.len == 0 || revocation_read(arena, revocations, &revoked, &err);
        out->node.is_revoked =
            out->node.error.len == 0 && node_record_is_revoked(&out->node.record, &revoked);
        out->node.has_facts = reply->ops[SHOW_FACTS].count > 0;
        node_entry_read_session(&out->node, value_of(&reply->ops[SHOW_SESSION]));
    }
    out->node.asking =
        joining->kv_count > 0 ? joining_entry_find(arena, name, &joining->kvs[0], now_ms) : NULL;
}

static void shown(void *context, const StoreReply *reply, const Error *err)
{
    Showing *showing = context;
    AUTO_CLEAR(Arena) arena;
    NodeView view = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    if (err == NULL) {
        read_view(&arena, str_from_c(showing->name), reply, loop_wall_ms(showing->at.loop), &view);
    }
    if (err != NULL) {
        showing_end(showing, NULL, err);
    } else if (!view.is_member && view.node.asking == NULL) {
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
    Showing *showing = memory_new(sizeof *showing);
    *showing = (Showing){ .at = *at, .done = done, .context = context };
    memcpy(showing->name, name.data, name.len);
    Str keys[SHOW_COUNT] = {
        [SHOW_NODE] = cluster_key_node(&arena, at->prefix, name),
        [SHOW_ALIVE] = cluster_key_alive(&arena, at->prefix, name),
        [SHOW_SILENT] = cluster_key_silent(&arena, at->prefix, name),
        [SHOW_JOINING] = cluster_key_joining(&arena, at->prefix, name),
        [SHOW_FACTS] = cluster_key_facts(&arena, at->prefix, name),
        [SHOW_SESSION] = cluster_key_session(&arena, at->prefix, name),
        [SHOW_REVOCATIONS] = cluster_key_revocations(&arena, at->prefix),
    };
    StoreOp ops[SHOW_COUNT];
    for (uint32_t i = 0; i < SHOW_COUNT; i++) {
        ops[i] = (StoreOp){ .kind = STORE_RANGE, .key = keys[i], .count_only = i == SHOW_FACTS };
    }
    StoreTxn txn = { .success = ops, .success_count = SHOW_COUNT };
    if (!store_txn(at->store, &txn, shown, showing, &err)) {
        shown(showing, NULL, &err);
    }
}
