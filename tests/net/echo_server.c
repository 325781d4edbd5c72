/* A small gRPC server for tests with third-party clients:
 *
 *     echo_server [--listen ADDRESS --cert FILE --key FILE --ca FILE] [--unix PATH] [OPTION N]...
 *
 * It prints "port N" when it listens and exits cleanly on SIGTERM. Messages are plain bytes. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "net/grpc_server.h"
#include "net/watch.h"
#include "sys/file.h"

enum {
    MESSAGE_MAX = 1 << 20,
    FILE_MAX = 1 << 20,
};

typedef struct Echo {
    Loop *loop;
    Arena arena;
    GrpcServer *server;
    const Listener *listener;
    uint32_t canceled, expired, finished, waiting;
} Echo;

/* One per stream. */
typedef struct Stream {
    uint64_t left, size, messages, bytes;
} Stream;

static void stream_started(GrpcCall *call)
{
    grpc_call_set_data(call, calloc(1, sizeof(Stream)));
}

static void ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Echo *echo = grpc_call_context(call);
    echo->canceled += status == GRPC_CANCELLED;
    echo->expired += status == GRPC_DEADLINE_EXCEEDED;
    echo->finished += status == GRPC_OK;
    free(grpc_call_data(call));
}

static void answer(GrpcCall *call, Str text)
{
    Error err;
    if (grpc_call_send(call, text, &err)) {
        grpc_call_finish(call, GRPC_OK, STR_EMPTY);
    } else {
        grpc_call_fail(call, &err);
    }
}

/* "status N TEXT" returns that status, anything else is echoed. */
static void unary_message(GrpcCall *call, Str message)
{
    Str rest = message, word, number;
    uint64_t status;
    if (str_split_next(&rest, ' ', &word) && str_eq_c(word, "status") &&
        str_split_next(&rest, ' ', &number) && str_to_u64(number, &status) &&
        status <= GRPC_UNAUTHENTICATED) {
        grpc_call_finish(call, (GrpcStatus)status, rest);
        return;
    }
    answer(call, message);
}

static void download_more(GrpcCall *call)
{
    static const char zeros[MESSAGE_MAX];
    Stream *stream = grpc_call_data(call);
    Error err;
    while (stream->left > 0) {
        if (!grpc_call_send(call, str_from(zeros, stream->size), &err)) {
            return;
        }
        stream->left--;
    }
    grpc_call_finish(call, GRPC_OK, STR("all sent"));
}

/* "COUNT SIZE" */
static void download_message(GrpcCall *call, Str message)
{
    Stream *stream = grpc_call_data(call);
    Str rest = message, count;
    if (!str_split_next(&rest, ' ', &count) || !str_to_u64(count, &stream->left) ||
        !str_to_u64(rest, &stream->size) || stream->size > MESSAGE_MAX) {
        grpc_call_finish(call, GRPC_INVALID_ARGUMENT, STR("say COUNT SIZE"));
        return;
    }
    download_more(call);
}

static void upload_message(GrpcCall *call, Str message)
{
    Stream *stream = grpc_call_data(call);
    stream->messages++;
    stream->bytes += message.len;
}

static void upload_half_closed(GrpcCall *call)
{
    Stream *stream = grpc_call_data(call);
    char text[64];
    snprintf(text, sizeof text, "%llu %llu", (unsigned long long)stream->messages,
             (unsigned long long)stream->bytes);
    answer(call, str_from_c(text));
}

static void chat_message(GrpcCall *call, Str message)
{
    Error err;
    if (!grpc_call_send(call, message, &err)) {
        grpc_call_fail(call, &err);
    }
}

static void chat_half_closed(GrpcCall *call)
{
    grpc_call_finish(call, GRPC_OK, STR("bye"));
}

static void wait_started(GrpcCall *call)
{
    Echo *echo = grpc_call_context(call);
    Error err;
    echo->waiting++;
    if (!grpc_call_send(call, STR("waiting"), &err)) {
        grpc_call_fail(call, &err);
    }
}

