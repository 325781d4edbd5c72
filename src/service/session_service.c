/* Connects the state machine of a session to gRPC, the store, liveness, watches and budgets. Store
 * calls outlive sessions, so each has a SessionRequest that is detached when its session is
 * freed. */
#include "service/session_service.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/utc.h"
#include "service/node_budget.h"
#include "service/ping_waits.h"
#include "service/presence.h"
#include "service/session_feed.h"
#include "service/session_records.h"
#include "store/keys.h"

typedef struct Session Session;

struct SessionService {
    SessionServiceOptions options;
    Arena arena; /* holds the options */
    Presence *presence;
    NodeBudgets *budgets;
    Session *sessions;
    uint64_t records, refused;
    bool stopped;
};

/* A request to the store, which always completes it; the session may be freed by then. */
typedef struct SessionRequest {
    Session *session; /* NULL once the session is freed */
    bool is_load;
    bool is_rejected; /* failed locally, without calling the store */
    SessionMark mark; /* of an apply: the mark that is written */
    uint32_t record_count;
    uint32_t refusal_count;
    RejectedRecord refusals[SESSION_REJECTIONS_MAX];
} SessionRequest;

/* Records that the state machine wants to store. */
typedef struct SessionApply {
    SessionCursor from, to;
    const Record *records;
    uint32_t count;
} SessionApply;

struct Session {
    Session *next, *previous;
    SessionService *service;
    GrpcCall *call;
    bool ending; /* the call was ended with an error */
    char node[NODE_NAME_MAX + 1];
    SessionServer *machine;
    NodePresence *presence;
    SessionMark mark; /* the mark in the store, as far as known */
    Arena mark_arena; /* holds the unknown fields of the mark */
    int64_t mark_revision;
    NodeBudget *budget;
    SessionApply apply; /* used while it waits for the budget */
    LoopTimer budget_timer;
    bool is_delayed; /* the records were delayed */
    bool is_unknown_logged;
    SessionRequest *request;
    LoopTask rejected; /* called if the store did not accept the request, with `deferred_error` */
    Error deferred_error;
    SessionFeed *feeds[SESSION_WATCHES_MAX];
    PingWaits pings;
};

/* Also called from within the state machine, which is freed once the call has ended. */
static void end(Session *session, const Error *why)
{
    if (!session->ending) {
        session->ending = true;
        log_info("session closed", LOG_C("node", session->node), LOG_C("error", why->text));
        grpc_call_fail(session->call, why);
    }
}

/* --- Mark and records ------------------------------------------------------------------------ */

static SessionRequest *request_new(Session *session, bool is_load)
{
    SessionRequest *request = memory_new(sizeof *request);
    BUG_IF(session->request != NULL);
    request->session = session;
    request->is_load = is_load;
    session->request = request;
    return request;
}

/* Returns the session if it still exists; frees the request unless it is returned. */
static Session *request_end(SessionRequest *request)
{
    Session *session = request->session;
    if (session == NULL) {
        free(request);
        return NULL;
    }
    session->request = NULL;
    return session;
}

/* Calls the state machine in a later iteration of the loop, as if the store had responded. */
static void fail_request_later(Session *session, const Error *err)
{
    session->request->is_rejected = true;
    session->deferred_error = *err;
    loop_defer(session->service->options.loop, &session->rejected);
}

static void fail_rejected(void *context)
{
    Session *session = context;
    SessionRequest *request = session->request;
    session->request = NULL;
    if (request->is_load) {
        session_server_loaded(session->machine, (SessionCursor){ 0 }, &session->deferred_error);
    } else {
        session_server_applied(session->machine, NULL, 0, &session->deferred_error);
    }
    free(request);
}

static Str mark_key(Arena *arena, const Session *session)
{
    Str node = str_from_c(session->node);
    return key_make(arena, session->service->options.prefix, KEY_SESSION, &node, 1);
}

