/* A small HTTPS server for tests with third-party clients, for HTTP/2 and HTTP/1.1:
 *
 *     http_echo_server --listen ADDRESS --cert FILE --key FILE --unix PATH [OPTION N]...
 *
 * It prints "port N" when it listens, and on SIGTERM shuts down cleanly: held requests are answered
 * then.
 *
 *     /echo      the request, as text: method, path, query, fields, body
 *     /small     the same, for a body with at most SMALL_MAX bytes
 *     /bytes?N   so many bytes, with Content-Length
 *     /pieces?N  so many bytes, in chunks
 *     /stays     one chunk, and no end
 *     /broken    one chunk, then aborted
 *     /hold      no response until the server stops
 *     /stats     statistics for the tests, as JSON */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "net/http_server.h"
#include "net/watch.h"
#include "sys/file.h"

enum {
    FILE_MAX = 1 << 20,
    BYTES_MAX = 64 << 20,
    CHUNK = 10000,
    SMALL_MAX = 40000,
};

/* A request whose response is delayed. */
typedef struct Held {
    struct Echo *echo;
    HttpRequest *request;
    struct Held *next, *previous;
    uint64_t left;
    bool in_pieces;
} Held;

typedef struct Echo {
    Loop *loop;
    Arena arena;
    HttpServer *server;
    const Listener *listener;
    Held *first;
    uint32_t requests, connection_freed, held;
} Echo;

static Held *hold_request(Echo *echo, HttpRequest *request)
{
    Held *held = calloc(1, sizeof *held);
    *held = (Held){ .echo = echo, .request = request, .next = echo->first };
    if (echo->first != NULL) {
        echo->first->previous = held;
    }
    echo->first = held;
    echo->held++;
    http_request_set_data(request, held);
    return held;
}

static void release_request(Held *held)
{
    *(held->previous == NULL ? &held->echo->first : &held->previous->next) = held->next;
    if (held->next != NULL) {
        held->next->previous = held->previous;
    }
    held->echo->held--;
    free(held);
}

/* --- Responses ------------------------------------------------------------------------------- */

static void echo_back(HttpRequest *request)
{
    const Http1Head *head = http_request_head(request);
    Buf text = buf_make(BUF_UNLIMITED);
    buf_put_format(&text, "%" STR_FMT " %" STR_FMT "?%" STR_FMT "\n", STR_ARG(head->method),
                   STR_ARG(head->path), STR_ARG(head->query));
    for (uint32_t i = 0; i < head->header_count; i++) {
        buf_put_format(&text, "%" STR_FMT "=%" STR_FMT "\n", STR_ARG(head->headers[i].name),
                       STR_ARG(head->headers[i].value));
    }
    buf_put(&text, STR("\n"));
    buf_put(&text, http_request_body(request));
    http_request_add_header(request, "Eden-Test", STR("yes"));
    http_request_respond(request, 200, "text/plain", buf_str(&text));
    buf_clear(&text);
}

static void give(void *context)
{
    static const char letters[CHUNK] = "pieces";
    Held *held = context;
    size_t count = held->left < CHUNK ? held->left : CHUNK;
    held->left -= count;
    if (count > 0) {
        http_request_send_piece(held->request, str_from(letters, count));
    } else {
        HttpRequest *request = held->request;
        release_request(held);
        http_request_end(request);
    }
}

static void nothing(void *context)
{
}

static void send_bytes(HttpRequest *request, uint64_t count)
{
    char *bytes = calloc(1, count + 1);
    http_request_respond(request, 200, "application/octet-stream", str_from(bytes, count));
    free(bytes);
}

static void send_stats(Echo *echo, HttpRequest *request)
{
    char text[200];
    ListenerCounts listener = listener_counts(echo->listener);
    snprintf(text, sizeof text,
             "{\"requests\":%u,\"gone\":%u,\"held\":%u,\"standing\":%u,\"opening\":%u}",
             echo->requests, echo->connection_freed, echo->held, listener.established,
             listener.opening);
    http_request_respond(request, 200, "application/json", str_from_c(text));
}

static void requested(void *context, HttpRequest *request)
{
    Echo *echo = context;
    const Http1Head *head = http_request_head(request);
    uint64_t number = 0;
    bool has_number = str_to_u64(head->query, &number) && number <= BYTES_MAX;
    if (str_eq_c(head->path, "/stats")) {
        send_stats(echo, request);
        return;
    }
    echo->requests++;
    if (str_eq_c(head->path, "/echo") || str_eq_c(head->path, "/small")) {
        echo_back(request);
    } else if (str_eq_c(head->path, "/bytes") && has_number) {
        send_bytes(request, number);
    } else if (str_eq_c(head->path, "/pieces") && has_number) {
        Held *held = hold_request(echo, request);
        held->in_pieces = true;
        held->left = number;
        http_request_begin(request, 200, "text/plain", give, held);
        give(held);
    } else if (str_eq_c(head->path, "/stays")) {
        hold_request(echo, request)->in_pieces = true;
        http_request_begin(request, 200, "text/plain", nothing, NULL);
        http_request_send_piece(request, STR("first"));
    } else if (str_eq_c(head->path, "/broken")) {
        http_request_begin(request, 200, "text/plain", nothing, NULL);
        http_request_send_piece(request, STR("first"));
        http_request_abort(request);
    } else if (str_eq_c(head->path, "/hold")) {
        hold_request(echo, request);
    } else {
        http_request_respond(request, 404, "text/plain", STR("not here"));
    }
}

