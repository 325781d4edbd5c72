/* The client side of gRPC: starts calls on one HTTP/2 connection and interprets responses. A call
 * ends with the status of the trailers; without one, the HTTP status, the reset code or the error
 * of the connection is mapped to a status (grpc_status.h). */
#include "net/grpc_client.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "net/grpc_inner.h"

struct GrpcClient {
    GrpcClientOptions options;
    GrpcSession *session; /* NULL once it has ended */
    char authority[ADDRESS_HOST_MAX + 16];
};

GrpcClientOptions grpc_client_defaults(void)
{
    GrpcClientOptions options = {
        .open_timeout_ms = 10000,
        .http2 = http2_defaults(),
        .response_max = 4 << 20,
        .queue_max = 64 << 10,
        .connection_max = 64 << 20,
    };
    /* The client pings before servers do, which spares them the timers. */
    options.http2.ping_after_ms = 25000;
    options.http2.connection_window = 1 << 20;
    return options;
}

/* --- Responses ------------------------------------------------------------------------------- */

static void read_status(GrpcCall *call, const Http2Headers *headers)
{
    Str digits = http2_headers_find(headers, "grpc-status");
    if (digits.len == 0) {
        return;
    }
    if (!grpc_status_parse(digits, &call->status)) {
        call->status = GRPC_UNKNOWN;
    }
    call->has_status = true;
    AUTO_CLEAR(Buf) text = buf_make(GRPC_TEXT_MAX);
    grpc_text_unescape(http2_headers_find(headers, "grpc-message"), &text);
    const char *unescaped = buf_c(&text);
    free(call->text);
    call->text = strdup(unescaped == NULL ? "" : unescaped);
}

static void on_headers(GrpcCall *call, const Http2Headers *headers)
{
    Str http_status = http2_headers_find(headers, ":status");
    if (headers->too_large) {
        grpc_call_break(call, GRPC_INTERNAL, "too many header fields in the response");
        return;
    }
    if (!call->has_response) {
        if (str_starts(http_status, STR("1"))) {
            return; /* an interim (1xx) response; the final one follows */
        }
        call->has_response = true;
        if (!str_eq(http_status, STR("200"))) {
            read_status(call, headers);
            if (!call->has_status) {
                grpc_call_break(call, grpc_status_from_http(http_status),
                                "the server responded with an HTTP error");
            }
            return;
        }
        if (!str_starts(http2_headers_find(headers, "content-type"), STR("application/grpc"))) {
            grpc_call_break(call, GRPC_UNKNOWN, "the server does not speak gRPC");
            return;
        }
    }
    read_status(call, headers);
}

static void peer_ended(GrpcCall *call)
{
    /* The status has already arrived; closing our half ends the stream. Unsent requests are
     * irrelevant. */
    if (!call->stream.ended) {
        http2_reset(&call->stream, HTTP2_NO_ERROR);
    }
}

static void closed(GrpcCall *call, uint32_t code)
{
    const char *reason = http2_end_reason(call->session->http2);
    if (call->has_status) {
        bool is_single = call->kind == GRPC_UNARY || call->kind == GRPC_CLIENT_STREAM;
        if (call->status == GRPC_OK && is_single && call->messages == 0) {
            grpc_call_report_end(call, GRPC_INTERNAL, STR("the server sent no response"));
        } else {
            grpc_call_report_end(call, call->status, str_from_c(call->text));
        }
    } else if (reason != NULL) {
        grpc_call_report_end(call, GRPC_UNAVAILABLE, str_from_c(reason));
    } else if (call->session->owner == NULL) {
        grpc_call_report_end(call, GRPC_CANCELLED, STR("the client was closed"));
    } else {
        grpc_call_report_end(call, grpc_status_from_reset(code), STR("the stream was reset"));
    }
}

static void ready(GrpcSession *session)
{
    GrpcClient *client = session->owner;
    if (client != NULL && client->options.ready != NULL) {
        client->options.ready(client->options.context);
    }
}

static void session_closed(GrpcSession *session, const Error *why)
{
    GrpcClient *client = session->owner;
    if (client == NULL) {
        return;
    }
    client->session = NULL;
    session->owner = NULL;
    GrpcClientOptions options = client->options;
    grpc_session_free(session);
    if (options.closed != NULL) {
        options.closed(options.context, why);
    }
}

static const GrpcSide side = {
    .headers = on_headers,
    .peer_ended = peer_ended,
    .closed = closed,
    .ready = ready,
    .session_closed = session_closed,
};

/* --- Lifecycle ------------------------------------------------------------------------------- */

static void nothing(void *context)
{
}

static void nothing_received(void *context, Str bytes)
{
}

static void nothing_closed(void *context, const Error *why)
{
}

