/* Implements the owner's functions of the session's state machine on a gRPC connection. */
#include "agent/session_link.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/rate.h"
#include "rpc/access.h"

struct SessionLink {
    SessionLinkOptions options;
    LinkServer *servers;
    uint32_t server_count;
    SessionNode *machine;
    char protocol[12]; /* header value of every call */
    Http2Header metadata;
    GrpcClient *client;                      /* NULL: not connected */
    GrpcCall *call;                          /* NULL: not established yet */
    char why[sizeof(((Error *)NULL)->text)]; /* last reason logged; "" while connected */
    RateBucket delay_log;
    char rejection_reason[SESSION_REASON_MAX + 1]; /* for the last rejected record */
    uint32_t refused_watches;                      /* bit mask of watches already logged */
};
_Static_assert(SESSION_WATCHES_MAX <= 32, "one bit per watch");

#define DELAY_LOG_LIMIT ((RateLimit){ .per_second = 1, .burst = 1 })

/* --- Connection ------------------------------------------------------------------------------ */

static void disconnect(void *context)
{
    SessionLink *link = context;
    if (link->call != NULL) {
        grpc_call_cancel(link->call);
        link->call = NULL;
    }
    grpc_client_free(link->client);
    link->client = NULL;
}

static void call_is_over(SessionLink *link, const Error *why)
{
    disconnect(link);
    session_node_closed(link->machine, why);
}

static void call_message(GrpcCall *call, Str message)
{
    SessionLink *link = grpc_call_data(call);
    session_node_message(link->machine, message);
}

static void call_writable(GrpcCall *call)
{
    SessionLink *link = grpc_call_data(call);
    session_node_writable(link->machine);
}

static void call_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    SessionLink *link = grpc_call_data(call);
    link->call = NULL;
    Error why;
    if (status == GRPC_OK) {
        error_set(&why, ERROR_UNAVAILABLE, "the server closed the session");
    } else {
        error_set(&why, grpc_status_kind(status), "%" STR_FMT, STR_ARG(text));
    }
    call_is_over(link, &why);
}

static const GrpcHandler call_handler = { .message = call_message,
                                          .writable = call_writable,
                                          .ended = call_ended };

static void client_ready(void *context)
{
    SessionLink *link = context;
    Error err;
    if (!grpc_client_start(link->client, method_rows[METHOD_SESSION].path, GRPC_BIDI_STREAM,
                           &call_handler, link, 0, &link->call, &err)) {
        call_is_over(link, &err);
        return;
    }
    session_node_connected(link->machine);
}

static void client_closed(void *context, const Error *why)
{
    SessionLink *link = context;
    Error err = *why;
    if (err.kind == ERROR_NONE) {
        error_set(&err, ERROR_UNAVAILABLE, "the server closed the connection");
    }
    link->call = NULL; /* freed with the client */
    call_is_over(link, &err);
}

static void connect_to(void *context, uint32_t server)
{
    SessionLink *link = context;
    BUG_IF(link->client != NULL || server >= link->server_count);
    const LinkServer *server_entry = &link->servers[server];
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = link->options.loop;
    options.address = server_entry->address;
    options.tls = link->options.tls;
    options.tls_host = server_entry->name[0] == '\0' ? NULL : server_entry->name;
    options.open_timeout_ms = SESSION_OPEN_MS;
    options.response_max = SESSION_SERVER_MESSAGE_MAX;
    options.metadata = &link->metadata;
    options.metadata_count = 1;
    options.ready = client_ready;
    options.closed = client_closed;
    options.context = link;
    link->client = grpc_client_new(&options);
}

/* --- Session callbacks ----------------------------------------------------------------------- */

static bool can_send(void *context)
{
    const SessionLink *link = context;
    return link->call != NULL && grpc_call_is_writable(link->call);
}

static void send_message(void *context, Str message)
{
    const SessionLink *link = context;
    Error err;
    /* If the call has ended, the message is sent again in the next session. */
    if (link->call != NULL && !grpc_call_send(link->call, message, &err)) {
        log_debug("message not sent", LOG_C("error", err.text));
    }
}

static WatchPosition position(void *context, uint32_t watch)
{
    const SessionLink *link = context;
    return link->options.ops->position(link->options.context, watch);
}

static void changes_arrived(void *context, const Changes *changes, Str store, uint64_t ticket)
{
    const SessionLink *link = context;
    link->options.ops->changes(link->options.context, changes, store, ticket);
}

static void moved(void *context, SessionNodeState state)
{
    SessionLink *link = context;
    if (state == SESSION_WAITING) {
        SessionNodeStatus status = session_node_status(link->machine);
        bool is_new = strcmp(status.why->text, link->why) != 0;
        snprintf(link->why, sizeof link->why, "%s", status.why->text);
        LOG_AT(is_new ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG, "no session; trying the next server",
               LOG_C("reason", link->why),
               LOG_INT("in_ms", status.until_ms - loop_now_ms(link->options.loop)));
    } else if (state == SESSION_LIVE) {
        link->why[0] = '\0';
    }
    if (link->options.ops->moved != NULL) {
        link->options.ops->moved(link->options.context, state);
    }
}

