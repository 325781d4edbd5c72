#include "etcd/client.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "etcd/balancer.h"
#include "etcd/failure.h"
#include "net/grpc_client.h"

enum {
    OPEN_MS = 1500,
    PROBE_MS = 2000,
    READ_MS = 2000,      /* timeout of the first attempt; the next one may use another member */
    RETRY_DELAY_MS = 30, /* delay before a call is retried on the same member */
    IN_FLIGHT_MAX = 512,
    RESPONSE_MAX = 2 * STORE_REPLY_MAX + (4 << 20),
    /* etcd closes connections that ping more often than every 5 s */
    PING_AFTER_MS = 6000,
    PING_TIMEOUT_MS = 3000,
};

typedef struct EtcdCall EtcdCall;
typedef struct Link Link;

typedef struct CallList {
    EtcdCall *first, *last;
} CallList;

struct EtcdCall {
    EtcdClient *client;
    EtcdCall *next, *previous;
    CallList *list;
    Link *link; /* the connection that it was sent on */
    const char *path;
    Buf request;
    bool writes;
    bool is_retry;
    int64_t sent_ms, deadline_ms;
    EtcdCallDone *done;
    void *context;
};

/* A connection. The client uses one; earlier connections only complete their pending calls. */
struct Link {
    EtcdClient *client;
    Link *next;
    GrpcClient *grpc;
    uint32_t endpoint;
    uint32_t in_flight;
    int64_t answered_ms; /* when a call last succeeded */
};

struct EtcdClient {
    EtcdClientOptions options;
    Address endpoints[ETCD_ENDPOINTS_MAX];
    Balancer balancer;
    Link *link;     /* connecting, or in use; NULL: waiting */
    Link *draining; /* previous connections, which complete their pending calls */
    bool is_ready, is_closing;
    uint64_t cluster_id;
    LoopTimer connect; /* next connection attempt */
    CallList waiting, sent;
    LoopTask pump_task;
    LoopTimer retry_timer; /* pump() after a delay */
    LoopTimer expire;      /* for the first deadline in `waiting` */
    char last_error[256];
};

/* --- Lists ----------------------------------------------------------------------------------- */

static void list_remove(EtcdCall *call)
{
    CallList *list = call->list;
    *(call->previous == NULL ? &list->first : &call->previous->next) = call->next;
    *(call->next == NULL ? &list->last : &call->next->previous) = call->previous;
    call->next = call->previous = NULL;
    call->list = NULL;
}

static void list_add(CallList *list, EtcdCall *call)
{
    call->list = list;
    call->previous = list->last;
    *(list->last == NULL ? &list->first : &list->last->next) = call;
    list->last = call;
}

static void list_add_first(CallList *list, EtcdCall *call)
{
    call->list = list;
    call->next = list->first;
    *(list->first == NULL ? &list->last : &list->first->previous) = call;
    list->first = call;
}

/* --- Completion ------------------------------------------------------------------------------ */

static void complete(EtcdCall *call, Str response, const Error *err)
{
    list_remove(call);
    call->done(call->context, response, err);
    buf_clear(&call->request);
    free(call);
}

static void fail(EtcdCall *call, ErrorKind kind, const char *text)
{
    Error err;
    error_set(&err, kind, "%s", text);
    complete(call, STR_EMPTY, &err);
}

static void set_last_error(EtcdClient *client, const char *text)
{
    snprintf(client->last_error, sizeof client->last_error, "%s", text);
}

/* --- Connections ----------------------------------------------------------------------------- */

static void connect_next(EtcdClient *client);

static void connect_now(void *context)
{
    connect_next(context);
}

static void link_free(Link *link)
{
    grpc_client_free(link->grpc);
    free(link);
}

/* Frees a link of `draining` that has no pending calls. */
static void link_drained(Link *link)
{
    Link **at = &link->client->draining;
    while (*at != link) {
        at = &(*at)->next;
    }
    *at = link->next;
    link_free(link);
}

static void pump_later(EtcdClient *client)
{
    loop_defer(client->options.loop, &client->pump_task);
}

