/* Liveness keys. The presence of a node stores the lease and whether the key is written; it is
 * renewed regularly, which grants or renews the lease and writes the key if needed. `holder_id`
 * identifies the session that sent a request: responses to an earlier session must not count for
 * the current one. The first write of a session replaces the key of any other server; a rewrite
 * after the key was lost does not, so that the newer session wins. */
#include "service/presence.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/hash.h"
#include "base/identity.h"
#include "base/log.h"
#include "base/memory.h"
#include "membership/liveness.h"
#include "rpc/session_server.h"
#include "store/keys.h"

enum {
    BUCKETS = 1024,
    VALUE_MAX = 8 * 1024,
};

/* A request to the store, which always completes it; the presence may be freed by then. */
typedef struct PresenceRequest {
    NodePresence *live; /* NULL once the presence is freed */
    uint64_t holder_id; /* session that sent the request */
} PresenceRequest;

struct NodePresence {
    NodePresence *next;
    Presence *presence;
    char node[NODE_NAME_MAX + 1];
    void (*evicted)(void *context, const Error *why); /* NULL: no session holds this presence */
    void *context;
    uint64_t holder_id; /* number of sessions that have held it */
    Buf value;
    int64_t lease; /* 0: none */
    bool claimed;  /* this session has written the key once */
    bool written;  /* the key still exists, as far as known */
    PresenceRequest *request;
    int64_t session_ended_ms; /* time when the last session ended; 0: none has ended */
    LoopTimer expiry;         /* fires when no session has held it for the duration of the lease */
};

struct Presence {
    Loop *loop;
    Store *store;
    Str prefix, server;
    NodePresence *buckets[BUCKETS];
};

Presence *presence_new(Loop *loop, Store *store, Str prefix, Str server)
{
    Presence *presence = memory_new(sizeof *presence);
    presence->loop = loop;
    presence->store = store;
    presence->prefix = prefix;
    presence->server = server;
    return presence;
}

static NodePresence **find_bucket(Presence *presence, Str node)
{
    return &presence->buckets[hash_str(node) % BUCKETS];
}

static NodePresence *find_presence(const Presence *presence, Str node)
{
    NodePresence *live = presence->buckets[hash_str(node) % BUCKETS];
    while (live != NULL && !str_eq_c(node, live->node)) {
        live = live->next;
    }
    return live;
}

static void node_presence_free(NodePresence *live)
{
    loop_timer_stop(&live->expiry);
    if (live->request != NULL) {
        live->request->live = NULL;
    }
    buf_clear(&live->value);
    free(live);
}

void presence_free(Presence *presence)
{
    if (presence == NULL) {
        return;
    }
    for (unsigned i = 0; i < BUCKETS; i++) {
        while (presence->buckets[i] != NULL) {
            NodePresence *live = presence->buckets[i];
            BUG_IF(live->evicted != NULL);
            presence->buckets[i] = live->next;
            node_presence_free(live);
        }
    }
    free(presence);
}

static void start_expiry(NodePresence *live)
{
    loop_timer_start(&live->expiry, (int64_t)(SESSION_LEASE_S + 1) * 1000);
}

static void expire(void *context)
{
    NodePresence *live = context;
    if (live->request != NULL) {
        start_expiry(live);
        return;
    }
    NodePresence **at = find_bucket(live->presence, str_from_c(live->node));
    while (*at != live) {
        at = &(*at)->next;
    }
    *at = live->next;
    node_presence_free(live);
}

/* --- Key ------------------------------------------------------------------------------------- */

static PresenceRequest *request_new(NodePresence *live)
{
    PresenceRequest *request = memory_new(sizeof *request);
    request->live = live;
    request->holder_id = live->holder_id;
    live->request = request;
    return request;
}

/* Frees the request. Returns the presence if a session still holds it. */
static NodePresence *request_end(PresenceRequest *request, bool *same_holder)
{
    NodePresence *live = request->live;
    if (live != NULL) {
        live->request = NULL;
        *same_holder = live->holder_id == request->holder_id;
    }
    free(request);
    return live != NULL && live->evicted != NULL ? live : NULL;
}

static void log_failure(const NodePresence *live, const Error *err)
{
    log_warning("cannot write the liveness of a node; will retry", LOG_C("node", live->node),
                LOG_C("error", err->text));
}

static void evict(NodePresence *live, const Error *why)
{
    void (*evicted)(void *context, const Error *why) = live->evicted;
    live->evicted = NULL;
    if (evicted != NULL) {
        evicted(live->context, why);
    }
}

/* Whether an earlier attempt that got no response has written the key. */
static bool is_own(const NodePresence *live, const StoreOpReply *record, const StoreOpReply *alive)
{
    return record->count > 0 && alive->kv_count == 1 && alive->kvs[0].lease == live->lease &&
           str_eq(alive->kvs[0].value, buf_str(&live->value));
}