static bool read_mark(Session *session, const StoreReply *reply, Error *err)
{
    arena_clear(&session->mark_arena);
    session->mark = (SessionMark){ 0 };
    session->mark_revision = 0;
    if (reply->ops[0].kv_count == 0) {
        return true;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    session->mark_revision = reply->ops[0].kvs[0].mod_revision;
    if (!session_mark_read(&arena, reply->ops[0].kvs[0].value, &session->mark, err)) {
        return false;
    }
    Value *unknown = &session->mark.unknown;
    *unknown =
        unknown->map->len == 0 ? value_missing() : value_copy(&session->mark_arena, *unknown);
    return true;
}

static void load_done(void *context, const StoreReply *reply, const Error *err)
{
    Session *session = request_end(context);
    if (session == NULL) {
        return;
    }
    free(context);
    Error mark_error;
    if (err == NULL && !read_mark(session, reply, &mark_error)) {
        err = &mark_error;
    }
    session_server_loaded(session->machine, session->mark.cursor, err);
}

static void session_load(void *context)
{
    Session *session = context;
    SessionRequest *request = request_new(session, true);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    if (!store_get(session->service->options.store, mark_key(&arena, session), load_done, request,
                   &err)) {
        fail_request_later(session, &err);
    }
}

static void apply_done(void *context, const StoreReply *reply, const Error *err)
{
    SessionRequest *request = context;
    Session *session = request_end(request);
    if (session == NULL) {
        return;
    }
    Error failure;
    if (err == NULL && !reply->succeeded) {
        if (reply->ops[0].count == 0) {
            error_set(&failure, ERROR_DENIED, "no longer a node of the cluster");
        } else {
            error_set(&failure, ERROR_CONFLICT, "another session of the node has stored records");
        }
        err = &failure;
    }
    if (err == NULL) {
        session->mark = request->mark;
        session->mark_revision = reply->revision;
        session->service->records += request->record_count;
        session->service->refused += request->refusal_count;
    }
    session_server_applied(session->machine, request->refusals,
                           err == NULL ? request->refusal_count : 0, err);
    free(request);
}

/* The budget of the node after these records are charged. */
static SessionMark next_mark(Session *session, SessionCursor to, const SessionWrites *writes)
{
    SessionMark mark = session->mark;
    int64_t now = loop_wall_ms(session->service->options.loop);
    mark.cursor = to;
    mark.lost = session_lost_add(mark.lost, writes->lost);
    mark.stored += (uint64_t)writes->results_bytes;
    if (writes->results_refused) {
        node_budget_count(session->budget);
        snprintf(mark.limit, sizeof mark.limit, SESSION_LIMIT_RESULTS);
        mark.limited_ms = now;
    } else if (session->is_delayed) {
        snprintf(mark.limit, sizeof mark.limit, SESSION_LIMIT_RATE);
        mark.limited_ms = now;
    }
    return mark;
}

static void write_records(Session *session)
{
    const SessionApply *apply = &session->apply;
    const Record *records = apply->records;
    uint32_t count = apply->count;
    SessionCursor to = apply->to;
    const SessionServiceOptions *options = &session->service->options;
    int64_t counted;
    if (node_budget_is_counted(session->budget, &counted)) {
        session->mark.stored = (uint64_t)counted;
    }
    SessionRequest *request = request_new(session, false);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    SessionSender sender = {
        options->prefix, str_from_c(session->node), to.epoch, loop_wall_ms(options->loop),
        node_budget_results_left(session->budget, (int64_t)session->mark.stored)
    };
    SessionWrites writes;
    session_writes_make(&arena, &sender, records, count, &writes);
    request->mark = next_mark(session, to, &writes);
    request->record_count = count;
    request->refusal_count = writes.refusal_count;
    if (writes.unknown_count > 0 && !session->is_unknown_logged) {
        session->is_unknown_logged = true;
        log_warning("rejecting records of an unknown kind", LOG_C("node", session->node));
    }
    memcpy(request->refusals, writes.refusals, sizeof request->refusals);

    Str key = mark_key(&arena, session);
    Str record = key_make(&arena, options->prefix, KEY_NODE, &sender.node, 1);
    BUG_IF(writes.op_count == SESSION_WRITES_MAX);
    writes.ops[writes.op_count++] = (StoreOp){
        .kind = STORE_PUT,
        .key = key,
        .value = session_mark_print(&arena, &request->mark),
    };
    /* A node that was removed in the meantime writes
     * nothing more, even before its session is closed. */
    const StoreCompare compares[] = {
        { STORE_MOD_REVISION, STORE_EQUAL, key, .number = session->mark_revision },
        { STORE_VERSION, STORE_GREATER, record, .number = 0 },
    };
    const StoreOp read_op = { .kind = STORE_RANGE, .key = record, .count_only = true };
    StoreTxn txn = { .compares = compares,
                     .compare_count = COUNT_OF(compares),
                     .success = writes.ops,
                     .success_count = writes.op_count,
                     .failure = &read_op,
                     .failure_count = 1 };
    Error err;
    if (!store_txn(options->store, &txn, apply_done, request, &err)) {
        fail_request_later(session, &err);
    }
}

static int64_t bytes_of(const SessionApply *apply)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < apply->count; i++) {
        bytes += (int64_t)(apply->records[i].key.len + apply->records[i].body.len);
    }
    return bytes;
}

