#include "api/call.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/api_inner.h"
#include "api/problem_json.h"
#include "api/record.h"
#include "base/bug.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/utc.h"
#include "cluster/state.h"
#include "membership/pending_record.h"
#include "sys/clock.h"

ApiLoad *call_load(const ApiCall *call)
{
    return call->is_local ? &call->api->local : &call->api->remote;
}

ApiCall *call_new(Api *api, HttpRequest *request)
{
    ApiCall *call = memory_new(sizeof *call);
    call->api = api;
    call->request = request;
    call->started_us = clock_monotonic_us();
    call->is_local = http_request_peer(request)->is_local;
    call_load(call)->calls++;
    call->next = api->calls;
    if (api->calls != NULL) {
        api->calls->previous = call;
    }
    api->calls = call;
    arena_init(&call->arena, ARENA_UNLIMITED);
    http_request_set_data(request, call);
    return call;
}

static uint32_t *streams_of(const ApiCall *call)
{
    ApiLoad *load = call_load(call);
    return route_is_public(call->row) ? &load->public_streams : &load->streams;
}

void call_unlink(ApiCall *call)
{
    if (call->api == NULL) {
        return;
    }
    if (!call->read.is_waiting) {
        read_queue_end(&call->api->reads, &call->read);
    }
    if (call->is_stream) {
        (*streams_of(call))--;
    } else {
        call_load(call)->calls--;
    }
    if (call->previous != NULL) {
        call->previous->next = call->next;
    } else {
        call->api->calls = call->next;
    }
    if (call->next != NULL) {
        call->next->previous = call->previous;
    }
    call->api = NULL;
    call->next = call->previous = NULL;
}

void call_free(ApiCall *call)
{
    call_unlink(call);
    facts_selector_free(call->facts_selector);
    arena_clear(&call->arena);
    free(call);
}

const ApiSettings *call_settings(const ApiCall *call)
{
    return &call->api->settings;
}

const ClusterStore *call_store(const ApiCall *call)
{
    return &call->api->settings.cluster_store;
}

Str call_body(const ApiCall *call)
{
    return http_request_body(call->request);
}

bool call_has_body(const ApiCall *call)
{
    return call_body(call).len > 0 || http_request_is_unread(call->request);
}

bool call_has_parameter(const ApiCall *call, const char *name, Str *out)
{
    const Str *found = route_parameter(call->row, &call->query, name);
    *out = found == NULL ? STR_EMPTY : *found;
    return out->len > 0;
}

Str call_parameter(const ApiCall *call, const char *name)
{
    const Str *found = route_parameter(call->row, &call->query, name);
    BUG_IF(found == NULL);
    return *found;
}