static void wait_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Echo *echo = grpc_call_context(call);
    echo->waiting--;
    ended(call, status, text);
}

/* Server statistics for the tests. */
static void stats_message(GrpcCall *call, Str message)
{
    Echo *echo = grpc_call_context(call);
    GrpcServerCounts counts = grpc_server_counts(echo->server);
    ListenerCounts listener = { 0 };
    if (echo->listener != NULL) {
        listener = listener_counts(echo->listener);
    }
    AUTO_CLEAR(Buf) text = buf_make(4096);
    buf_put_format(&text,
                   "{\"connections\":%u,\"calls\":%llu,\"refused\":%llu,\"memory\":%zu,"
                   "\"canceled\":%u,\"expired\":%u,\"finished\":%u,\"waiting\":%u,"
                   "\"opening\":%u,\"accepted\":%llu,\"refused_full\":%llu,"
                   "\"refused_origin\":%llu,\"failed\":%llu,\"evicted\":%llu,",
                   counts.connections, (unsigned long long)counts.calls,
                   (unsigned long long)counts.refused, counts.memory, echo->canceled, echo->expired,
                   echo->finished, echo->waiting, listener.opening,
                   (unsigned long long)listener.accepted, (unsigned long long)listener.refused_full,
                   (unsigned long long)listener.refused_origin, (unsigned long long)listener.failed,
                   (unsigned long long)listener.evicted);
    const Peer *peer = grpc_call_peer(call);
    buf_put_format(&text, "\"local\":%s,\"uid\":%u,\"node\":\"%s\",\"resumed\":%s}",
                   peer->is_local ? "true" : "false", (unsigned)peer->uid, peer->tls.identity.node,
                   peer->tls.resumed ? "true" : "false");
    answer(call, buf_str(&text));
}

static const GrpcHandler unary = { .message = unary_message, .ended = ended };
static const GrpcHandler download = { .started = stream_started,
                                      .message = download_message,
                                      .writable = download_more,
                                      .ended = ended };
static const GrpcHandler upload = { .started = stream_started,
                                    .message = upload_message,
                                    .half_closed = upload_half_closed,
                                    .ended = ended };
static const GrpcHandler chat = { .message = chat_message,
                                  .half_closed = chat_half_closed,
                                  .ended = ended };
static const GrpcHandler wait = { .started = wait_started, .ended = wait_ended };
static const GrpcHandler stats = { .message = stats_message };

static const GrpcMethod methods[] = {
    { "/test.Echo/Unary", GRPC_UNARY, MESSAGE_MAX, &unary },
    { "/test.Echo/Download", GRPC_SERVER_STREAM, 100, &download },
    { "/test.Echo/Upload", GRPC_CLIENT_STREAM, MESSAGE_MAX, &upload },
    { "/test.Echo/Chat", GRPC_BIDI_STREAM, MESSAGE_MAX, &chat },
    { "/test.Echo/Wait", GRPC_SERVER_STREAM, 100, &wait },
    { "/test.Echo/Stats", GRPC_UNARY, 100, &stats },
};

static bool authorize(void *context, const Peer *peer, const GrpcMethod *method, Error *err)
{
    return peer->is_local || peer->tls.has_identity ||
           error_set(err, ERROR_DENIED, "the certificate names no node");
}

/* --- The server ------------------------------------------------------------------------------ */

static void signalled(void *context, bool can_read, bool can_write)
{
    loop_stop(context);
}

static void stopped(void *context)
{
    loop_stop(context);
}

static void die(const Error *err)
{
    fprintf(stderr, "echo_server: %s\n", err->text);
    exit(1);
}

typedef struct Settings {
    const char *listen, *cert, *key, *ca, *unix_path;
    GrpcServerOptions server;
    ListenerOptions listener;
} Settings;

