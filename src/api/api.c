#include "api/api.h"

#include <stdlib.h>

#include "api/api_inner.h"
#include "api/feed.h"
#include "api/gate.h"
#include "api/kind_rows.h"
#include "api/object_watch.h"
#include "api/pages.h"
#include "api/problem_json.h"
#include "api/record.h"
#include "base/ascii_case.h"
#include "base/hash.h"
#include "base/memory.h"
#include "cluster/state.h"

#define PERMISSIONS_CHANGED "the caller's permissions have just changed; try again"

/* --- Requests -------------------------------------------------------------------------------- */

static void refuse_endpoint(ApiCall *call)
{
    Str similar = route_suggest(&call->arena, http_request_head(call->request)->path);
    Str text = similar.len == 0
                   ? STR("no such endpoint; /v1/openapi.json lists all of them")
                   : arena_format(&call->arena, "no such endpoint; did you mean '%" STR_FMT "'?",
                                  STR_ARG(similar));
    call_refuse(call, 404, text.data);
}

/* The path exists, but not with this method. `Allow` lists only methods that the caller may use. */
static void refuse_method(ApiCall *call, const RouteMatch *match)
{
    Buf allowed = buf_make_in(&call->arena, BUF_UNLIMITED);
    AccessDecision decision;
    Error err;
    int status = 404;
    for (uint32_t i = 0; i < match->row_count; i++) {
        if (caller_may(call_settings(call), &call->caller, match->rows[i], match->rows[i]->verb,
                       &decision, &status, &err)) {
            buf_put_format(&allowed, "%s%s", allowed.len > 0 ? ", " : "", match->rows[i]->method);
        }
    }
    if (allowed.len > 0) {
        http_request_add_header(call->request, "Allow", buf_str(&allowed));
        Str text =
            arena_format(&call->arena, "method not allowed; this endpoint supports %" STR_FMT,
                         STR_ARG(buf_str(&allowed)));
        call_refuse(call, 405, text.data);
    } else if (!caller_may(call_settings(call), &call->caller, NULL, NULL, &decision, &status,
                           &err)) {
        call_refuse(call, status, err.text);
    } else {
        refuse_endpoint(call);
    }
}

static void refuse_type(ApiCall *call)
{
    Buf types = buf_make_in(&call->arena, BUF_UNLIMITED);
    Str rest = str_from_c(call->row->types), type;
    while (route_next_type(&rest, &type)) {
        buf_put_c(&types, types.len > 0 ? ", " : "");
        buf_put(&types, type);
    }
    http_request_add_header(call->request, "Accept", buf_str(&types));
    Str text = arena_format(&call->arena, "the Content-Type of the body must be one of: %" STR_FMT,
                            STR_ARG(buf_str(&types)));
    call_refuse(call, 415, text.data);
}

static bool is_too_long(const RouteRow *row, const Http1Head *head)
{
    return head->body == HTTP1_BODY_LENGTH && head->length > row->body_max;
}

static bool check_request(ApiCall *call)
{
    const RouteRow *row = call->row;
    const Http1Head *head = http_request_head(call->request);
    bool has_body = call_has_body(call);
    Error err;
    if (!route_query(&call->arena, row, head->query, &call->query, &err)) {
        call_fail(call, &err);
    } else if (has_body && row->body_max == 0) {
        call_refuse(call, 400, "this endpoint does not accept a request body");
    } else if (has_body && is_too_long(row, head)) {
        Str text = arena_format(
            &call->arena,
            "request body of %llu bytes is too large; this endpoint accepts at most %u",
            (unsigned long long)head->length, row->body_max);
        call_refuse(call, 413, text.data);
    } else if (has_body && !route_accepts_type(row, http1_find(head, "Content-Type"))) {
        refuse_type(call);
    } else if (http_request_is_unread(call->request)) {
        /* The body was skipped before the caller was authorized. */
        call_refuse(call, 503, PERMISSIONS_CHANGED);
    } else {
        return true;
    }
    return false;
}

/* If the store is unavailable, reads are marked as possibly stale and changes are rejected. A ping
 * is exempt, since it does not depend on the store. */
static bool check_store(ApiCall *call)
{
    State *state = call_store(call)->state;
    const RouteRow *row = call->row;
    bool is_read =
        strcmp(row->method, "GET") == 0 || (row->verb != NULL && strcmp(row->verb, "ping") == 0);
    Error err;
    state_check(state);
    Str since = call_stale_since(call);
    if (since.len > 0) {
        call_add_header(call, "Eden-Stale-Since", since);
    }
    if (!is_read && !state_accepts_writes(state, &err)) {
        call_fail(call, &err);
        return false;
    }
    return true;
}

static bool is_still_authorized(ApiCall *call);

