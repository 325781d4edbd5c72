/* /v1/session: the caller's identity, and browser sessions. */
#include <openssl/crypto.h>

#include "access/browser_sessions.h"
#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/json_out.h"

static void put_roles(Buf *json, const char *roles)
{
    Str rest = str_from_c(roles), role;
    json_out_open(json, "roles", '[');
    while (role_names_next(&rest, &role)) {
        json_out_item(json, role);
    }
    json_out_close(json, ']');
}

static void put_principal(Buf *json, const ApiSettings *settings, const Principal *principal)
{
    json_out_start(json, "eden.session/1");
    json_out_text(json, "cluster", settings->cluster);
    json_out_text(json, "version", STR(EDEN_VERSION));
    json_out_text(json, "name", str_from_c(principal->name));
    json_out_text(json, "by", str_from_c(principal_kind_name(principal->kind)));
    put_roles(json, principal->roles);
    if (principal->expires_ms == 0) {
        json_out_null(json, "expires");
    } else {
        json_out_time(json, "expires", principal->expires_ms);
    }
}

static void put_csrf(Buf *json, const BrowserSecret *secret)
{
    char csrf[BROWSER_CSRF_TEXT + 1];
    browser_secret_csrf(secret, csrf);
    json_out_text(json, "csrf", str_from_c(csrf));
}

void session_get(ApiCall *call)
{
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    if (!call->caller.has_credential) {
        call_refuse(call, 401, call->refusal != NULL ? call->refusal : "not logged in");
        return;
    }
    put_principal(&json, call_settings(call), &call->caller.principal);
    if (call->caller.principal.kind == PRINCIPAL_SESSION) {
        put_csrf(&json, &call->caller.secret);
    }
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

/* Records a login or logout, without waiting for it. */
static void record_session(ApiCall *call, const char *verb)
{
    Audit *audit = call_settings(call)->audit;
    const Principal *principal = &call->caller.principal;
    if (audit == NULL || call->request == NULL) {
        return;
    }
    AuditAllowance allowance =
        audit_allowance(audit, str_from_c(principal->credential), AUDIT_LIMIT_SESSION);
    if (allowance == AUDIT_ALLOWANCE_NONE) {
        return;
    }
    audit_append(audit,
                 &(AuditEntry){ .who = str_from_c(principal->who),
                                .principal_kind = principal->kind,
                                .address = str_from_c(http_request_peer(call->request)->address),
                                .verb = str_from_c(verb),
                                .kind = STR("Session"),
                                .request = call_id(call),
                                .outcome = AUDIT_DONE,
                                .detail = allowance == AUDIT_ALLOWANCE_LAST
                                              ? audit_last_detail(&call->arena, STR_EMPTY)
                                              : STR_EMPTY },
                 NULL, NULL);
}

static void on_created(void *context, const BrowserSecret *secret, const BrowserRecord *record,
                       const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    AUTO_CLEAR(Buf) cookie = buf_make(BUF_UNLIMITED);
    Principal principal = call->caller.principal;
    record_session(call, "login");
    principal.kind = PRINCIPAL_SESSION;
    principal.expires_ms = record->expires_ms;
    browser_cookie_set(secret, &cookie);
    call_add_header(call, "Set-Cookie", buf_str(&cookie));
    OPENSSL_cleanse(cookie.data, cookie.len);
    put_principal(&json, call_settings(call), &principal);
    put_csrf(&json, secret);
    json_out_close(&json, '}');
    call_respond(call, 201, &json);
}

void session_post(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    Str token;
    Error err;
    if (settings->credentials == NULL) {
        call_refuse(call, 503, "login is not available on this server");
    } else if (!session_body_read(&call->arena, call_body(call), &token, &err)) {
        call_fail_body(call, &err);
    } else if (!caller_log_in(settings, token, &call->caller, &err)) {
        if (err.kind == ERROR_DENIED) {
            call_log_unauthenticated(call, err.text);
        }
        call_refuse(call, err.kind == ERROR_UNAVAILABLE ? 503 : 401, err.text);
    } else {
        browser_sessions_create(&settings->cluster_store, &call->caller.principal, on_created,
                                call);
    }
}

void session_delete(ApiCall *call)
{
    const ApiCaller *caller = &call->caller;
    if (!caller->has_credential || caller->principal.kind != PRINCIPAL_SESSION) {
        call_refuse(call, 401, call->refusal != NULL ? call->refusal : "no session to end");
        return;
    }
    record_session(call, "logout");
    call_add_header(call, "Set-Cookie", str_from_c(browser_cookie_expired));
    browser_sessions_delete(call_store(call), &caller->principal, call_done, call);
}