static void set(Settings *settings, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **to;
    } texts[] = {
        { "--listen", &settings->listen },  { "--cert", &settings->cert },
        { "--key", &settings->key },        { "--ca", &settings->ca },
        { "--unix", &settings->unix_path },
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].to = value;
            return;
        }
    }
    long number = strtol(value, NULL, 10);
    if (strcmp(name, "--connections-max") == 0) {
        settings->listener.connections_max = (uint32_t)number;
    } else if (strcmp(name, "--per-origin-max") == 0) {
        settings->listener.per_origin_max = (uint32_t)number;
    } else if (strcmp(name, "--opening-max") == 0) {
        settings->listener.opening_max = (uint32_t)number;
    } else if (strcmp(name, "--opening-ms") == 0) {
        settings->listener.opening_limit_ms = number;
    } else if (strcmp(name, "--grace-ms") == 0) {
        settings->listener.opening_grace_ms = number;
    } else if (strcmp(name, "--ping-ms") == 0) {
        settings->server.http2.ping_after_ms = number;
        settings->server.http2.ping_timeout_ms = number;
        settings->server.http2.settings_timeout_ms = number;
    } else {
        fprintf(stderr, "echo_server: no option %s\n", name);
        exit(64);
    }
}

static Str read_file(Echo *echo, const char *path)
{
    Str text = STR_EMPTY;
    Error err = { 0 };
    if (path != NULL && !file_read(&echo->arena, path, FILE_MAX, &text, &err)) {
        die(&err);
    }
    return text;
}

static void listen_on(Echo *echo, const ListenerOptions *options, const char *text, uint16_t *port)
{
    Address address;
    Error err = { 0 };
    if (!address_parse(str_from_c(text), 0, &address, &err) ||
        !grpc_server_listen(echo->server, options, &address, &echo->listener, &err)) {
        die(&err);
    }
    *port = listener_port(echo->listener);
}

int main(int argc, char **argv)
{
    Echo echo = { .loop = loop_new() };
    Settings settings = { .server = grpc_server_defaults(), .listener = listener_defaults() };
    for (int i = 1; i + 1 < argc; i += 2) {
        set(&settings, argv[i], argv[i + 1]);
    }
    arena_init(&echo.arena, ARENA_UNLIMITED);
    settings.server.loop = echo.loop;
    settings.server.methods = methods;
    settings.server.method_count = COUNT_OF(methods);
    settings.server.authorize = authorize;
    settings.server.context = &echo;
    echo.server = grpc_server_new(&settings.server);
    TlsContext *tls = NULL;
    uint16_t port = 0, ignored;
    if (settings.unix_path != NULL) {
        listen_on(&echo, &settings.listener, settings.unix_path, &ignored);
    }
    if (settings.listen != NULL) {
        Error err = { 0 };
        TlsMaterial material = { .certificate = read_file(&echo, settings.cert),
                                 .key = read_file(&echo, settings.key),
                                 .ca = read_file(&echo, settings.ca) };
        if (!tls_context_new(echo.loop, &(TlsOptions){ .role = TLS_SERVER, .protocol = "h2" },
                             &material, &tls, &err)) {
            die(&err);
        }
        settings.listener.tls = tls;
        listen_on(&echo, &settings.listener, settings.listen, &port);
    }
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    Watch *watch;
    Error watch_error = { 0 };
    if (!watch_new(echo.loop, signalfd(-1, &signals, SFD_CLOEXEC), signalled, echo.loop, &watch,
                   &watch_error)) {
        die(&watch_error);
    }
    watch_set(watch, true, false);
    printf("port %u\n", port);
    fflush(stdout);
    loop_run(echo.loop);
    watch_free(watch);
    grpc_server_stop(echo.server, 2000, stopped, echo.loop);
    loop_run(echo.loop);
    grpc_server_free(echo.server);
    tls_context_free(tls);
    loop_free(echo.loop);
    arena_clear(&echo.arena);
    return 0;
}
