#include "api/record.h"

#include "api/api_inner.h"
#include "api/bodies.h"
#include "api/problem_json.h"
#include "audit/audit.h"
#include "base/log.h"

/* --- Entries --------------------------------------------------------------------------------- */

static bool is_recorded(const ApiCall *call)
{
    return call_settings(call)->audit != NULL && call->caller.has_credential &&
           route_has(call->row, ROUTE_AUDITED);
}

/* The object of the request: the variable segment, a key of the store, or what the body names. */
static Str name_of(ApiCall *call)
{
    static const char *const parameters[] = { "key", "prefix" };
    for (size_t i = 0; call->part.len == 0 && i < COUNT_OF(parameters); i++) {
        Str name;
        if (call_has_parameter(call, parameters[i], &name)) {
            return name;
        }
    }
    return call->part.len > 0 ? call->part : body_subject(&call->arena, call_body(call));
}

static AuditEntry *entry_new(ApiCall *call)
{
    AuditEntry *entry = ARENA_NEW(&call->arena, AuditEntry);
    const Str *reason = http1_find(http_request_head(call->request), "Eden-Reason");
    const Peer *peer = http_request_peer(call->request);
    *entry = (AuditEntry){
        .who = str_from_c(call->caller.principal.who),
        .principal_kind = call->caller.principal.kind,
        .address = arena_copy(&call->arena, str_from_c(peer->address)),
        .verb = str_from_c(call->verb),
        .kind = str_from_c(call->row->kind),
        .name = name_of(call),
        .reason = reason == NULL ? STR_EMPTY : arena_copy(&call->arena, *reason),
        .request = call_id(call),
    };
    return entry;
}

static void append(ApiCall *call, AuditOutcome outcome, Str detail, AuditDone *done)
{
    call->entry->outcome = outcome;
    call->entry->detail = detail;
    audit_append(call_settings(call)->audit, call->entry, done, call);
}

void record_denied(ApiCall *call, const char *why)
{
    Audit *audit = call_settings(call)->audit;
    if (audit == NULL || !call->caller.has_credential) {
        return;
    }
    bool is_read = strcmp(call->row->method, "GET") == 0;
    AuditAllowance allowance = audit_allowance(audit, str_from_c(call->caller.principal.credential),
                                               is_read ? AUDIT_LIMIT_READ : AUDIT_LIMIT_CHANGE);
    if (allowance == AUDIT_ALLOWANCE_NONE) {
        return;
    }
    Str detail = str_from_c(why);
    if (allowance == AUDIT_ALLOWANCE_LAST && !is_read) {
        detail = audit_last_detail(&call->arena, detail);
    }
    call->entry = entry_new(call);
    append(call, AUDIT_DENIED, detail, NULL);
    call->entry = NULL;
}

/* --- Before ---------------------------------------------------------------------------------- */

static void release_claim(ApiCall *call)
{
    if (call->is_claimed && call->api != NULL) {
        call->is_claimed = false;
        idempotency_retries_add(call->api->retries, &call->idempotent, NULL, false);
    }
}

static void on_request_recorded(void *context, uint64_t sequence, const Error *err)
{
    ApiCall *call = context;
    bool has_disconnected = call->request == NULL;
    if (err == NULL && has_disconnected && call->api != NULL) {
        append(call, AUDIT_FAILED, STR("the client disconnected before the request was started"),
               NULL);
    }
    if (err != NULL || has_disconnected) {
        call->entry = NULL;
        release_claim(call);
    }
    if (call_resume(call, err)) {
        call->next_step(call);
    }
}

/* On a full disk, entries use reserved space, which remote callers must not exhaust. Returns NULL
 * if another entry may be recorded, otherwise the reason why not. */
static const char *refuse_entry(const ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    bool is_disk = store_status(settings->cluster_store.store).condition == STORE_FULL;
    if (call->is_local || (!is_disk && !audit_is_full(settings->audit)) ||
        audit_allowance(settings->audit, str_from_c(call->caller.principal.credential),
                        AUDIT_LIMIT_FULL) != AUDIT_ALLOWANCE_NONE) {
        return NULL;
    }
    return is_disk ? "the server's disk is full: until space is freed, each caller may make only a "
                     "few changes per minute; try again later, or on the server"
                   : "the audit log is full: until old entries are archived with 'eden audit "
                     "archive', each caller may make only a few changes per minute; try again "
                     "later, or on the server";
}