bool call_parameter_count(ApiCall *call, const char *name, uint32_t fallback, uint32_t max,
                          uint32_t *out)
{
    Str text = call_parameter(call, name);
    int64_t number = fallback;
    if (text.len > 0 && (!str_to_i64(text, &number) || number < 1 || number > max)) {
        Error err;
        error_set(&err, ERROR_INVALID, "'%s' must be a number from 1 to %u", name, max);
        call_fail(call, &err);
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

bool call_parameter_selector(ApiCall *call, const Selector **out)
{
    Str text = call_parameter(call, "selector");
    Error err;
    *out = NULL;
    if (text.len > 0 && !object_selector_parse(&call->arena, text, out, &err)) {
        error_wrap(&err, "'selector'");
        call_fail(call, &err);
        return false;
    }
    return true;
}

Str call_id(ApiCall *call)
{
    if (call->id[0] == '\0') {
        snprintf(call->id, sizeof call->id, "%016llx",
                 (unsigned long long)loop_random(call_store(call)->loop));
    }
    return str_from_c(call->id);
}

Str call_stale_since(ApiCall *call)
{
    const State *state = call_store(call)->state;
    int64_t since_ms = state == NULL ? 0 : state_age(state).stale_since_ms;
    return since_ms == 0 ? STR_EMPTY : utc_text(&call->arena, since_ms);
}

void call_add_header(ApiCall *call, const char *name, Str value)
{
    if (call->request != NULL) {
        http_request_add_header(call->request, name, value);
    }
}

/* --- Responses ------------------------------------------------------------------------------- */

/* Counts a response that is complete or, with `is_stream`, about to start. The duration is
 * informational, so it uses the real clock rather than the loop's. */
static void count_response(const ApiCall *call, int status, bool is_stream)
{
    const RouteRow *row = call->row;
    Metrics *metrics = call->api->settings.metrics;
    if (metrics != NULL) {
        metrics_count_request(metrics, row == NULL ? "any" : row->method,
                              row == NULL ? "none" : row->pattern, status,
                              is_stream ? -1 : clock_monotonic_us() - call->started_us);
    }
}

/* Unlink first: responding may start the next request of the connection. */
void call_send(ApiCall *call)
{
    HttpRequest *request = call->request;
    int status = call->status;
    if (request == NULL || call->api == NULL) {
        call_free(call);
        return;
    }
    count_response(call, status, false);
    if (call->location.len > 0) {
        call_add_header(call, "Location", call->location);
    }
    if (call->etag.len > 0) {
        call_add_header(call, "ETag", call->etag);
    }
    Buf body = buf_make(BUF_UNLIMITED);
    buf_put(&body, call->response);
    buf_put_char(&body, '\n');
    call->request = NULL;
    call_free(call);
    http_request_respond(request, status, status >= 400 ? PROBLEM_JSON_TYPE : "application/json",
                         buf_str(&body));
    buf_clear(&body);
}

/* The response is in the arena. */
static void respond(ApiCall *call, int status, Str json)
{
    call->status = status;
    call->response = json;
    record_end(call, call_send);
}

void call_respond_as(ApiCall *call, int status, const char *content_type, Str body)
{
    count_response(call, status, false);
    HttpRequest *request = call->request;
    Arena arena = call->arena; /* the body may be in it */
    arena_init(&call->arena, ARENA_UNLIMITED);
    call->request = NULL;
    call_free(call);
    http_request_respond(request, status, content_type, body);
    arena_clear(&arena);
}

/* Logs every change. */
static void log_change(const ApiCall *call)
{
    const RouteRow *row = call->row;
    if (row == NULL || route_is_public(row) || strcmp(row->method, "GET") == 0) {
        return;
    }
    LOG_AT(route_has(row, ROUTE_QUIET) ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, "request completed",
           LOG_C("verb", row->verb), LOG_C("kind", row->kind), LOG_STR("name", call->part),
           LOG_C("who", call->caller.principal.who));
}

void call_log_unauthenticated(ApiCall *call, const char *why)
{
    const char *address = http_request_peer(call->request)->address;
    int64_t now_ms = loop_now_ms(call_settings(call)->cluster_store.loop), suppressed;
    if (refusal_log_allows(&call->api->unauthenticated, pending_origin(address), now_ms,
                           &suppressed)) {
        log_warning("authentication failed", LOG_C("address", address),
                    LOG_C("by", call->caller.credential_label), LOG_C("reason", why),
                    LOG_INT("suppressed", suppressed));
    }
}

void call_respond(ApiCall *call, int status, const Buf *json)
{
    log_change(call);
    respond(call, status, buf_str(json));
}

void call_refuse(ApiCall *call, int status, const char *text)
{
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    problem_json_put(&json, status, str_from_c(text), NULL);
    respond(call, status, buf_str(&json));
}

void call_refuse_busy(ApiCall *call)
{
    call_add_header(call, "Retry-After", STR("1"));
    call_refuse(call, 429, "too many concurrent requests; try again later");
}

void call_refuse_fields(ApiCall *call, const FieldProblems *problems)
{
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    Buf detail = buf_make_in(&call->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < problems->count; i++) {
        const FieldProblem *problem = &problems->items[i];
        buf_put_format(&detail, "%s%" STR_FMT, i > 0 ? "; " : "", STR_ARG(problem->pointer));
        if (problem->column > 0) {
            buf_put_format(&detail, ", column %u", problem->column);
        }
        buf_put_format(&detail, ": %" STR_FMT, STR_ARG(problem->text));
    }
    problem_json_put(&json, 400, buf_str(&detail), problems);
    respond(call, 400, buf_str(&json));
}

void call_refuse_field(ApiCall *call, Str pointer, const char *text)
{
    FieldProblems problems = { .count = 0 };
    field_problem(&call->arena, &problems, pointer, "%s", text);
    call_refuse_fields(call, &problems);
}

/* Details of internal errors go to the log only: they may reveal files and disks. */
void call_fail(ApiCall *call, const Error *err)
{
    int status = problem_status(err->kind);
    bool is_public = call->row != NULL && route_is_public(call->row);
    if (status >= 500 && is_public) {
        log_warning("request failed", LOG_C("route", call->row->pattern),
                    LOG_C("error", err->text));
        call_refuse(call, status,
                    status == 503 ? "the server is temporarily unavailable; try again later"
                                  : "internal server error; see the server's log");
    } else {
        call_refuse(call, status, err->text);
    }
}

void call_fail_field(ApiCall *call, Str pointer, const Error *err)
{
    Error wrapped = *err;
    if (err->kind == ERROR_INVALID) {
        call_refuse_field(call, pointer, err->text);
    } else {
        error_wrap(&wrapped, "%" STR_FMT, STR_ARG(pointer));
        call_fail(call, &wrapped);
    }
}

/* 413 instead of 429: a retry would not help. */
void call_fail_body(ApiCall *call, const Error *err)
{
    if (err->kind == ERROR_LIMIT) {
        call_refuse(call, 413, err->text);
    } else {
        call_fail(call, err);
    }
}

bool call_resume(ApiCall *call, const Error *err)
{
    bool is_active = call->request != NULL || call->entry != NULL || call->is_claimed;
    if (!is_active || call->api == NULL) {
        call_free(call);
        return false;
    }
    if (err != NULL) {
        call_fail(call, err);
        return false;
    }
    return true;
}

/* Roles may have changed since the call was authorized. */
bool call_may_access(const ApiCall *call, Str name, Value labels)
{
    AccessDecision decision;
    if (!call->is_limited) {
        return true;
    }
    credentials_decide(call_settings(call)->credentials, &call->caller.principal,
                       str_from_c(call->verb), str_from_c(call->row->kind), &decision);
    return access_decision_allows(&decision, name, labels.kind == VALUE_MAP ? labels.map : NULL);
}

/* The labels of a removed node are not known, so selectors cannot say whether they allow it. */
static bool may_access_nodes(const ApiCall *call, const KindItem *item)
{
    for (uint32_t i = 0; i < item->node_count; i++) {
        const RosterNode *node = roster_find(call_store(call)->roster, item->nodes[i]);
        if (node == NULL || !call_may_access(call, item->nodes[i], node->record.labels)) {
            return false;
        }
    }
    return true;
}

bool call_may_see(const ApiCall *call, const KindItem *item)
{
    if (call->is_limited && item->node_count > 0) {
        return may_access_nodes(call, item);
    }
    return (!call->is_limited || kind_item_shows_labels(item)) &&
           call_may_access(call, item->name, item->labels);
}

void call_refuse_hidden(ApiCall *call)
{
    call_refuse(call, 404, "not found, or not allowed by your roles");
}

/* Number of requests or streams in progress with the caller's credential. */
static uint32_t count_by_caller(const ApiCall *call, bool is_stream)
{
    const Principal *principal = &call->caller.principal;
    uint32_t count = 0;
    for (const ApiCall *other = call->api->calls; other != NULL; other = other->next) {
        const Principal *other_principal = &other->caller.principal;
        count += other->is_stream == is_stream && other->row != NULL &&
                 !route_is_public(other->row) &&
                 other_principal->credential_created_ms == principal->credential_created_ms &&
                 strcmp(other_principal->credential, principal->credential) == 0;
    }
    return count;
}

/* Requests can take long: a ping waits for a node, and verification reads the entire audit log. */
bool call_may_start(const ApiCall *call)
{
    uint32_t max = call->api->settings.calls_max;
    return call->is_local || route_is_public(call->row) || call_load(call)->calls <= max / 2 ||
           count_by_caller(call, false) <= max / 4;
}

/* No caller may take all slots. Callers on the Unix socket are exempt: they are trusted. */
static bool caller_may_stream(ApiCall *call)
{
    if (call->is_local || route_is_public(call->row)) {
        return true;
    }
    uint32_t open = count_by_caller(call, true);
    if (open < API_CALLER_STREAMS_MAX) {
        return true;
    }
    Str text = arena_format(&call->arena,
                            "this token or certificate and its sessions have %u watches or other "
                            "streams open; at most %d are allowed, close some first",
                            open, API_CALLER_STREAMS_MAX);
    http_request_drop_headers(call->request);
    call_refuse(call, 429, text.data);
    return false;
}

bool call_begin(ApiCall *call, const char *content_type, const CallStream *stream)
{
    /* A recorded call continues after its peer has disconnected; nothing to send then. */
    if (call->request == NULL) {
        record_stream_end(call, false);
        call_free(call);
        return false;
    }
    if (!http_request_supports_pieces(call->request)) {
        call_refuse(call, 505, "this endpoint requires HTTP/1.1 or HTTP/2");
        return false;
    }
    uint32_t *streams = streams_of(call);
    uint32_t max =
        route_is_public(call->row) ? API_PUBLIC_STREAMS_MAX : call->api->settings.streams_max;
    if (*streams >= max) {
        /* the handler may have set a content encoding or caching */
        http_request_drop_headers(call->request);
        call_refuse_busy(call);
        return false;
    }
    if (!caller_may_stream(call)) {
        return false;
    }
    call_load(call)->calls--;
    (*streams)++;
    call->is_stream = true;
    read_queue_end(&call->api->reads, &call->read);
    count_response(call, 200, true);
    http_request_begin(call->request, 200, content_type, stream->drained, stream->context);
    if (str_eq_c(http_request_head(call->request)->method, "HEAD")) {
        call_end(call);
        return false;
    }
    call->stream = *stream;
    return true;
}

void call_send_chunk(ApiCall *call, Str chunk)
{
    http_request_send_piece(call->request, chunk);
}

void call_end(ApiCall *call)
{
    HttpRequest *request = call->request;
    record_stream_end(call, true);
    call_free(call);
    http_request_end(request);
}

void call_abort(ApiCall *call)
{
    HttpRequest *request = call->request;
    record_stream_end(call, false);
    call_free(call);
    http_request_abort(request);
}

void call_done(void *context, const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.done/1");
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}