/* A node that exceeds its budget is delayed. */
static void charge_or_wait(void *context)
{
    Session *session = context;
    int64_t wait =
        node_budget_charge(session->budget, bytes_of(&session->apply), session->apply.count);
    if (wait == 0) {
        write_records(session);
        session->is_delayed = false;
        return;
    }
    if (!session->is_delayed) {
        session->is_delayed = true;
        if (node_budget_allows_log(session->budget)) {
            log_warning("node exceeds its rate; its records are delayed",
                        LOG_C("node", session->node), LOG_INT("delay_ms", wait));
        }
        session_server_delayed(session->machine, (uint64_t)wait);
    }
    loop_timer_start(&session->budget_timer, wait);
}

static void session_apply(void *context, SessionCursor from, SessionCursor to,
                          const Record *records, uint32_t count)
{
    Session *session = context;
    BUG_IF(from.epoch != session->mark.cursor.epoch ||
           from.sequence != session->mark.cursor.sequence);
    session->apply = (SessionApply){ from, to, records, count };
    charge_or_wait(session);
}

/* --- Liveness -------------------------------------------------------------------------------- */

static void session_evicted(void *context, const Error *why)
{
    Session *session = context;
    session->presence = NULL;
    end(session, why);
}

static void session_hello_received(void *context, const NodeHello *hello, bool skewed)
{
    Session *session = context;
    if (skewed) {
        log_warning("clock skew between node and server", LOG_C("node", session->node),
                    LOG_INT("node_ms", hello->wall_ms),
                    LOG_INT("server_ms", loop_wall_ms(session->service->options.loop)));
    }
    session->presence = presence_claim(session->service->presence,
                                       &(PresenceHolder){ .node = str_from_c(session->node),
                                                          .boot_id = hello->boot_id,
                                                          .version = hello->version,
                                                          .evicted = session_evicted,
                                                          .context = session });
}

static void session_keep_alive(void *context)
{
    Session *session = context;
    if (session->presence != NULL) {
        presence_renew(session->presence);
    }
}

/* --- Watches --------------------------------------------------------------------------------- */

static void feed_send(void *context, const Changes *changes)
{
    Session *session = context;
    session_server_changes(session->machine, changes);
}

static bool session_watch(void *context, uint32_t watch, Str name, bool reset, int64_t revision,
                          Error *err)
{
    Session *session = context;
    const SessionServiceOptions *options = &session->service->options;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    SessionFeedOptions feed = {
        .loop = options->loop,
        .store = options->store,
        .state = options->state,
        .watch = watch,
        .reset = reset,
        .revision = revision,
        .send_changes = feed_send,
        .context = session,
    };
    if (!session_range(&arena, options->prefix, str_from_c(session->node), name, &feed.range,
                       err)) {
        if (node_budget_allows_log(session->budget)) {
            log_warning("rejected a range requested by a node", LOG_C("node", session->node),
                        LOG_C("error", err->text));
        }
        return false;
    }
    return session_feed_new(&feed, &session->feeds[watch], err);
}

static void session_taken(void *context, uint32_t watch, int64_t revision)
{
    Session *session = context;
    session_feed_acked(session->feeds[watch]);
}

static void session_unwatch(void *context, uint32_t watch)
{
    Session *session = context;
    session_feed_free(session->feeds[watch]);
    session->feeds[watch] = NULL;
}

/* --- Pings ----------------------------------------------------------------------------------- */

static void session_ping_answered(void *context, const SessionPing *ping)
{
    Session *session = context;
    ping_waits_complete(&session->pings, ping);
}

