/* HTTP without TLS, for clients that cannot do better, such as load balancers with health checks.
 * Loop thread only.
 *
 * Data on an unencrypted network must be worthless to anyone who reads or changes it. So there is
 * no identity: every request reaches the same few routes. A request with credentials is rejected,
 * so that the client stops sending them in the clear. All routes are read-only. Host must be this
 * server, as on the other ports (net/host_check.h). A plain server listens only on an explicitly
 * configured address, never by default, and has its own, low limits. */
#pragma once

#include "net/http_server.h"

typedef struct PlainServer PlainServer;

/* Handles GET and HEAD of one path. */
typedef struct PlainRoute {
    const char *path; /* NULL in the last entry of a table */
    /* Responds immediately (http_request_respond). */
    void (*respond)(void *context, HttpRequest *request);
    const char *help;
} PlainRoute;

enum {
    PLAIN_CONNECTIONS_MAX = 256,
    PLAIN_ORIGIN_MAX = 64, /* connections per IPv4 address or IPv6 network (/64) */
    PLAIN_REQUEST_MS = 5000,
    PLAIN_IDLE_MS = 30000,
};

typedef struct PlainServerOptions {
    Loop *loop;
    const PlainRoute *routes;
    const Str *names; /* names of this server in addition to its addresses; see HostRules */
    uint32_t name_count;
    int64_t request_ms, idle_ms; /* 0: the defaults above */
    void *context;
} PlainServerOptions;

/* "IP:PORT". Both are required: there is no default port, and to listen on all addresses one has to
 * write "0.0.0.0:8080". Fails with ERROR_INVALID. */
MUST_CHECK bool plain_address_parse(Str text, Address *out, Error *err);

MUST_CHECK bool plain_server_open(const PlainServerOptions *options, const Address *address,
                                  PlainServer **out, Error *err);
/* See http_server_stop. */
void plain_server_stop(PlainServer *server, int64_t grace_ms, LoopRun *done, void *context);
/* See http_server_free. NULL is allowed. */
void plain_server_free(PlainServer *server);
DEFINE_AUTO(PlainServer, plain_server_free)

/* NULL if it is stopped, or if `server` is NULL. */
const Listener *plain_server_listener(const PlainServer *server);
