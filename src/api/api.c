#include "api/api.h"

#include <stdlib.h>

#include "api/call.h"
#include "api/gate.h"
#include "api/json_out.h"
#include "api/pages.h"
#include "api/problem_json.h"
#include "base/ascii_case.h"
#include "base/bug.h"
#include "base/log.h"
#include "sys/clock.h"

/* Calls under way: those that are to be answered, and those whose answer comes in pieces. */
typedef struct ApiLoad {
    uint32_t calls, streams;
} ApiLoad;

struct Api {
    ApiSettings settings;
    ApiCall *calls;
    ApiLoad local, remote; /* apart, so that who comes to look what is the matter finds room */
};

/* --- Calls ----------------------------------------------------------------------------------- */

static ApiLoad *load_of(const ApiCall *call)
{
    return call->is_local ? &call->api->local : &call->api->remote;
}

static ApiCall *call_new(Api *api, HttpRequest *request)
{
    ApiCall *call = calloc(1, sizeof *call);
    if (call == NULL) {
        memory_exhausted(sizeof *call);
    }
    call->api = api;
    call->request = request;
    call->began_us = clock_monotonic_us();
    call->is_local = http_request_peer(request)->is_local;
    load_of(call)->calls++;
    call->next = api->calls;
    if (api->calls != NULL) {
        api->calls->previous = call;
    }
    api->calls = call;
    arena_init(&call->arena, ARENA_UNLIMITED);
    http_request_set_data(request, call);
    return call;
}

