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

/* A request to the store. It is always answered; the seat may be gone by then. */
typedef struct SeatRequest {
    Seat *seat;    /* NULL: it is gone */
    uint64_t turn; /* of the session that made the request */
} SeatRequest;

struct Seat {
    Seat *next;
    Presence *presence;
    char node[NODE_NAME_MAX + 1];
    void (*evicted)(void *context, const Error *why); /* NULL: no session holds this seat */
    void *context;
    uint64_t turn; /* counts the sessions that held it */
    Buf value;
    int64_t lease; /* 0: none */
    bool claimed;  /* the key was written for this session once */
    bool written;  /* and still exists, as far as we know */
    SeatRequest *request;
    int64_t left_ms; /* when the last session ended; 0: none has */
    LoopTimer empty; /* runs when no session held it for the duration of the lease */
};

struct Presence {
    Loop *loop;
    Store *store;
    Str prefix, server;
    Seat *buckets[BUCKETS];
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

static Seat **bucket_of(Presence *presence, Str node)
{
    return &presence->buckets[hash_str(node) % BUCKETS];
}

static Seat *find_seat(const Presence *presence, Str node)
{
    Seat *seat = presence->buckets[hash_str(node) % BUCKETS];
    while (seat != NULL && !str_eq_c(node, seat->node)) {
        seat = seat->next;
    }
    return seat;
}

static void seat_free(Seat *seat)
{
    loop_timer_stop(&seat->empty);
    if (seat->request != NULL) {
        seat->request->seat = NULL;
    }
    buf_clear(&seat->value);
    free(seat);
}

void presence_free(Presence *presence)
{
    if (presence == NULL) {
        return;
    }
    for (unsigned i = 0; i < BUCKETS; i++) {
        while (presence->buckets[i] != NULL) {
            Seat *seat = presence->buckets[i];
            BUG_IF(seat->evicted != NULL);
            presence->buckets[i] = seat->next;
            seat_free(seat);
        }
    }
    free(presence);
}

static void start_empty(Seat *seat)
{
    loop_timer_start(&seat->empty, (int64_t)(SESSION_LEASE_S + 1) * 1000);
}

static void empty_runs(void *context)
{
    Seat *seat = context;
    if (seat->request != NULL) {
        start_empty(seat);
        return;
    }
    Seat **at = bucket_of(seat->presence, str_from_c(seat->node));
    while (*at != seat) {
        at = &(*at)->next;
    }
    *at = seat->next;
    seat_free(seat);
}

/* --- The key ----------------------------------------------------------------------------------- */

static SeatRequest *request_new(Seat *seat)
{
    SeatRequest *request = memory_new(sizeof *request);
    request->seat = seat;
    request->turn = seat->turn;
    seat->request = request;
    return request;
}

/* Frees the request. Returns the seat if a session still holds it. */
static Seat *request_end(SeatRequest *request, bool *same_sitter)
{
    Seat *seat = request->seat;
    if (seat != NULL) {
        seat->request = NULL;
        *same_sitter = seat->turn == request->turn;
    }
    free(request);
    return seat != NULL && seat->evicted != NULL ? seat : NULL;
}

static void tell_failure(const Seat *seat, const Error *err)
{
    log_warning("cannot write the liveness of a node; will retry", LOG_C("node", seat->node),
                LOG_C("error", err->text));
}

static void evict(Seat *seat, const Error *why)
{
    void (*evicted)(void *context, const Error *why) = seat->evicted;
    seat->evicted = NULL;
    if (evicted != NULL) {
        evicted(seat->context, why);
    }
}

/* Whether an earlier attempt, which got no response, has written the key. */
static bool is_own(const Seat *seat, const StoreOpReply *record, const StoreOpReply *alive)
{
    return record->count > 0 && alive->kv_count == 1 && alive->kvs[0].lease == seat->lease &&
           str_eq(alive->kvs[0].value, buf_str(&seat->value));
}

static void put_done(void *context, const StoreReply *reply, const Error *err)
{
    bool same = false;
    Seat *seat = request_end(context, &same);
    if (seat == NULL) {
        return;
    }
    if (err != NULL) {
        if (err->kind == ERROR_NOT_FOUND) {
            seat->lease = 0;
        } else {
            tell_failure(seat, err);
        }
    } else if (!same) {
        presence_beat(seat);
    } else if (reply->succeeded || is_own(seat, &reply->ops[0], &reply->ops[1])) {
        seat->claimed = seat->written = true;
    } else {
        Error why;
        if (reply->ops[0].count == 0) {
            error_set(&why, ERROR_DENIED, "no longer a node of the cluster");
        } else {
            error_set(&why, ERROR_CONFLICT, "the node has a newer session with another server");
        }
        start_empty(seat);
        evict(seat, &why);
    }
}

/* The first write replaces any other holder; after
 * the key was lost, only if no one else holds it. */
static void put_key(Seat *seat)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str node = str_from_c(seat->node);
    Str key = key_make(&arena, seat->presence->prefix, KEY_NODE_ALIVE, &node, 1);
    Str record = key_make(&arena, seat->presence->prefix, KEY_NODE, &node, 1);
    const StoreCompare compares[] = { { STORE_VERSION, STORE_GREATER, record, 0 },
                                      { STORE_VERSION, STORE_EQUAL, key, 0 } };
    StoreOp put = {
        .kind = STORE_PUT, .key = key, .value = buf_str(&seat->value), .lease = seat->lease
    };
    const StoreOp looks[] = { { .kind = STORE_RANGE, .key = record, .count_only = true },
                              { .kind = STORE_RANGE, .key = key } };
    StoreTxn txn = { .compares = compares,
                     .compare_count = seat->claimed ? 2 : 1,
                     .success = &put,
                     .success_count = 1,
                     .failure = looks,
                     .failure_count = COUNT_OF(looks) };
    SeatRequest *request = request_new(seat);
    Error err;
    if (!store_txn(seat->presence->store, &txn, put_done, request, &err)) {
        seat->request = NULL;
        free(request);
        tell_failure(seat, &err);
    }
}

