/* HTTP without TLS: a class of listeners of its own, for those who cannot speak anything else, such as
 * load balancers that ask whether a server is well. Loop thread.
 *
 * What a network without encryption carries must be worth nothing to who reads or changes it. So there is
 * no identity: a request reaches the routes of the table that it was opened with, whoever sends it, and
 * nothing else. A request with credentials is refused, so that nobody goes on sending them in the clear.
 * It can only be read from. Host must be this server, as on the other ports (net/host_check.h). It listens
 * where an address says so, and is nowhere the default. Limits are its own and small. */
#pragma once

#include "net/http_server.h"

typedef struct PlainServer PlainServer;

/* Answers GET, and HEAD, of one path. */
typedef struct PlainRoute {
    const char *path; /* NULL: the last row of a table */
    /* Answers the request (http_request_answer), at once. */
    void (*answer)(void *context, HttpRequest *request);
    const char *help;
} PlainRoute;

enum {
    PLAIN_CONNECTIONS_MAX = 256,
    PLAIN_ORIGIN_MAX = 64, /* connections from one IPv4 address or IPv6 network (/64) */
    PLAIN_REQUEST_MS = 5000,
    PLAIN_IDLE_MS = 30000,
};

typedef struct PlainServerOptions {
    Loop *loop;
    const PlainRoute *routes;
    const Str *names; /* under which others reach it, beside its addresses; see HostRules */
    uint32_t name_count;
    int64_t request_ms, idle_ms; /* 0: as above */
    void *context;
} PlainServerOptions;

/* "IP:PORT". Nothing is left out: no port is the default, and to listen on all addresses of the machine
 * one has to write them ("0.0.0.0:8080"). Fails with ERROR_INVALID. */
MUST_CHECK bool plain_address_parse(Str text, Address *out, Error *err);

MUST_CHECK bool plain_server_open(const PlainServerOptions *options, const Address *address,
                                  PlainServer **out, Error *err);
/* As http_server_stop. */
void plain_server_stop(PlainServer *server, int64_t grace_ms, LoopRun *done, void *context);
/* As http_server_free. NULL is allowed. */
void plain_server_free(PlainServer *server);
DEFINE_AUTO(PlainServer, plain_server_free)

/* NULL: it is stopped, or `server` is NULL. */
const Listener *plain_server_listener(const PlainServer *server);