/* Placeholder until HTTP/2 takes over, before the next iteration of the loop. */
static const ConnectionEvents no_events = { nothing, nothing_received, nothing, nothing_closed };

GrpcClient *grpc_client_new(const GrpcClientOptions *options)
{
    GrpcClient *client = memory_new(sizeof *client);
    BUG_IF(options->tls == NULL && options->address.kind != ADDRESS_UNIX);
    BUG_IF(options->metadata_count > GRPC_METADATA_MAX);
    client->options = *options;
    if (options->address.kind == ADDRESS_UNIX) {
        strcpy(client->authority, "localhost");
    } else {
        AUTO_CLEAR(Buf) name = buf_make(sizeof client->authority - 1);
        address_format(&options->address, &name);
        memcpy(client->authority, name.data, name.len);
    }
    Connection *connection =
        connection_connect(&(ConnectionOptions){ .loop = options->loop,
                                                 .tls = options->tls,
                                                 .tls_host = options->tls_host,
                                                 .open_timeout_ms = options->open_timeout_ms,
                                                 .events = &no_events },
                           &options->address);
    client->session =
        grpc_session_new(connection, &options->http2, &side, client,
                         (GrpcLimits){ options->queue_max, options->connection_max }, NULL);
    return client;
}

void grpc_client_free(GrpcClient *client)
{
    if (client != NULL) {
        if (client->session != NULL) {
            client->session->owner = NULL;
            grpc_session_free(client->session);
        }
        free(client);
    }
}

bool grpc_client_is_open(const GrpcClient *client)
{
    return client->session != NULL;
}

/* --- Calls ----------------------------------------------------------------------------------- */

bool grpc_client_start(GrpcClient *client, const char *path, GrpcKind kind,
                       const GrpcHandler *handler, void *data, int64_t timeout_ms, GrpcCall **out,
                       Error *err)
{
    if (client->session == NULL) {
        return error_set(err, ERROR_UNAVAILABLE, "the connection is closed");
    }
    char timeout[16];
    Http2Header headers[8 + GRPC_METADATA_MAX] = {
        { STR(":method"), STR("POST") },
        { STR(":scheme"), client->options.tls == NULL ? STR("http") : STR("https") },
        { STR(":authority"), str_from_c(client->authority) },
        { STR(":path"), str_from_c(path) },
        { STR("content-type"), STR("application/grpc") },
        { STR("te"), STR("trailers") },
        { STR("user-agent"), STR("eden/" EDEN_VERSION) },
    };
    uint32_t count = 7;
    if (timeout_ms > 0) {
        grpc_timeout_format(timeout_ms, timeout);
        headers[count++] = (Http2Header){ STR("grpc-timeout"), str_from_c(timeout) };
    }
    for (uint32_t i = 0; i < client->options.metadata_count; i++) {
        headers[count++] = client->options.metadata[i];
    }
    GrpcCall *call = grpc_call_new(client->session, false);
    call->kind = kind;
    call->handler = handler;
    call->data = data;
    if (!http2_request(client->session->http2, &call->stream, headers, count, false, err)) {
        call->stream.is_closed = true;
        grpc_call_release(call);
        return false;
    }
    grpc_call_start_decoder(call, client->options.response_max);
    if (timeout_ms > 0) {
        call->deadline_ms = loop_now_ms(client->options.loop) + timeout_ms;
        grpc_call_arm_timer(call);
    }
    *out = call;
    return true;
}

typedef struct Unary {
    GrpcUnaryDone *done;
    void *context;
    Buf response;
} Unary;

static void unary_message(GrpcCall *call, Str message)
{
    Unary *unary = grpc_call_data(call);
    buf_put(&unary->response, message);
}

static void unary_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Unary *unary = grpc_call_data(call);
    unary->done(unary->context, status, text,
                status == GRPC_OK ? buf_str(&unary->response) : STR_EMPTY);
    buf_clear(&unary->response);
    free(unary);
}

static const GrpcHandler unary_handler = { .message = unary_message, .ended = unary_ended };

bool grpc_client_unary(GrpcClient *client, const char *path, Str request, int64_t timeout_ms,
                       GrpcUnaryDone *done, void *context, Error *err)
{
    Unary *unary = memory_new(sizeof *unary);
    *unary = (Unary){ done, context, buf_make(BUF_UNLIMITED) };
    GrpcCall *call;
    if (!grpc_client_start(client, path, GRPC_UNARY, &unary_handler, unary, timeout_ms, &call,
                           err)) {
        free(unary);
        return false;
    }
    if (!grpc_call_send(call, request, err)) {
        grpc_call_cancel(call);
        free(unary);
        return false;
    }
    grpc_call_end_sending(call);
    return true;
}