static void lease_done(void *context, const StoreLease *lease, const Error *err)
{
    bool same = false;
    Seat *seat = request_end(context, &same);
    if (seat == NULL) {
        return;
    }
    if (err == NULL) {
        seat->lease = lease->id;
        if (!seat->written) {
            put_key(seat);
        }
    } else if (err->kind == ERROR_NOT_FOUND && seat->lease != 0) {
        seat->lease = 0;
        seat->written = false;
        presence_beat(seat);
    } else {
        tell_failure(seat, err);
    }
}

void presence_beat(Seat *seat)
{
    if (seat->request != NULL) {
        return;
    }
    Store *store = seat->presence->store;
    SeatRequest *request = request_new(seat);
    Error err;
    if (seat->lease == 0
            ? !store_lease_grant_reserved(store, SESSION_LEASE_S, lease_done, request, &err)
            : !store_lease_keep_alive(store, seat->lease, lease_done, request, &err)) {
        seat->request = NULL;
        free(request);
        tell_failure(seat, &err);
    }
}

/* --- Sitting ----------------------------------------------------------------------------------- */

static Seat *find_or_make(Presence *presence, Str node)
{
    Seat **bucket = bucket_of(presence, node);
    Seat *seat = find_seat(presence, node);
    if (seat != NULL) {
        return seat;
    }
    seat = memory_new(sizeof *seat);
    BUG_IF(node.len > NODE_NAME_MAX);
    memcpy(seat->node, node.data, node.len);
    seat->presence = presence;
    seat->value = buf_make(VALUE_MAX);
    loop_timer_init(&seat->empty, presence->loop, empty_runs, seat);
    seat->next = *bucket;
    *bucket = seat;
    return seat;
}

Seat *presence_enter(Presence *presence, const Sitter *sitter)
{
    Seat *seat = find_or_make(presence, sitter->node);
    loop_timer_stop(&seat->empty);
    Error why;
    error_set(&why, ERROR_CONFLICT, "the node has a newer session");
    evict(seat, &why);
    seat->turn++;
    seat->evicted = sitter->evicted;
    seat->context = sitter->context;
    seat->claimed = seat->written = false;
    buf_reset(&seat->value);
    record_print(&alive_format,
                 &(Liveness){ .server = presence->server,
                              .boot_id = sitter->boot_id,
                              .version = sitter->version,
                              .since_ms = loop_wall_ms(presence->loop) },
                 &seat->value);
    BUG_IF(seat->value.overflow);
    return seat;
}

void presence_leave(Seat *seat)
{
    seat->evicted = NULL;
    seat->left_ms = loop_wall_ms(seat->presence->loop);
    start_empty(seat);
}

bool presence_is_left(const Presence *presence, Str node, int64_t *since_ms)
{
    const Seat *seat = find_seat(presence, node);
    bool is_left = seat != NULL && seat->evicted == NULL && seat->left_ms > 0;
    *since_ms = is_left ? seat->left_ms : 0;
    return is_left;
}
