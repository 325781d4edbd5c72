/* The listener without TLS: rejects requests with credentials or a foreign Host, then looks up the
 * route. plain_server.h has the rules. */
#include "net/plain_server.h"

#include <stdlib.h>

#include "base/memory.h"
#include "net/host_check.h"

#define TEXT "text/plain; charset=utf-8"

enum {
    MEMORY_MAX = 1 << 20, /* limit on unread responses */
};

struct PlainServer {
    PlainServerOptions options;
    HttpServer *http;
    const Listener *listener;
};

/* --- Requests -------------------------------------------------------------------------------- */

/* HTTP/1.0 requests may lack Host, but no browser sends those. */
static bool has_own_host(const PlainServer *server, const HttpRequest *request)
{
    const Str *host = http1_find(http_request_head(request), "Host");
    char own[ADDRESS_TEXT_MAX];
    http_request_own_address(request, own);
    HostRules rules = { .names = server->options.names,
                        .name_count = server->options.name_count,
                        .local_address = str_from_c(own) };
    return host == NULL || host_is_own(&rules, *host);
}

static bool has_credentials(const Http1Head *head)
{
    return http1_find(head, "Authorization") != NULL ||
           http1_find(head, "Proxy-Authorization") != NULL || http1_find(head, "Cookie") != NULL;
}

static const PlainRoute *find_route(const PlainServer *server, Str path)
{
    const PlainRoute *route = server->options.routes;
    while (route->path != NULL && !str_eq_c(path, route->path)) {
        route++;
    }
    return route->path == NULL ? NULL : route;
}

static void refuse(HttpRequest *request, int status, const char *why)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put_format(&text, "%s\n", why);
    http_request_respond(request, status, TEXT, buf_str(&text));
}

static void requested(void *context, HttpRequest *request)
{
    const PlainServer *server = context;
    const Http1Head *head = http_request_head(request);
    const PlainRoute *route = find_route(server, head->path);
    if (!has_own_host(server, request)) {
        refuse(request, 421, "invalid Host header: it names another server");
    } else if (has_credentials(head)) {
        refuse(request, 400, "credentials are not accepted on a port without TLS; use the API");
    } else if (route == NULL) {
        refuse(request, 404, "no such endpoint on this port");
    } else if (!http1_is_safe(head)) {
        http_request_add_header(request, "Allow", STR("GET, HEAD"));
        refuse(request, 405, "method not allowed: only GET and HEAD are supported");
    } else if (head->query.len > 0) {
        refuse(request, 400, "this endpoint does not accept query parameters");
    } else {
        route->respond(server->options.context, request);
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

bool plain_address_parse(Str text, Address *out, Error *err)
{
    if (!address_parse(text, 0, out, err) || out->kind != ADDRESS_IP || out->port == 0) {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' is not an IP address with a port (example: "
                         "127.0.0.1:8080)",
                         STR_ARG(text));
    }
    return true;
}

static HttpServer *make_http(PlainServer *server)
{
    const PlainServerOptions *own = &server->options;
    HttpServerOptions options = http_server_defaults();
    options.loop = own->loop;
    options.body_max = 0;
    options.memory_max = MEMORY_MAX;
    options.request_timeout_ms = own->request_ms > 0 ? own->request_ms : PLAIN_REQUEST_MS;
    options.idle_timeout_ms = own->idle_ms > 0 ? own->idle_ms : PLAIN_IDLE_MS;
    options.requested = requested;
    options.context = server;
    return http_server_new(&options);
}

bool plain_server_open(const PlainServerOptions *options, const Address *address, PlainServer **out,
                       Error *err)
{
    PlainServer *server = memory_new(sizeof *server);
    server->options = *options;
    server->http = make_http(server);
    ListenerOptions listening = listener_defaults();
    listening.loop = options->loop;
    listening.is_without_tls = true;
    listening.connections_max = PLAIN_CONNECTIONS_MAX;
    listening.per_origin_max = PLAIN_ORIGIN_MAX;
    if (!http_server_listen(server->http, &listening, address, &server->listener, err)) {
        plain_server_free(server);
        return false;
    }
    *out = server;
    return true;
}

void plain_server_stop(PlainServer *server, int64_t grace_ms, LoopRun *done, void *context)
{
    server->listener = NULL;
    http_server_stop(server->http, grace_ms, done, context);
}

void plain_server_free(PlainServer *server)
{
    if (server != NULL) {
        http_server_free(server->http);
        free(server);
    }
}

const Listener *plain_server_listener(const PlainServer *server)
{
    return server == NULL ? NULL : server->listener;
}
