/* Each change is one transaction that compares the records that it depends on; what is allowed is
 * decided by pure functions. */
#include "membership/servers.h"

#include <stdio.h>

#include "base/vec.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "membership/nodes.h"
#include "pki/revocation.h"

/* --- Reading --------------------------------------------------------------------------------- */

ServersListing servers_list(Arena *arena, const ClusterStore *cluster_store)
{
    VEC(ServerEntry) entries = { 0 };
    StateRange range = state_range(cluster_store->state,
                                   cluster_key_server_all(arena, cluster_store->prefix), STR_EMPTY);
    for (const StateEntry *from = state_next(&range); from != NULL; from = state_next(&range)) {
        ServerEntry entry = { .revision = from->mod_revision };
        Error err;
        if (!server_record_read(arena, from->value, &entry.record, &err)) {
            entry.record = (ServerRecord){ 0 };
            snprintf(entry.record.name, sizeof entry.record.name, "%" STR_FMT,
                     STR_ARG(from->parts[0]));
            entry.error = arena_copy(arena, str_from_c(err.text));
        }
        VEC_PUSH(arena, &entries, entry);
    }
    return (ServersListing){ entries.items, entries.len };
}

const ServerEntry *servers_find(const ServersListing *listing, Str name)
{
    for (uint32_t i = 0; i < listing->count; i++) {
        if (str_eq_c(name, listing->items[i].record.name)) {
            return &listing->items[i];
        }
    }
    return NULL;
}

/* --- Deciding -------------------------------------------------------------------------------- */

bool server_decide_add(const ServerFacts *facts, Error *err)
{
    if (facts->node == NULL) {
        return error_set(err, ERROR_NOT_FOUND, "node not found; join it first");
    }
    const char *name = facts->node->name;
    if (facts->has_record && facts->node->is_server) {
        return error_set(err, ERROR_CONFLICT, "'%s' is already a server", name);
    }
    if (facts->is_revoked || facts->is_expired) {
        return error_set(err, ERROR_CONFLICT,
                         "the certificate of '%s' is %s; it must join again first", name,
                         facts->is_revoked ? "revoked" : "expired");
    }
    if (!facts->is_shared) {
        return error_set(err, ERROR_CONFLICT,
                         "the store of this cluster is a file of its server; several servers "
                         "require a store in etcd");
    }
    return facts->count < SERVERS_MAX ||
           error_set(err, ERROR_LIMIT, "a cluster can have at most %d servers", SERVERS_MAX);
}

bool server_decide_remove(const ServerFacts *facts, Error *err)
{
    if (!facts->has_record) {
        return error_set(err, ERROR_NOT_FOUND, "server not found");
    }
    return facts->count > 1 ||
           error_set(err, ERROR_CONFLICT,
                     "it is the only server; to delete the cluster, stop eden and delete its state "
                     "directory");
}

/* A server without a record belongs to a cluster older than these records. */
bool server_decide_serve(const ServerFacts *facts, Error *err)
{
    return (facts->node != NULL && facts->node->is_server) ||
           error_set(err, ERROR_DENIED, "this machine is no longer a server of the cluster");
}

/* --- Changes --------------------------------------------------------------------------------- */

enum {
    READ_NODE,
    READ_SERVER,
    READ_REVOCATIONS,
    READ_SET,
    READ_COUNT
};

typedef struct ServerChange ServerChange;
typedef bool Decide(const ServerChange *request, Change *change, ServerFacts *facts,
                    NodeRecord *node, Error *err);

struct ServerChange {
    ChangeRequest base;
    char name[NODE_NAME_MAX + 1];
    bool is_shared;
    int64_t revision;
    Str record; /* the record to write */
    Decide *decide;
};

static bool read_facts(const ServerChange *request, Change *change, NodeRecord *node,
                       ServerFacts *out, Error *err)
{
    RevocationList revoked = { 0 };
    Error why;
    *out = (ServerFacts){ .has_record = change_has(change, READ_SERVER),
                          .count = change_count(change, 0),
                          .is_shared = request->is_shared };
    if (!change_has(change, READ_NODE)) {
        return true;
    }
    if (!node_record_read(change_arena(change), change_value(change, READ_NODE), node, err) ||
        (change_has(change, READ_REVOCATIONS) &&
         !revocation_read(change_arena(change), change_value(change, READ_REVOCATIONS), &revoked,
                          err))) {
        return false;
    }
    out->node = node;
    out->is_revoked =
        !revocation_check(&revoked, str_from_c(node->name), str_from_c(node->serial), &why);
    out->is_expired = node->not_after_ms <= loop_wall_ms(request->base.cluster_store.loop);
    return true;
}

static bool decide(void *context, Change *change, Error *err)
{
    const ServerChange *request = context;
    NodeRecord *node = ARENA_NEW(change_arena(change), NodeRecord);
    ServerFacts facts;
    return read_facts(request, change, node, &facts, err) &&
           request->decide(request, change, &facts, node, err);
}