static bool reads_body(void *context, const HttpRequest *request, uint64_t *max)
{
    if (str_eq_c(http_request_head(request)->path, "/small") && *max > SMALL_MAX) {
        *max = SMALL_MAX;
    }
    return true;
}

static void connection_freed(void *context, HttpRequest *request)
{
    Echo *echo = context;
    echo->connection_freed++;
    release_request(http_request_data(request));
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
    fprintf(stderr, "http_echo_server: %s\n", err->text);
    exit(1);
}

typedef struct Settings {
    const char *listen, *cert, *key, *unix_path;
    HttpServerOptions server;
    ListenerOptions listener;
} Settings;

static void set(Settings *settings, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **to;
    } texts[] = {
        { "--listen", &settings->listen },
        { "--cert", &settings->cert },
        { "--key", &settings->key },
        { "--unix", &settings->unix_path },
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].to = value;
            return;
        }
    }
    long number = strtol(value, NULL, 10);
    if (strcmp(name, "--body-max") == 0) {
        settings->server.body_max = (uint64_t)number;
    } else if (strcmp(name, "--memory-max") == 0) {
        settings->server.memory_max = (size_t)number;
    } else if (strcmp(name, "--request-ms") == 0) {
        settings->server.request_timeout_ms = number;
    } else if (strcmp(name, "--idle-ms") == 0) {
        settings->server.idle_timeout_ms = number;
    } else {
        fprintf(stderr, "http_echo_server: no option %s\n", name);
        exit(64);
    }
}

static Str read_file(Echo *echo, const char *path)
{
    Str text;
    Error err;
    if (!file_read(&echo->arena, path, FILE_MAX, &text, &err)) {
        die(&err);
    }
    return text;
}

static const Listener *listen_on(Echo *echo, const ListenerOptions *options, const char *text)
{
    Address address;
    const Listener *listener = NULL;
    Error err;
    if (!address_parse(str_from_c(text), 0, &address, &err) ||
        !http_server_listen(echo->server, options, &address, &listener, &err)) {
        die(&err);
    }
    return listener;
}

static Watch *watch_signals(Loop *loop)
{
    sigset_t signals;
    Watch *watch;
    Error err;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    if (!watch_new(loop, signalfd(-1, &signals, SFD_CLOEXEC), signalled, loop, &watch, &err)) {
        die(&err);
    }
    watch_set(watch, true, false);
    return watch;
}

/* Streamed responses have ended by then. */
static void answer_held(Echo *echo)
{
    while (echo->first != NULL) {
        HttpRequest *request = echo->first->request;
        release_request(echo->first);
        http_request_respond(request, 200, "text/plain", STR("late"));
    }
}

int main(int argc, char **argv)
{
    Echo echo = { .loop = loop_new() };
    Settings settings = { .server = http_server_defaults(), .listener = listener_defaults() };
    Error err;
    for (int i = 1; i + 1 < argc; i += 2) {
        set(&settings, argv[i], argv[i + 1]);
    }
    arena_init(&echo.arena, ARENA_UNLIMITED);
    settings.server.loop = settings.listener.loop = echo.loop;
    settings.server.reads_body = reads_body;
    settings.server.requested = requested;
    settings.server.disconnected = connection_freed;
    settings.server.context = &echo;
    echo.server = http_server_new(&settings.server);
    listen_on(&echo, &settings.listener, settings.unix_path);
    TlsContext *tls;
    TlsMaterial material = { .certificate = read_file(&echo, settings.cert),
                             .key = read_file(&echo, settings.key) };
    TlsOptions wanted = { .role = TLS_SERVER_PUBLIC, .protocol = "http/1.1", .preferred = "h2" };
    if (!tls_context_new(echo.loop, &wanted, &material, &tls, &err)) {
        die(&err);
    }
    settings.listener.tls = tls;
    echo.listener = listen_on(&echo, &settings.listener, settings.listen);
    Watch *watch = watch_signals(echo.loop);
    printf("port %u\n", listener_port(echo.listener));
    fflush(stdout);
    loop_run(echo.loop);
    watch_free(watch);
    http_server_stop(echo.server, 5000, stopped, echo.loop);
    answer_held(&echo);
    loop_run(echo.loop);
    http_server_free(echo.server);
    tls_context_free(tls);
    loop_free(echo.loop);
    arena_clear(&echo.arena);
    return 0;
}