/* If many records are rejected for the same reason, only the first is logged as a warning. */
static void refused(void *context, const RejectedRecord *refusal)
{
    SessionLink *link = context;
    bool is_new = !str_eq_c(refusal->reason, link->rejection_reason);
    snprintf(link->rejection_reason, sizeof link->rejection_reason, "%" STR_FMT,
             STR_ARG(refusal->reason));
    LOG_AT(is_new ? LOG_LEVEL_WARNING : LOG_LEVEL_DEBUG, "record rejected by the server",
           LOG_INT("sequence", (int64_t)refusal->sequence), LOG_STR("reason", refusal->reason));
    if (link->options.ops->refused != NULL) {
        link->options.ops->refused(link->options.context, refusal);
    }
}

static void watch_refused(void *context, uint32_t watch, Str reason)
{
    SessionLink *link = context;
    if ((link->refused_watches & 1u << watch) == 0) {
        link->refused_watches |= 1u << watch;
        log_warning("range rejected by the server", LOG_C("range", link->options.watches[watch]),
                    LOG_STR("reason", reason));
    }
}

static void clock_skewed(void *context, int64_t server_ms, int64_t node_ms)
{
    log_warning("clock skew between node and server", LOG_INT("node_ms", node_ms),
                LOG_INT("server_ms", server_ms));
}

static void throttled(void *context, uint64_t delay_ms)
{
    SessionLink *link = context;
    /* At most one line per minute. */
    if (rate_take(&link->delay_log, DELAY_LOG_LIMIT, loop_now_ms(link->options.loop) / 60, 1)) {
        log_warning("server is throttling this node: rate limit reached",
                    LOG_INT("delay_ms", (int64_t)delay_ms));
    }
}

static const SessionNodeOps node_ops = {
    .connect = connect_to,
    .disconnect = disconnect,
    .can_send = can_send,
    .send = send_message,
    .position = position,
    .changes = changes_arrived,
    .watch_rejected = watch_refused,
    .state_changed = moved,
    .record_rejected = refused,
    .clock_skewed = clock_skewed,
    .delayed = throttled,
};

/* --- Public API ------------------------------------------------------------------------------ */

static void copy_servers(SessionLink *link, const LinkServer *servers, uint32_t count)
{
    BUG_IF(count == 0);
    LinkServer *copy = calloc(count, sizeof *copy);
    if (copy == NULL) {
        memory_exhausted(count * sizeof *copy);
    }
    memcpy(copy, servers, count * sizeof *copy);
    free(link->servers);
    link->servers = copy;
    link->server_count = count;
}

SessionLink *session_link_new(const SessionLinkOptions *options)
{
    SessionLink *link = memory_new(sizeof *link);
    link->options = *options;
    copy_servers(link, options->servers, options->server_count);
    /* The oldest version, as in the hello: an older server must not reject the call before it has
     * read that. */
    snprintf(link->protocol, sizeof link->protocol, "%d", SESSION_PROTOCOL_OLDEST);
    link->metadata = (Http2Header){ STR(PROTOCOL_HEADER), str_from_c(link->protocol) };
    link->machine = session_node_new(&(SessionNodeOptions){
        .loop = options->loop,
        .ops = &node_ops,
        .context = link,
        .outbox = options->outbox,
        .node = options->node,
        .boot_id = options->boot_id,
        .version = options->version,
        .watches = options->watches,
        .watch_count = options->watch_count,
        .server_count = options->server_count,
    });
    return link;
}

void session_link_free(SessionLink *link)
{
    if (link == NULL) {
        return;
    }
    session_node_free(link->machine);
    disconnect(link);
    free(link->servers);
    free(link);
}

void session_link_start(SessionLink *link)
{
    session_node_start(link->machine);
}

void session_link_stop(SessionLink *link)
{
    session_node_stop(link->machine);
}

void session_link_set_servers(SessionLink *link, const LinkServer *servers, uint32_t count)
{
    copy_servers(link, servers, count);
    session_node_set_servers(link->machine, count);
}

void session_link_wake(SessionLink *link)
{
    session_node_wake(link->machine);
}

void session_link_processed(SessionLink *link, uint32_t watch, uint64_t ticket)
{
    session_node_processed(link->machine, watch, ticket);
}

GrpcClient *session_link_client(const SessionLink *link)
{
    return link->call != NULL && grpc_client_is_open(link->client) ? link->client : NULL;
}

SessionNodeStatus session_link_status(const SessionLink *link)
{
    return session_node_status(link->machine);
}