static Session *find_live(const SessionService *service, Str node)
{
    Session *session = service->sessions;
    while (session != NULL && (session->ending || !str_eq_c(node, session->node) ||
                               !session_server_is_live(session->machine))) {
        session = session->next;
    }
    return session;
}

static void set_no_session_error(const SessionService *service, Str node, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    int64_t since_ms;
    if (presence_is_released(service->presence, node, &since_ms)) {
        error_set(
            err, ERROR_UNAVAILABLE,
            "'%" STR_FMT "' has been silent since %" STR_FMT
            ", when its session ended; it has %d seconds to reconnect before it is considered gone",
            STR_ARG(node), STR_ARG(utc_text(&arena, since_ms)), SESSION_LEASE_S);
        return;
    }
    error_set(err, ERROR_UNAVAILABLE, "'%" STR_FMT "' has no session with this server",
              STR_ARG(node));
}

/* Callers during a ping get the result of that ping. */
void session_service_ping(SessionService *service, Str node, SessionPinged *done, void *context)
{
    Session *session = find_live(service, node);
    Error err;
    if (session == NULL) {
        set_no_session_error(service, node, &err);
        done(context, NULL, &err);
        return;
    }
    ping_waits_add(&session->pings, service->options.loop, done, context);
    session_server_ping(session->machine);
}

/* --- gRPC call ------------------------------------------------------------------------------- */

static bool session_can_send(void *context)
{
    const Session *session = context;
    return grpc_call_is_writable(session->call);
}

static void session_send(void *context, Str message)
{
    Session *session = context;
    Error err;
    if (!session->ending && !grpc_call_send(session->call, message, &err)) {
        /* End the session rather than let it wait for a message that was never sent. */
        end(session, &err);
    }
}

static void session_pause(void *context)
{
    const Session *session = context;
    grpc_call_pause(session->call);
}

static void session_resume(void *context)
{
    const Session *session = context;
    grpc_call_resume(session->call);
}

static void session_finish(void *context, const Error *why)
{
    end(context, why);
}

static const SessionServerOps session_ops = {
    .can_send = session_can_send,
    .send = session_send,
    .pause = session_pause,
    .resume = session_resume,
    .finish = session_finish,
    .hello_received = session_hello_received,
    .load = session_load,
    .apply = session_apply,
    .renew_lease = session_keep_alive,
    .watch = session_watch,
    .changes_acknowledged = session_taken,
    .stop_watch = session_unwatch,
    .ping_answered = session_ping_answered,
};

static bool identify(const SessionService *service, const Peer *peer, Identity *out, Error *err)
{
    if (service->options.identify != NULL) {
        return service->options.identify(service->options.context, peer, out, err);
    }
    *out = peer->tls.identity;
    return peer->tls.has_identity || error_set(err, ERROR_DENIED, "only nodes can open sessions");
}

static bool refuse_stopped(Error *err)
{
    return error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
}

/* Validated before anything is written or logged for the node. */
static bool check_rate(NodeBudget *budget, const char *node, Error *err)
{
    if (node_budget_allows_session(budget)) {
        return true;
    }
    if (node_budget_allows_log(budget)) {
        log_warning("node is opening too many sessions; rejecting some", LOG_C("node", node));
    }
    return error_set(err, ERROR_UNAVAILABLE, "'%s' is opening too many sessions; try again later",
                     node);
}

static bool admit(const SessionService *service, const GrpcCall *call, Identity *identity,
                  NodeBudget **budget, Error *err)
{
    if (service->stopped) {
        return refuse_stopped(err);
    }
    if (!identify(service, grpc_call_peer(call), identity, err)) {
        return false;
    }
    *budget = node_budget_of(service->budgets, str_from_c(identity->node));
    return check_rate(*budget, identity->node, err);
}