static void call_unlink(ApiCall *call)
{
    if (call->api == NULL) {
        return;
    }
    if (call->is_stream) {
        load_of(call)->streams--;
    } else {
        load_of(call)->calls--;
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

static void call_free(ApiCall *call)
{
    call_unlink(call);
    arena_clear(&call->arena);
    free(call);
}

const ApiSettings *call_settings(const ApiCall *call)
{
    return &call->api->settings;
}

const ClusterStore *call_store(const ApiCall *call)
{
    return &call->api->settings.at;
}

Str call_body(const ApiCall *call)
{
    return http_request_body(call->request);
}

Str call_parameter(const ApiCall *call, const char *name)
{
    return route_parameter(call->row, &call->query, name);
}

bool call_parameter_count(ApiCall *call, const char *name, uint32_t fallback, uint32_t max,
                          uint32_t *out)
{
    Str text = call_parameter(call, name);
    int64_t number = fallback;
    if (text.len > 0 && (!str_to_i64(text, &number) || number < 1 || number > max)) {
        Error err;
        error_set(&err, ERROR_INVALID, "'%s' is a number from 1 to %u", name, max);
        call_fail(call, &err);
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

/* An answer is about to go, or, with `in_pieces`, to begin. How long it took is for people who look
 * at it: nothing depends on it, so that it may be the clock's time and not the loop's. */
static void count_answer(const ApiCall *call, int status, bool in_pieces)
{
    const RouteRow *row = call->row;
    Metrics *metrics = call->api->settings.metrics;
    if (metrics != NULL) {
        metrics_note_request(metrics, row == NULL ? "any" : row->method,
                             row != NULL     ? row->pattern
                             : call->is_page ? "page"
                                             : "none",
                             status, in_pieces ? -1 : clock_monotonic_us() - call->began_us);
    }
}

/* The request first: answering it may start the next one of its connection. */
static void answer(ApiCall *call, int status, Str json)
{
    count_answer(call, status, false);
    HttpRequest *request = call->request;
    Buf body = buf_make(BUF_UNLIMITED);
    buf_put(&body, json);
    buf_put_char(&body, '\n');
    call->request = NULL;
    call_free(call);
    http_request_answer(request, status, status >= 400 ? PROBLEM_JSON_TYPE : "application/json",
                        buf_str(&body));
    buf_clear(&body);
}

void call_answer_as(ApiCall *call, int status, const char *content_type, Str body)
{
    count_answer(call, status, false);
    HttpRequest *request = call->request;
    Arena arena = call->arena; /* the body may be in there */
    arena_init(&call->arena, ARENA_UNLIMITED);
    call->request = NULL;
    call_free(call);
    http_request_answer(request, status, content_type, body);
    arena_clear(&arena);
}

/* Operators want to know later what was done. Keys as they are and pings may be many: those are for
 * who looks closely. */
static void log_change(const ApiCall *call)
{
    const RouteRow *row = call->row;
    if (row == NULL || route_is_public(row) || strcmp(row->method, "GET") == 0) {
        return;
    }
    Str pattern = str_from_c(row->pattern);
    bool is_quiet = str_starts(pattern, STR("/v1/store")) || str_starts(pattern, STR("/v1/keys")) ||
                    str_ends(pattern, STR("/ping"));
    LOG_AT(is_quiet ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, "an operator's request is done",
           LOG_C("method", row->method), LOG_C("route", row->pattern), LOG_STR("of", call->part),
           LOG_INT("uid", http_request_peer(call->request)->uid));
}

void call_answer(ApiCall *call, int status, const Buf *json)
{
    log_change(call);
    answer(call, status, buf_str(json));
}

void call_refuse(ApiCall *call, int status, const char *text)
{
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    problem_json_put(&json, status, str_from_c(text), NULL);
    answer(call, status, buf_str(&json));
}

static void refuse_full(ApiCall *call)
{
    http_request_add_header(call->request, "Retry-After", STR("1"));
    call_refuse(call, 429, "the server has as much under way as it takes; try again later");
}

void call_refuse_fields(ApiCall *call, const FieldProblems *problems)
{
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    Buf detail = buf_make_in(&call->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < problems->count; i++) {
        buf_put_format(&detail, "%s%" STR_FMT ": %" STR_FMT, i > 0 ? "; " : "",
                       STR_ARG(problems->items[i].pointer), STR_ARG(problems->items[i].text));
    }
    problem_json_put(&json, 400, buf_str(&detail), problems);
    answer(call, 400, buf_str(&json));
}

/* What went wrong inside is for operators: anybody else would learn of files and disks. */
void call_fail(ApiCall *call, const Error *err)
{
    int status = problem_status(err->kind);
    bool is_public = call->row != NULL && route_is_public(call->row);
    if (status >= 500 && is_public) {
        log_warning("a request failed", LOG_C("route", call->row->pattern),
                    LOG_C("error", err->text));
        call_refuse(call, status,
                    status == 503 ? "the server cannot do that at present; try again later"
                                  : "the server failed; its log says why");
    } else {
        call_refuse(call, status, err->text);
    }
}

bool call_goes_on(ApiCall *call, const Error *err)
{
    if (call->request == NULL || call->api == NULL) {
        call_free(call);
        return false;
    }
    if (err != NULL) {
        call_fail(call, err);
        return false;
    }
    return true;
}

bool call_begin(ApiCall *call, const char *content_type, const CallPieces *pieces)
{
    if (!http_request_takes_pieces(call->request)) {
        call_refuse(call, 505, "this address answers HTTP/1.1 only");
        return false;
    }
    ApiLoad *load = load_of(call);
    if (load->streams >= call->api->settings.streams_max) {
        refuse_full(call);
        return false;
    }
    load->calls--;
    load->streams++;
    call->is_stream = true;
    count_answer(call, 200, true);
    http_request_begin(call->request, 200, content_type, pieces->drained, pieces->context);
    if (str_eq_c(http_request_head(call->request)->method, "HEAD")) {
        call_end(call);
        return false;
    }
    call->pieces = *pieces;
    return true;
}

void call_piece(ApiCall *call, Str piece)
{
    http_request_piece(call->request, piece);
}

void call_end(ApiCall *call)
{
    HttpRequest *request = call->request;
    call_free(call);
    http_request_end(request);
}

void call_break(ApiCall *call)
{
    HttpRequest *request = call->request;
    call_free(call);
    http_request_break(request);
}

void call_done(void *context, const Error *err)
{
    ApiCall *call = context;
    if (!call_goes_on(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.done/1");
    json_out_close(&json, '}');
    call_answer(call, 200, &json);
}

/* --- Requests -------------------------------------------------------------------------------- */

/* The path exists, for those who may use it in another way. */
static void refuse_method(ApiCall *call, const RouteMatch *match, const Caller *caller)
{
    Buf allowed = buf_make_in(&call->arena, BUF_UNLIMITED);
    Error err;
    int status = 404;
    for (uint32_t i = 0; i < match->row_count; i++) {
        if (route_access(match->rows[i], caller, &status, &err)) {
            buf_put_format(&allowed, "%s%s", allowed.len > 0 ? ", " : "", match->rows[i]->method);
        }
    }
    if (allowed.len > 0) {
        http_request_add_header(call->request, "Allow", buf_str(&allowed));
        call_refuse(call, 405, "this address does not know that method");
    } else if (!route_access(NULL, caller, &status, &err)) {
        call_refuse(call, status, err.text);
    } else {
        call_refuse(call, 404, "there is no such address");
    }
}

static bool is_json(const Http1Head *head, bool is_patch)
{
    const Str *type = http1_find(head, "Content-Type");
    if (type == NULL) {
        return false;
    }
    size_t end = str_find(*type, STR(";"), 0);
    Str word = str_trim(str_slice(*type, 0, end));
    return str_eq_ignore_case(word, STR("application/json")) ||
           (is_patch && str_eq_ignore_case(word, STR("application/merge-patch+json")));
}

static void dispatch(ApiCall *call)
{
    const RouteRow *row = call->row;
    const Http1Head *head = http_request_head(call->request);
    Str body = call_body(call);
    Error err;
    if (!route_query(&call->arena, row, head->query, &call->query, &err)) {
        call_fail(call, &err);
    } else if (body.len > 0 && row->body_max == 0) {
        call_refuse(call, 400, "this address takes no body");
    } else if (body.len > row->body_max) {
        call_refuse(call, 413, "the body is larger than this address takes");
    } else if (body.len > 0 && !is_json(head, strcmp(row->method, "PATCH") == 0)) {
        call_refuse(call, 415, "the body must be JSON, and Content-Type say application/json");
    } else {
        row->handler(call);
    }
}

static void requested(void *context, HttpRequest *request)
{
    Api *api = context;
    ApiCall *call = call_new(api, request);
    const Http1Head *head = http_request_head(request);
    Caller caller = { 0 };
    RouteMatch match;
    const char *allow;
    Error err;
    int status;
    if (load_of(call)->calls > api->settings.calls_max) {
        refuse_full(call);
        return;
    }
    api->settings.describe(api->settings.context, http_request_peer(request), &caller);
    if (!gate_pass(&api->settings, request, &status, &allow, &err)) {
        if (allow != NULL) {
            http_request_add_header(request, "Allow", str_from_c(allow));
        }
        call_refuse(call, status, err.text);
    } else if (pages_answer(call)) {
        return;
    } else if (!route_match(&call->arena, head->method, head->path, &match, &err)) {
        call_fail(call, &err);
    } else if (match.row == NULL) {
        refuse_method(call, &match, &caller);
    } else if (!route_access(match.row, &caller, &status, &err)) {
        call_refuse(call, status, err.text);
    } else {
        call->row = match.row;
        call->part = match.part;
        dispatch(call);
    }
}

static void gone(void *context, HttpRequest *request)
{
    ApiCall *call = http_request_data(request);
    if (call == NULL) {
        return;
    }
    call->request = NULL;
    if (call->pieces.gone != NULL) {
        call->pieces.gone(call->pieces.context);
        call_free(call);
    }
}

void api_serve(Api *api, HttpServerOptions *options)
{
    options->requested = requested;
    options->gone = gone;
    options->fields = gate_fields;
    options->field_count = gate_field_count;
    options->context = api;
}

Api *api_new(const ApiSettings *settings)
{
    Api *api = calloc(1, sizeof *api);
    if (api == NULL) {
        memory_exhausted(sizeof *api);
    }
    api->settings = *settings;
    if (api->settings.calls_max == 0) {
        api->settings.calls_max = API_CALLS_MAX;
    }
    if (api->settings.streams_max == 0) {
        api->settings.streams_max = API_STREAMS_MAX;
    }
    return api;
}

void api_free(Api *api)
{
    if (api == NULL) {
        return;
    }
    while (api->calls != NULL) {
        ApiCall *call = api->calls;
        if (call->joins) {
            call_free(call);
        } else {
            call_unlink(call);
        }
    }
    free(api);
}
