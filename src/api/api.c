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

/* --- Requests -------------------------------------------------------------------------------- */

static void refuse_address(ApiCall *call)
{
    Str near = route_near(&call->arena, http_request_head(call->request)->path);
    Str text =
        near.len == 0
            ? STR("there is no such address; /v1/openapi.json has all of them")
            : arena_format(&call->arena, "there is no such address; did you mean '%" STR_FMT "'?",
                           STR_ARG(near));
    call_refuse(call, 404, text.data);
}

/* The path exists, for those who may use it in another way. */
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
        Str text = arena_format(&call->arena, "this address has %" STR_FMT ", and nothing else",
                                STR_ARG(buf_str(&allowed)));
        call_refuse(call, 405, text.data);
    } else if (!caller_may(call_settings(call), &call->caller, NULL, NULL, &decision, &status,
                           &err)) {
        call_refuse(call, status, err.text);
    } else {
        refuse_address(call);
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

static bool check_request(ApiCall *call)
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
        return true;
    }
    return false;
}

static void handle(ApiCall *call)
{
    call->row->handler(call);
}

static void refuse_caller(ApiCall *call, int status, const char *why)
{
    if (status == 401) {
        http_request_add_header(call->request, "WWW-Authenticate", STR("Bearer"));
    }
    call_refuse(call, status, why);
}

/* Roles that hold for some objects only, and an address that does something to one: whether it is one
 * of them is known when it is read. Addresses of kinds look themselves. */
static void looked_up(void *context, const KindItem *item, const Error *err)
{
    ApiCall *call = context;
    /* What is not there and what is not theirs are told alike. */
    bool is_absent = err != NULL && err->kind == ERROR_NOT_FOUND;
    if (!call_goes_on(call, is_absent ? NULL : err)) {
        return;
    }
    if (!is_absent && call_may_see(call, item)) {
        record_begin(call, handle);
    } else {
        call_refuse_touch(call);
    }
}

/* Which selectors it holds for, as a number. */
static uint64_t scope_of(const AccessDecision *decision)
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
    call->scope = scope_of(decision);
    if (!call->is_limited || route_is_of_kinds(call->row)) {
        record_begin(call, handle);
    } else if (kind == NULL || kind->get == NULL || call->part.len == 0) {
        record_denied(call, decision->reason);
        refuse_caller(call, 403, decision->reason);
    } else {
        kind->get(kind, call_settings(call), &call->arena, call->part, looked_up, call);
    }
}

static void serve_row(ApiCall *call, bool is_good, const RouteMatch *match, int status,
                      const Error *refusal)
{
    AccessDecision decision;
    Error err;
    call->row = match->row;
    call->part = match->part;
    call->verb = object_watch_is_wanted(call) ? "watch" : match->row->verb;
    /* Who shows what is no longer good may do what anybody may. */
    if (!is_good) {
        call->refusal = arena_copy_c(&call->arena, str_from_c(refusal->text));
    }
    if (!is_good && !route_is_public(match->row)) {
        refuse_caller(call, status, refusal->text);
    } else if (!caller_may(call_settings(call), &call->caller, match->row, call->verb, &decision,
                           &status, &err)) {
        record_denied(call, err.text);
        refuse_caller(call, status, err.text);
    } else if (check_request(call)) {
        check_object(call, &decision);
    }
}

static void requested(void *context, HttpRequest *request)
{
    Api *api = context;
    ApiCall *call = call_new(api, request);
    const Http1Head *head = http_request_head(request);
    RouteMatch match;
    const char *allow;
    Error err, refusal;
    int status, refused;
    if (call_load(call)->calls > api->settings.calls_max) {
        call_refuse_full(call);
        return;
    }
    if (!gate_pass(&api->settings, request, &status, &allow, &err)) {
        if (allow != NULL) {
            http_request_add_header(request, "Allow", str_from_c(allow));
        }
        call_refuse(call, status, err.text);
        return;
    }
    if (pages_answer(call)) {
        return;
    }
    bool is_good = caller_identify(&api->settings, request, &call->caller, &refused, &refusal);
    call->caller.is_known = call->caller.is_known && is_good;
    if (!route_match(&call->arena, head->method, head->path, &match, &err)) {
        call_fail(call, &err);
    } else if (match.row != NULL) {
        serve_row(call, is_good, &match, refused, &refusal);
    } else if (is_good) {
        refuse_method(call, &match);
    } else {
        refuse_caller(call, refused, refusal.text);
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
        record_stream_end(call, false);
        call_free(call);
    }
}

static bool is_still_good(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    AccessDecision decision;
    Error err;
    int status;
    return route_is_public(call->row) || settings->credentials == NULL ||
           (credentials_check(settings->credentials, &call->caller.principal,
                              loop_wall_ms(settings->at.loop), &err) &&
            caller_may(settings, &call->caller, call->row, call->verb, &decision, &status, &err) &&
            (decision.verdict == ACCESS_SELECTED) == call->is_limited &&
            scope_of(&decision) == call->scope);
}

void api_recheck(Api *api)
{
    ApiCall *next;
    for (ApiCall *call = api->calls; call != NULL; call = next) {
        next = call->next;
        if (call->is_stream && call->request != NULL && call->pieces.gone != NULL &&
            !is_still_good(call)) {
            call->pieces.gone(call->pieces.context);
            call_break(call);
        }
    }
}

void api_certificates_changed(Api *api)
{
    api->unstored_changed = store_status(api->settings.at.store).revision;
    feed_look_again(api, &kind_certificate);
}

void api_serve(Api *api, HttpServerOptions *options)
{
    options->refuse = problem_json_refuse;
    options->requested = requested;
    options->gone = gone;
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
    api->unstored_changed = store_status(settings->at.store).revision;
    api->cursor_key = cursor_key_new(&settings->at);
    api->debts = idempotency_debts_new(&settings->at);
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
    cursor_key_free(api->cursor_key);
    idempotency_debts_free(api->debts);
    free(api);
}