static void begin_audit(ApiCall *call)
{
    const char *reason = is_recorded(call) ? refuse_entry(call) : NULL;
    if (reason != NULL) {
        release_claim(call);
        call_add_header(call, "Retry-After", STR("60"));
        call_refuse(call, 429, reason);
    } else if (is_recorded(call)) {
        call->entry = entry_new(call);
        append(call, AUDIT_REQUESTED, STR_EMPTY, on_request_recorded);
    } else {
        call->next_step(call);
    }
}

static void on_claimed(void *context, IdempotencyState state, const IdempotentResponse *saved,
                       const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    if (state == IDEMPOTENCY_NEW) {
        call->is_claimed = true;
        begin_audit(call);
    } else if (state == IDEMPOTENCY_REPLAY) {
        call_add_header(call, "Idempotent-Replayed", STR("true"));
        call->status = saved->status;
        call->response = arena_copy(&call->arena, saved->body);
        call->etag = arena_copy(&call->arena, saved->etag);
        call->location = arena_copy(&call->arena, saved->location);
        call_send(call);
    } else {
        call_refuse(call, state == IDEMPOTENCY_OTHER ? 422 : 409, idempotency_state_text(state));
    }
}

void record_begin(ApiCall *call, CallStep *next)
{
    const Http1Head *head = http_request_head(call->request);
    const Str *key = http1_find(head, "Idempotency-Key");
    Error err;
    call->next_step = next;
    if (key == NULL || !call->caller.has_credential || !route_has(call->row, ROUTE_IDEMPOTENT)) {
        begin_audit(call);
        return;
    }
    Str target = arena_format(&call->arena, "%" STR_FMT "?%" STR_FMT, STR_ARG(head->path),
                              STR_ARG(head->query));
    if (!idempotent_request_make(str_from_c(call->caller.principal.credential), *key, head->method,
                                 target, call_body(call), &call->idempotent, &err)) {
        call_fail(call, &err);
        return;
    }
    idempotency_claim(call_store(call), &call->idempotent, on_claimed, call);
}

void record_name(ApiCall *call, Str name)
{
    if (call->entry != NULL && name.len > 0) {
        call->entry->name = arena_copy(&call->arena, name);
    }
}

/* --- After ----------------------------------------------------------------------------------- */

/* The change may have happened. */
static bool is_unknown(const ApiCall *call)
{
    return call->status == problem_status(ERROR_UNKNOWN);
}

static void on_response_saved(void *context, const Error *err)
{
    ApiCall *call = context;
    if (err != NULL && call->api != NULL) {
        IdempotentResponse saved = { call->status, call->response, call->etag, call->location };
        idempotency_retries_add(call->api->retries, &call->idempotent, &saved, call->holds_secret);
    }
    call->next_step(call);
}

/* Failures and overload are not stored: a retry may succeed. If the change may have happened, the
 * response is stored, so that a retry does not repeat it. */
static void save_response(ApiCall *call)
{
    if (call->is_claimed && !is_unknown(call) && (call->status >= 500 || call->status == 429)) {
        release_claim(call);
    }
    if (!call->is_claimed || call->api == NULL) {
        call->next_step(call);
        return;
    }
    call->is_claimed = false;
    IdempotentResponse saved = { call->status, call->response, call->etag, call->location };
    idempotency_finish(call_store(call), &call->idempotent, &saved, call->holds_secret,
                       on_response_saved, call);
}

static void on_result_recorded(void *context, uint64_t sequence, const Error *err)
{
    ApiCall *call = context;
    if (err != NULL) {
        log_error("cannot record the result of a request", LOG_C("error", err->text));
    }
    call->entry = NULL;
    save_response(call);
}

void record_end(ApiCall *call, CallStep *next)
{
    call->next_step = next;
    if (call->entry == NULL || call->api == NULL) {
        save_response(call);
    } else if (call->status < 400) {
        append(call, AUDIT_DONE, STR_EMPTY, on_result_recorded);
    } else {
        append(call, is_unknown(call) ? AUDIT_UNKNOWN : AUDIT_FAILED,
               arena_format(&call->arena, "status %d", call->status), on_result_recorded);
    }
}

void record_stream_end(ApiCall *call, bool is_complete)
{
    if (call->entry != NULL && call->api != NULL) {
        append(call, is_complete ? AUDIT_DONE : AUDIT_FAILED,
               is_complete ? STR_EMPTY : STR("the response was aborted"), NULL);
        call->entry = NULL;
    }
}