/* Drops the connection that is in use or being opened, and tries the next member. */
static void link_lost(EtcdClient *client, const char *why)
{
    Link *link = client->link;
    bool was_ready = client->is_ready;
    set_last_error(client, why);
    balancer_failed(&client->balancer, link->endpoint, loop_now_ms(client->options.loop),
                    loop_random(client->options.loop));
    client->link = NULL;
    client->is_ready = false;
    if (was_ready) {
        client->options.lost(client->options.context);
    }
    if (link->in_flight > 0 && grpc_client_is_open(link->grpc)) {
        link->next = client->draining;
        client->draining = link;
    } else {
        link_free(link);
    }
    loop_timer_start(&client->connect, 0);
}

static void closed(void *context, const Error *why)
{
    Link *link = context;
    if (link == link->client->link) {
        link_lost(link->client, why->text);
    } else {
        link_drained(link);
    }
}

static void probed(void *context, GrpcStatus status, Str text, Str response)
{
    Link *link = context;
    EtcdClient *client = link->client;
    EtcdHeader header;
    Error err;
    link->in_flight--;
    if (client->is_closing) {
        return;
    }
    bool ok = status == GRPC_OK && etcd_header_decode(response, &header, &err);
    if (status != GRPC_OK) {
        err = etcd_failure(status, text).err;
    }
    if (ok && client->cluster_id != 0 && client->cluster_id != header.cluster_id) {
        ok = error_set(&err, ERROR_INVALID, "the endpoint belongs to a different etcd cluster");
    }
    if (!ok) {
        link_lost(client, err.text);
        return;
    }
    client->cluster_id = header.cluster_id;
    balancer_succeeded(&client->balancer, link->endpoint);
    client->is_ready = true;
    client->options.ready(client->options.context, &header);
    pump_later(client);
}

static void open_link(EtcdClient *client, uint32_t endpoint)
{
    static const Http2Header metadata[] = { { { "hasleader", 9 }, { "true", 4 } } };
    Link *link = memory_new(sizeof *link);
    *link = (Link){ .client = client, .endpoint = endpoint };
    client->link = link;
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = client->options.loop;
    options.address = client->endpoints[endpoint];
    options.tls = client->options.tls;
    options.tls_host = client->endpoints[endpoint].host;
    options.open_timeout_ms = OPEN_MS;
    options.http2.ping_after_ms = PING_AFTER_MS;
    options.http2.ping_timeout_ms = PING_TIMEOUT_MS;
    options.http2.stream_window = 1 << 20;
    options.http2.connection_window = 8 << 20;
    options.response_max = RESPONSE_MAX;
    options.queue_max = 256 << 10;
    options.connection_max = 512 << 20;
    options.metadata = metadata;
    options.metadata_count = COUNT_OF(metadata);
    options.closed = closed;
    options.context = link;
    link->grpc = grpc_client_new(&options);
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    etcd_probe_encode(&request);
    Error err;
    if (grpc_client_unary(link->grpc, "/etcdserverpb.KV/Range", buf_str(&request), PROBE_MS, probed,
                          link, &err)) {
        link->in_flight++;
    } else {
        link_lost(client, err.text);
    }
}

static void connect_next(EtcdClient *client)
{
    BalancerPick pick = balancer_pick(&client->balancer, loop_now_ms(client->options.loop));
    if (pick.wait_ms > 0) {
        loop_timer_start(&client->connect, pick.wait_ms);
    } else {
        open_link(client, pick.member);
    }
}

void etcd_client_report_failure(EtcdClient *client, const Error *why)
{
    if (client->is_ready) {
        link_lost(client, why->text);
    }
}

/* --- Calls ----------------------------------------------------------------------------------- */

static void arm_expire(EtcdClient *client)
{
    const EtcdCall *first = client->waiting.first;
    if (first == NULL) {
        loop_timer_stop(&client->expire);
    } else {
        loop_timer_start(&client->expire, first->deadline_ms - loop_now_ms(client->options.loop));
    }
}