static void run_read(QueuedRead *read)
{
    ApiCall *call = (ApiCall *)read;
    if (!call_resume(call, NULL)) {
        return;
    }
    if (is_still_authorized(call)) {
        call->row->handler(call);
    } else {
        call_refuse(call, 503, PERMISSIONS_CHANGED);
    }
}

/* Reads by remote callers wait for their turn. Changes do not: the audit log and the store limit
 * them. */
static void handle(ApiCall *call)
{
    if (call->is_local || route_is_public(call->row) || route_has(call->row, ROUTE_AUDITED) ||
        strcmp(call->row->method, "GET") != 0) {
        call->row->handler(call);
        return;
    }
    call->read.run = run_read;
    call->read.caller = caller_hash(&call->caller);
    read_queue_add(&call->api->reads, &call->read);
}

static void refuse_caller(ApiCall *call, int status, const char *why)
{
    if (status == 401) {
        http_request_add_header(call->request, "WWW-Authenticate", STR("Bearer"));
    }
    call_refuse(call, status, why);
}

/* If the caller's roles are limited by selectors, an action on one object can be authorized only
 * after reading the object. Endpoints of kinds do this themselves. */
static void on_object_read(void *context, const KindItem *item, const Error *err)
{
    ApiCall *call = context;
    /* Missing objects and objects out of the caller's scope get the same response. */
    bool is_absent = err != NULL && err->kind == ERROR_NOT_FOUND;
    if (!call_resume(call, is_absent ? NULL : err)) {
        return;
    }
    if (!is_absent && call_may_see(call, item)) {
        record_begin(call, handle);
    } else {
        call_refuse_hidden(call);
    }
}

/* Hash of the selectors that limit the decision. */
static uint64_t scope_hash(const AccessDecision *decision)
{
    uint64_t scope = 0;
    for (uint32_t i = 0; decision->verdict == ACCESS_SELECTED && i < decision->selector_count;
         i++) {
        Str text = selector_text(decision->selectors[i]);
        scope = scope * 31 + hash_str(text);
    }
    return scope;
}

static void check_object(ApiCall *call, const AccessDecision *decision)
{
    const Kind *kind = call->row->kind == NULL ? NULL : kind_find(str_from_c(call->row->kind));
    call->is_limited = decision->verdict == ACCESS_SELECTED;
    call->scope = scope_hash(decision);
    if (!call->is_limited || route_is_kind_route(call->row)) {
        record_begin(call, handle);
    } else if (kind == NULL || (kind->verbs & KIND_GET) == 0 || call->part.len == 0) {
        record_denied(call, decision->reason);
        refuse_caller(call, 403, decision->reason);
    } else {
        kind_get(kind, call_settings(call), &call->arena, call->part, on_object_read, call);
    }
}

static void serve_row(ApiCall *call, bool is_authenticated, const RouteMatch *match, int status,
                      const Error *refusal)
{
    AccessDecision decision;
    Error err;
    call->row = match->row;
    call->part = match->part;
    call->verb = object_watch_is_requested(call) ? "watch" : match->row->verb;
    /* A caller with an invalid credential may use public endpoints. */
    if (!is_authenticated) {
        call->refusal = arena_copy_c(&call->arena, str_from_c(refusal->text));
    }
    if (!is_authenticated && !route_is_public(match->row)) {
        refuse_caller(call, status, refusal->text);
    } else if (!caller_may(call_settings(call), &call->caller, match->row, call->verb, &decision,
                           &status, &err)) {
        record_denied(call, err.text);
        refuse_caller(call, status, err.text);
    } else if (!call_may_start(call)) {
        call_refuse_busy(call);
    } else if (check_request(call) && check_store(call)) {
        check_object(call, &decision);
    }
}

/* Does not read bodies of unauthenticated callers, nor large bodies of denied ones; on_request()
 * responds with the reason. A small body of a denied caller is read for the audit log, since it may
 * name the object. */
static bool reads_body(void *context, const HttpRequest *request, uint64_t *max)
{
    const Api *api = context;
    const Http1Head *head = http_request_head(request);
    AUTO_CLEAR(Arena) arena;
    RouteMatch match;
    ApiCaller caller;
    AccessDecision decision;
    Error err;
    int status;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!route_match(&arena, head->method, head->path, &match, &err) || match.row == NULL) {
        return false;
    }
    if (!route_is_public(match.row) &&
        (!caller_identify(&api->settings, request, &caller, &status, &err) ||
         !caller.has_credential ||
         (match.row->body_max > ROUTE_BODY_MAX &&
          !caller_may(&api->settings, &caller, match.row, match.row->verb, &decision, &status,
                      &err)))) {
        return false;
    }
    *max = match.row->body_max;
    return head->body != HTTP1_BODY_LENGTH ||
           (!is_too_long(match.row, head) &&
            route_accepts_type(match.row, http1_find(head, "Content-Type")));
}