static void call_started(GrpcCall *call)
{
    SessionService *service = dispatch_data(call);
    Identity identity;
    NodeBudget *budget = NULL;
    Error err;
    if (!admit(service, call, &identity, &budget, &err)) {
        grpc_call_set_data(call, NULL);
        grpc_call_fail(call, &err);
        return;
    }
    Session *session = memory_new(sizeof *session);
    session->service = service;
    session->call = call;
    memcpy(session->node, identity.node, sizeof session->node);
    arena_init(&session->mark_arena, ARENA_UNLIMITED);
    loop_task_init(&session->rejected, fail_rejected, session);
    loop_timer_init(&session->budget_timer, service->options.loop, charge_or_wait, session);
    session->budget = budget;
    session->machine = session_server_new(&(SessionServerOptions){
        .loop = service->options.loop,
        .ops = &session_ops,
        .context = session,
        .node = str_from_c(session->node),
        .server = service->options.server,
        .store = service->options.store_id,
    });
    session->next = service->sessions;
    if (session->next != NULL) {
        session->next->previous = session;
    }
    service->sessions = session;
    grpc_call_set_data(call, session);
}

static void call_message(GrpcCall *call, Str message)
{
    Session *session = grpc_call_data(call);
    if (session != NULL && !session->ending) {
        session_server_message(session->machine, message);
    }
}

static void call_half_closed(GrpcCall *call)
{
    Session *session = grpc_call_data(call);
    if (session != NULL && !session->ending) {
        session->ending = true;
        grpc_call_finish(call, GRPC_OK, STR_EMPTY);
    }
}

static void call_writable(GrpcCall *call)
{
    Session *session = grpc_call_data(call);
    if (session != NULL && !session->ending) {
        session_server_writable(session->machine);
    }
}

static void call_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Session *session = grpc_call_data(call);
    if (session == NULL) {
        return;
    }
    Error why;
    session->ending = true;
    error_set(&why, ERROR_UNAVAILABLE, "'%s' is silent: its session has just ended", session->node);
    ping_waits_fail(&session->pings, &why);
    loop_timer_stop(&session->budget_timer);
    session_server_free(session->machine); /* also ends its watches */
    if (session->presence != NULL) {
        presence_release(session->presence);
    }
    SessionService *service = session->service;
    loop_task_stop(service->options.loop, &session->rejected);
    if (session->request != NULL && session->request->is_rejected) {
        free(session->request);
    } else if (session->request != NULL) {
        session->request->session = NULL;
    }
    if (session->next != NULL) {
        session->next->previous = session->previous;
    }
    if (session->previous != NULL) {
        session->previous->next = session->next;
    } else {
        service->sessions = session->next;
    }
    arena_clear(&session->mark_arena);
    free(session);
}

static const GrpcHandler session_handler = { call_started, call_message, call_half_closed,
                                             call_writable, call_ended };

/* --- Service --------------------------------------------------------------------------------- */

SessionService *session_service_new(const SessionServiceOptions *options)
{
    BUG_IF(options->server.len > SESSION_TEXT_MAX || options->store_id.len > SESSION_TEXT_MAX);
    SessionService *service = memory_new(sizeof *service);
    service->options = *options;
    arena_init(&service->arena, ARENA_UNLIMITED);
    service->options.prefix = arena_copy(&service->arena, options->prefix);
    service->options.server = arena_copy(&service->arena, options->server);
    service->options.store_id = arena_copy(&service->arena, options->store_id);
    service->presence = presence_new(options->loop, options->store, service->options.prefix,
                                     service->options.server);
    service->budgets =
        node_budgets_new(options->loop, options->store, service->options.prefix, &options->limits);
    return service;
}

void session_service_stop(SessionService *service)
{
    Error why;
    refuse_stopped(&why);
    service->stopped = true;
    for (Session *session = service->sessions, *next; session != NULL; session = next) {
        next = session->next;
        end(session, &why);
    }
}

void session_service_free(SessionService *service)
{
    if (service == NULL) {
        return;
    }
    BUG_IF(service->sessions != NULL);
    presence_free(service->presence);
    node_budgets_free(service->budgets);
    arena_clear(&service->arena);
    free(service);
}

MethodBinding session_service_binding(SessionService *service)
{
    return (MethodBinding){ METHOD_SESSION, &session_handler, service };
}

NodeBudgets *session_service_budgets(const SessionService *service)
{
    return service->budgets;
}

SessionServiceCounts session_service_counts(const SessionService *service)
{
    SessionServiceCounts counts = { .records = service->records, .refused = service->refused };
    for (const Session *session = service->sessions; session != NULL; session = session->next) {
        counts.sessions++;
        counts.live += session_server_is_live(session->machine) && !session->ending;
    }
    return counts;
}