static void expire(void *context)
{
    EtcdClient *client = context;
    int64_t now = loop_now_ms(client->options.loop);
    for (EtcdCall *call; (call = client->waiting.first) != NULL && call->deadline_ms <= now;) {
        Error err;
        error_set(&err, ERROR_UNAVAILABLE, "etcd is not responding: %s",
                  client->last_error[0] == '\0' ? "timed out" : client->last_error);
        complete(call, STR_EMPTY, &err);
    }
    arm_expire(client);
}

static void send_again(EtcdClient *client, EtcdCall *call)
{
    list_remove(call);
    list_add_first(&client->waiting, call);
    call->is_retry = true;
    arm_expire(client);
    if (!loop_timer_started(&client->retry_timer)) {
        loop_timer_start(&client->retry_timer, RETRY_DELAY_MS);
    }
}

static void conclude(EtcdCall *call, const EtcdFailure *failure)
{
    EtcdClient *client = call->client;
    bool is_too_large = failure->verdict == ETCD_UNKNOWN && failure->err.kind == ERROR_LIMIT;
    if (failure->verdict == ETCD_REJECTED || (is_too_large && !call->writes)) {
        complete(call, STR_EMPTY, &failure->err);
    } else if (client->is_closing && (!call->writes || failure->verdict == ETCD_RETRY)) {
        fail(call, ERROR_UNAVAILABLE, "the store is closing");
    } else if (call->writes && failure->verdict == ETCD_UNKNOWN) {
        Error err;
        error_set(&err, ERROR_UNKNOWN,
                  "outcome unknown: etcd did not confirm the write, and it may have happened: %s",
                  failure->err.text);
        complete(call, STR_EMPTY, &err);
    } else {
        send_again(client, call);
    }
}

static void response_received(void *context, GrpcStatus status, Str text, Str response)
{
    EtcdCall *call = context;
    EtcdClient *client = call->client;
    Link *link = TAKE(call->link);
    link->in_flight--;
    bool is_suspect = false;
    EtcdFailure failure;
    if (status == GRPC_OK) {
        link->answered_ms = loop_now_ms(client->options.loop);
        complete(call, response, NULL);
    } else {
        failure = etcd_failure(status, text);
        /* A member that has completed other calls in the meantime is only slow. */
        is_suspect = failure.is_member_fault && !client->is_closing &&
                     (status != GRPC_DEADLINE_EXCEEDED || link->answered_ms < call->sent_ms);
        conclude(call, &failure);
    }
    if (client->is_closing) {
        return;
    }
    pump_later(client);
    if (link != client->link) {
        if (link->in_flight == 0) {
            link_drained(link);
        }
    } else if (is_suspect && grpc_client_is_open(link->grpc)) {
        /* otherwise `closed` follows */
        etcd_client_report_failure(client, &failure.err);
    }
}

/* Returns false if no more can be sent now. */
static bool send_call(EtcdClient *client, EtcdCall *call, int64_t now)
{
    Link *link = client->link;
    int64_t remaining = call->deadline_ms - now;
    int64_t timeout_ms =
        call->writes || call->is_retry || remaining < READ_MS ? remaining : READ_MS;
    Error err;
    list_remove(call);
    list_add(&client->sent, call);
    call->link = link;
    call->sent_ms = now;
    link->in_flight++;
    if (grpc_client_unary(link->grpc, call->path, buf_str(&call->request), timeout_ms,
                          response_received, call, &err)) {
        return true;
    }
    call->link = NULL;
    link->in_flight--;
    send_again(client, call);
    return false;
}

static void pump(void *context)
{
    EtcdClient *client = context;
    int64_t now = loop_now_ms(client->options.loop);
    expire(client);
    for (EtcdCall *call; client->is_ready && (call = client->waiting.first) != NULL &&
                         client->link->in_flight < IN_FLIGHT_MAX;) {
        if (!send_call(client, call, now)) {
            break;
        }
    }
    arm_expire(client);
}

