#include "agent/local_api.h"

#include <stdlib.h>

#include "agent/agent_inner.h"
#include "api/problem_json.h"
#include "base/json_out.h"
#include "base/memory.h"
#include "net/http_server.h"
#include "sys/privilege.h"

enum {
    CONNECTIONS_MAX = 64,
    RESPONSE_MAX = 1 << 20, /* maximum size in bytes */
};

struct LocalApi {
    Agent *agent;
    HttpServer *server;
    HttpRequest *renewing; /* request waiting for a certificate */
    HttpRequest *leaving;  /* request waiting to leave the cluster */
};

typedef void LocalRun(LocalApi *api, HttpRequest *request);

/* --- Responses ------------------------------------------------------------------------------- */

static void respond(HttpRequest *request, int status, Str json)
{
    http_request_respond(request, status, "application/json", json);
}

static void respond_problem(HttpRequest *request, int status, const char *text)
{
    AUTO_CLEAR(Buf) json = buf_make(RESPONSE_MAX);
    problem_json_put(&json, status, str_from_c(text), NULL);
    http_request_respond(request, status, PROBLEM_JSON_TYPE, buf_str(&json));
}

static void respond_error(HttpRequest *request, const Error *err)
{
    respond_problem(request,
                    err->kind == ERROR_CONFLICT  ? 409
                    : err->kind == ERROR_TIMEOUT ? 504
                                                 : 503,
                    err->text);
}

static void respond_done(HttpRequest *request)
{
    AUTO_CLEAR(Buf) json = buf_make(RESPONSE_MAX);
    json_out_start(&json, "eden.done/1");
    json_out_close(&json, '}');
    respond(request, 200, buf_str(&json));
}

/* --- Requests -------------------------------------------------------------------------------- */

static void show_status(LocalApi *api, HttpRequest *request)
{
    AUTO_CLEAR(Buf) json = buf_make(RESPONSE_MAX);
    agent_status_print(api->agent, &json);
    respond(request, 200, buf_str(&json));
}

static void reload(LocalApi *api, HttpRequest *request)
{
    agent_reload(api->agent);
    respond_done(request);
}

/* `request` is NULL if the client has disconnected. */
static void respond_late(HttpRequest *request, const Error *err)
{
    if (request == NULL) {
        return;
    }
    if (err == NULL) {
        respond_done(request);
    } else {
        respond_error(request, err);
    }
}

static void renewed(void *context, const Error *err)
{
    LocalApi *api = context;
    respond_late(TAKE(api->renewing), err);
}

static void renew(LocalApi *api, HttpRequest *request)
{
    if (api->agent->membership == NULL) {
        respond_problem(request, 409, "this machine is not a node of a cluster");
        return;
    }
    if (api->renewing != NULL) {
        respond_problem(request, 409, "the certificate is already being renewed");
        return;
    }
    api->renewing = request;
    trust_renew(membership_trust(api->agent->membership), renewed, api);
}

static void leave_done(void *context, const Error *err)
{
    LocalApi *api = context;
    respond_late(TAKE(api->leaving), err);
}

static void begin_leave(LocalApi *api, HttpRequest *request, bool notify_server)
{
    Error err;
    if (agent_leave(api->agent, notify_server, leave_done, api, &err)) {
        api->leaving = request;
    } else {
        respond_error(request, &err);
    }
}

static void leave(LocalApi *api, HttpRequest *request)
{
    begin_leave(api, request, true);
}

static void forget(LocalApi *api, HttpRequest *request)
{
    begin_leave(api, request, false);
}

static void disconnected(void *context, HttpRequest *request)
{
    LocalApi *api = context;
    if (api->renewing == request) {
        api->renewing = NULL;
    }
    if (api->leaving == request) {
        api->leaving = NULL;
    }
}

/* --- Routes ---------------------------------------------------------------------------------- */

static const struct {
    const char *method, *path;
    LocalRun *run;
} routes[] = {
    { "GET", "/v1/agent", show_status },    { "POST", "/v1/agent/renew", renew },
    { "POST", "/v1/agent/reload", reload }, { "POST", "/v1/agent/leave", leave },
    { "POST", "/v1/agent/forget", forget },
};

static bool may_request(const Peer *peer)
{
    return peer->is_local && (peer->uid == 0 || peer->uid == privileges_user());
}

static void requested(void *context, HttpRequest *request)
{
    LocalApi *api = context;
    const Http1Head *head = http_request_head(request);
    bool has_path = false;
    if (!may_request(http_request_peer(request))) {
        respond_problem(request, 403, "only root may use the agent's API");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        if (!str_eq_c(head->path, routes[i].path)) {
            continue;
        }
        has_path = true;
        if (str_eq_c(head->method, routes[i].method)) {
            routes[i].run(api, request);
            return;
        }
    }
    respond_problem(request, has_path ? 405 : 404,
                    has_path ? "method not allowed" : "no such endpoint");
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

bool local_api_open(Agent *agent, const char *path, LocalApi **out, Error *err)
{
    HttpServerOptions options = http_server_defaults();
    ListenerOptions listening = listener_defaults();
    const Listener *listener;
    Address address;
    if (!address_unix(str_from_c(path), &address, err)) {
        return false;
    }
    LocalApi *api = memory_new(sizeof *api);
    api->agent = agent;
    options.loop = listening.loop = agent->options.loop;
    options.body_max = 4096;
    options.write_error = problem_json_refuse;
    options.requested = requested;
    options.disconnected = disconnected;
    options.context = api;
    listening.connections_max = CONNECTIONS_MAX;
    api->server = http_server_new(&options);
    if (!http_server_listen(api->server, &listening, &address, &listener, err)) {
        local_api_close(api);
        return false;
    }
    *out = api;
    return true;
}

void local_api_close(LocalApi *api)
{
    if (api == NULL) {
        return;
    }
    http_server_free(api->server);
    free(api);
}

void local_api_no_node(LocalApi *api)
{
    if (api->renewing != NULL) {
        respond_problem(TAKE(api->renewing), 503, "this machine is no longer a node");
    }
}