static void put_node(Change *change, NodeRecord *node, bool is_server)
{
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    node->is_server = is_server;
    node_record_print(node, &text);
    change_put(change, change_key(change, READ_NODE), buf_str(&text), 0);
}

/* The count of servers is not compared; this is. */
static void put_set(const ServerChange *request, Change *change)
{
    change_put(change, change_key(change, READ_SET),
               grants_record(change_arena(change), str_from_c(request->name)), 0);
}

static bool decide_add(const ServerChange *request, Change *change, ServerFacts *facts,
                       NodeRecord *node, Error *err)
{
    ServerRecord record = { .added_ms = loop_wall_ms(request->base.cluster_store.loop) };
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    if (!change_has(change, READ_NODE)) {
        return nodes_not_found(&request->base.cluster_store, str_from_c(request->name), err);
    }
    if (!server_decide_add(facts, err)) {
        return false;
    }
    memcpy(record.name, request->name, sizeof record.name);
    server_record_print(&record, &text);
    put_node(change, node, true);
    change_put(change, change_key(change, READ_SERVER), buf_str(&text), 0);
    put_set(request, change);
    return true;
}

static bool decide_remove(const ServerChange *request, Change *change, ServerFacts *facts,
                          NodeRecord *node, Error *err)
{
    if (request->revision != 0 && change_has(change, READ_SERVER) &&
        change_revision(change, READ_SERVER) != request->revision) {
        return error_set(err, ERROR_CONFLICT, "it was modified by another request; read it again");
    }
    if (!server_decide_remove(facts, err)) {
        return false;
    }
    if (facts->node != NULL) {
        put_node(change, node, false);
    }
    change_delete(change, change_key(change, READ_SERVER));
    put_set(request, change);
    return true;
}

static bool decide_register(const ServerChange *request, Change *change, ServerFacts *facts,
                            NodeRecord *node, Error *err)
{
    Arena *arena = change_arena(change);
    ServerRecord record, former;
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Error ignored;
    if (!server_decide_serve(facts, err)) {
        return false;
    }
    if (!request->is_shared && facts->count == 0) {
        return true;
    }
    if (!server_record_read(arena, arena_copy(arena, request->record), &record, err)) {
        return false;
    }
    if (change_has(change, READ_SERVER) &&
        server_record_read(arena, change_value(change, READ_SERVER), &former, &ignored)) {
        record.added_ms = former.added_ms;
        record.unknown = former.unknown;
    }
    server_record_print(&record, &text);
    if (!str_eq(buf_str(&text), change_value(change, READ_SERVER))) {
        change_put(change, change_key(change, READ_SERVER), buf_str(&text), 0);
    }
    return true;
}

/* Returns NULL if the name is invalid, which was reported to `done` already. */
static ServerChange *request_new(const ClusterStore *cluster_store, Str name, Decide *decide_it,
                                 ClusterDone *done, void *context)
{
    Error err;
    if (!node_name_check(name, &err)) {
        done(context, &err);
        return NULL;
    }
    ServerChange *request = change_request_new(sizeof *request, cluster_store, done, context);
    memcpy(request->name, name.data, name.len);
    request->decide = decide_it;
    return request;
}

static void start(ServerChange *request)
{
    Arena *arena = &request->base.arena;
    Str prefix = request->base.cluster_store.prefix, name = str_from_c(request->name);
    Str keys[READ_COUNT] = {
        [READ_NODE] = cluster_key_node(arena, prefix, name),
        [READ_SERVER] = cluster_key_server(arena, prefix, name),
        [READ_REVOCATIONS] = cluster_key_revocations(arena, prefix),
        [READ_SET] = cluster_key_server_grants(arena, prefix),
    };
    change_request_start(&request->base,
                         &(ChangeSpec){ .keys = keys,
                                        .key_count = READ_COUNT,
                                        .counted = { cluster_key_server_all(arena, prefix) },
                                        .decide = decide });
}

void servers_add(const ClusterStore *cluster_store, Str name, bool is_shared, ClusterDone *done,
                 void *context)
{
    ServerChange *request = request_new(cluster_store, name, decide_add, done, context);
    if (request != NULL) {
        request->is_shared = is_shared;
        start(request);
    }
}

void servers_remove(const ClusterStore *cluster_store, Str name, int64_t revision,
                    ClusterDone *done, void *context)
{
    ServerChange *request = request_new(cluster_store, name, decide_remove, done, context);
    if (request != NULL) {
        request->revision = revision;
        start(request);
    }
}

void servers_register(const ClusterStore *cluster_store, const ServerRecord *record, bool is_shared,
                      ClusterDone *done, void *context)
{
    ServerChange *request =
        request_new(cluster_store, str_from_c(record->name), decide_register, done, context);
    if (request != NULL) {
        Buf text = buf_make_in(&request->base.arena, BUF_UNLIMITED);
        server_record_print(record, &text);
        request->record = buf_str(&text);
        request->is_shared = is_shared;
        start(request);
    }
}