void etcd_client_call(EtcdClient *client, const char *path, Str request, bool writes,
                      EtcdCallDone *done, void *context)
{
    EtcdCall *call = memory_new(sizeof *call);
    *call = (EtcdCall){
        .client = client,
        .path = path,
        .request = buf_make(BUF_UNLIMITED),
        .writes = writes,
        .deadline_ms = loop_now_ms(client->options.loop) + client->options.timeout_ms,
        .done = done,
        .context = context,
    };
    buf_put(&call->request, request);
    list_add(&client->waiting, call);
    pump_later(client);
}

bool etcd_client_stream(EtcdClient *client, const char *path, const GrpcHandler *handler,
                        void *data, GrpcCall **out, Error *err)
{
    if (!client->is_ready) {
        return error_set(err, ERROR_UNAVAILABLE, "no connection to etcd: %s", client->last_error);
    }
    return grpc_client_start(client->link->grpc, path, GRPC_BIDI_STREAM, handler, data, 0, out,
                             err);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

EtcdClient *etcd_client_new(const EtcdClientOptions *options)
{
    BUG_IF(options->endpoint_count == 0 || options->endpoint_count > ETCD_ENDPOINTS_MAX);
    EtcdClient *client = memory_new(sizeof *client);
    client->options = *options;
    if (client->options.timeout_ms == 0) {
        client->options.timeout_ms = ETCD_TIMEOUT_MS;
    }
    for (uint32_t i = 0; i < options->endpoint_count; i++) {
        client->endpoints[i] = options->endpoints[i];
    }
    client->options.endpoints = client->endpoints;
    balancer_init(&client->balancer, options->endpoint_count, loop_random(options->loop));
    loop_timer_init(&client->connect, options->loop, connect_now, client);
    loop_timer_init(&client->retry_timer, options->loop, pump, client);
    loop_timer_init(&client->expire, options->loop, expire, client);
    loop_task_init(&client->pump_task, pump, client);
    loop_timer_start(&client->connect, 0);
    return client;
}

void etcd_client_free(EtcdClient *client)
{
    if (client == NULL) {
        return;
    }
    client->is_closing = true;
    client->is_ready = false;
    loop_timer_stop(&client->connect);
    if (client->link != NULL) {
        link_free(client->link);
    }
    while (client->draining != NULL) {
        Link *link = client->draining;
        client->draining = link->next;
        link_free(link);
    }
    while (client->waiting.first != NULL) {
        fail(client->waiting.first, ERROR_UNAVAILABLE, "the store is closing");
    }
    BUG_IF(client->sent.first != NULL);
    loop_timer_stop(&client->retry_timer);
    loop_timer_stop(&client->expire);
    loop_task_stop(client->options.loop, &client->pump_task);
    free(client);
}

static bool is_same(const Address *a, const Address *b)
{
    return a->port == b->port && address_same_host(a, b);
}

static uint32_t find_endpoint(const Address *endpoints, uint32_t count, const Address *wanted)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_same(&endpoints[i], wanted)) {
            return i;
        }
    }
    return BALANCER_NEW;
}

void etcd_client_set_endpoints(EtcdClient *client, const Address *endpoints, uint32_t count)
{
    uint32_t former[ETCD_ENDPOINTS_MAX];
    BUG_IF(count == 0 || count > ETCD_ENDPOINTS_MAX);
    if (client->link != NULL) {
        uint32_t now = find_endpoint(endpoints, count, &client->endpoints[client->link->endpoint]);
        if (now == BALANCER_NEW) {
            link_lost(client, "the member is no longer one of the endpoints");
        } else {
            client->link->endpoint = now;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        former[i] = find_endpoint(client->endpoints, client->options.endpoint_count, &endpoints[i]);
    }
    balancer_replace(&client->balancer, former, count);
    memcpy(client->endpoints, endpoints, count * sizeof *endpoints);
    client->options.endpoint_count = count;
}

bool etcd_client_is_ready(const EtcdClient *client)
{
    return client->is_ready;
}

const char *etcd_client_last_error(const EtcdClient *client)
{
    return client->last_error;
}