static void put_done(void *context, const StoreReply *reply, const Error *err)
{
    bool same = false;
    NodePresence *live = request_end(context, &same);
    if (live == NULL) {
        return;
    }
    if (err != NULL) {
        if (err->kind == ERROR_NOT_FOUND) {
            live->lease = 0;
        } else {
            log_failure(live, err);
        }
    } else if (!same) {
        presence_renew(live);
    } else if (reply->succeeded || is_own(live, &reply->ops[0], &reply->ops[1])) {
        live->claimed = live->written = true;
    } else {
        Error why;
        if (reply->ops[0].count == 0) {
            error_set(&why, ERROR_DENIED, "no longer a node of the cluster");
        } else {
            error_set(&why, ERROR_CONFLICT, "the node has a newer session with another server");
        }
        start_expiry(live);
        evict(live, &why);
    }
}

/* The first write replaces any other holder; after the key was lost, it is only written if there is
 * no other. */
static void put_key(NodePresence *live)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str node = str_from_c(live->node);
    Str key = key_make(&arena, live->presence->prefix, KEY_NODE_ALIVE, &node, 1);
    Str record = key_make(&arena, live->presence->prefix, KEY_NODE, &node, 1);
    const StoreCompare compares[] = { { STORE_VERSION, STORE_GREATER, record, 0 },
                                      { STORE_VERSION, STORE_EQUAL, key, 0 } };
    StoreOp put = {
        .kind = STORE_PUT, .key = key, .value = buf_str(&live->value), .lease = live->lease
    };
    const StoreOp reads[] = { { .kind = STORE_RANGE, .key = record, .count_only = true },
                              { .kind = STORE_RANGE, .key = key } };
    StoreTxn txn = { .compares = compares,
                     .compare_count = live->claimed ? 2 : 1,
                     .success = &put,
                     .success_count = 1,
                     .failure = reads,
                     .failure_count = COUNT_OF(reads) };
    PresenceRequest *request = request_new(live);
    Error err;
    if (!store_txn(live->presence->store, &txn, put_done, request, &err)) {
        live->request = NULL;
        free(request);
        log_failure(live, &err);
    }
}

static void lease_done(void *context, const StoreLease *lease, const Error *err)
{
    bool same = false;
    NodePresence *live = request_end(context, &same);
    if (live == NULL) {
        return;
    }
    if (err == NULL) {
        live->lease = lease->id;
        if (!live->written) {
            put_key(live);
        }
    } else if (err->kind == ERROR_NOT_FOUND && live->lease != 0) {
        live->lease = 0;
        live->written = false;
        presence_renew(live);
    } else {
        log_failure(live, err);
    }
}

void presence_renew(NodePresence *live)
{
    if (live->request != NULL) {
        return;
    }
    Store *store = live->presence->store;
    PresenceRequest *request = request_new(live);
    Error err;
    if (live->lease == 0
            ? !store_lease_grant_reserved(store, SESSION_LEASE_S, lease_done, request, &err)
            : !store_lease_keep_alive(store, live->lease, lease_done, request, &err)) {
        live->request = NULL;
        free(request);
        log_failure(live, &err);
    }
}

/* --- Holders --------------------------------------------------------------------------------- */

static NodePresence *find_or_create(Presence *presence, Str node)
{
    NodePresence **bucket = find_bucket(presence, node);
    NodePresence *live = find_presence(presence, node);
    if (live != NULL) {
        return live;
    }
    live = memory_new(sizeof *live);
    BUG_IF(node.len > NODE_NAME_MAX);
    memcpy(live->node, node.data, node.len);
    live->presence = presence;
    live->value = buf_make(VALUE_MAX);
    loop_timer_init(&live->expiry, presence->loop, expire, live);
    live->next = *bucket;
    *bucket = live;
    return live;
}

NodePresence *presence_claim(Presence *presence, const PresenceHolder *holder)
{
    NodePresence *live = find_or_create(presence, holder->node);
    loop_timer_stop(&live->expiry);
    Error why;
    error_set(&why, ERROR_CONFLICT, "the node has a newer session");
    evict(live, &why);
    live->holder_id++;
    live->evicted = holder->evicted;
    live->context = holder->context;
    live->claimed = live->written = false;
    buf_reset(&live->value);
    record_print(&alive_format,
                 &(Liveness){ .server = presence->server,
                              .boot_id = holder->boot_id,
                              .version = holder->version,
                              .since_ms = loop_wall_ms(presence->loop) },
                 &live->value);
    BUG_IF(live->value.overflow);
    return live;
}

void presence_release(NodePresence *live)
{
    live->evicted = NULL;
    live->session_ended_ms = loop_wall_ms(live->presence->loop);
    start_expiry(live);
}

bool presence_is_released(const Presence *presence, Str node, int64_t *since_ms)
{
    const NodePresence *live = find_presence(presence, node);
    bool session_has_ended = live != NULL && live->evicted == NULL && live->session_ended_ms > 0;
    *since_ms = session_has_ended ? live->session_ended_ms : 0;
    return session_has_ended;
}