static uint64_t body_caller(void *context, const HttpRequest *request)
{
    const Api *api = context;
    const Http1Head *head = http_request_head(request);
    AUTO_CLEAR(Arena) arena;
    RouteMatch match;
    ApiCaller caller;
    Error ignored;
    int status;
    arena_init(&arena, ARENA_UNLIMITED);
    bool is_known = route_match(&arena, head->method, head->path, &match, &ignored) &&
                    match.row != NULL && !route_is_public(match.row) &&
                    caller_identify(&api->settings, request, &caller, &status, &ignored);
    return is_known ? caller_hash(&caller) : HTTP_ANONYMOUS;
}

static void on_request(void *context, HttpRequest *request)
{
    Api *api = context;
    ApiCall *call = call_new(api, request);
    const Http1Head *head = http_request_head(request);
    RouteMatch match;
    const char *allow;
    Error err, refusal;
    int status, refused;
    if (call_load(call)->calls > api->settings.calls_max) {
        call_refuse_busy(call);
        return;
    }
    if (!gate_pass(&api->settings, request, &status, &allow, &err)) {
        if (allow != NULL) {
            http_request_add_header(request, "Allow", str_from_c(allow));
        }
        call_refuse(call, status, err.text);
        return;
    }
    if (pages_respond(call)) {
        return;
    }
    bool is_authenticated =
        caller_identify(&api->settings, request, &call->caller, &refused, &refusal);
    call->caller.has_credential = call->caller.has_credential && is_authenticated;
    if (!is_authenticated && call->caller.credential_label[0] != '\0' &&
        refusal.kind == ERROR_DENIED) {
        call_log_unauthenticated(call, refusal.text);
    }
    if (!route_match(&call->arena, head->method, head->path, &match, &err)) {
        call_fail(call, &err);
    } else if (match.row != NULL) {
        serve_row(call, is_authenticated, &match, refused, &refusal);
    } else if (is_authenticated) {
        refuse_method(call, &match);
    } else {
        refuse_caller(call, refused, refusal.text);
    }
}

static void on_closed(void *context, HttpRequest *request)
{
    ApiCall *call = http_request_data(request);
    if (call == NULL) {
        return;
    }
    call->request = NULL;
    if (call->stream.closed != NULL) {
        call->stream.closed(call->stream.context);
        record_stream_end(call, false);
        call_free(call);
    }
}

static bool is_still_authorized(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    AccessDecision decision;
    Error err;
    int status;
    return route_is_public(call->row) || settings->credentials == NULL ||
           (credentials_check(settings->credentials, &call->caller.principal,
                              loop_wall_ms(settings->cluster_store.loop), &err) &&
            caller_may(settings, &call->caller, call->row, call->verb, &decision, &status, &err) &&
            (decision.verdict == ACCESS_SELECTED) == call->is_limited &&
            scope_hash(&decision) == call->scope);
}

void api_recheck(Api *api)
{
    ApiCall *next;
    for (ApiCall *call = api->calls; call != NULL; call = next) {
        next = call->next;
        if (call->is_stream && call->request != NULL && call->stream.closed != NULL &&
            !is_still_authorized(call)) {
            call->stream.closed(call->stream.context);
            call_abort(call);
        }
    }
}

void api_certificates_changed(Api *api)
{
    api->external_changed = state_age(api->settings.cluster_store.state).revision;
    feed_check_external(api, &kind_certificate);
}

void api_serve(Api *api, HttpServerOptions *options)
{
    options->body_max = route_largest_body();
    options->reads_body = reads_body;
    options->body_caller = body_caller;
    options->write_error = problem_json_refuse;
    options->requested = on_request;
    options->disconnected = on_closed;
    options->fields = gate_fields;
    options->field_count = gate_field_count;
    options->context = api;
}

Api *api_new(const ApiSettings *settings)
{
    Api *api = memory_new(sizeof *api);
    api->settings = *settings;
    if (api->settings.calls_max == 0) {
        api->settings.calls_max = API_CALLS_MAX;
    }
    if (api->settings.streams_max == 0) {
        api->settings.streams_max = API_STREAMS_MAX;
    }
    read_queue_init(&api->reads, settings->cluster_store.loop);
    api->external_changed = state_age(settings->cluster_store.state).revision;
    api->cursor_key = cursor_key_new(&settings->cluster_store);
    api->retries = idempotency_retries_new(&settings->cluster_store);
    return api;
}

void api_free(Api *api)
{
    if (api == NULL) {
        return;
    }
    read_queue_stop(&api->reads);
    while (api->calls != NULL) {
        ApiCall *call = api->calls;
        if (call->is_joining || call->read.is_waiting) {
            call_free(call);
        } else {
            call_unlink(call);
        }
    }
    cursor_key_free(api->cursor_key);
    idempotency_retries_free(api->retries);
    buf_clear(&api->openapi);
    free(api->webhooks);
    free(api);
}
