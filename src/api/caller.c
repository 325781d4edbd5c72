#include "api/caller.h"

#include <stdio.h>

#include "base/ascii_case.h"
#include "base/hash.h"

#define CSRF_FIELD "Eden-CSRF"

/* --- Authentication -------------------------------------------------------------------------- */

/* The kernel reports only the user id. */
static bool identify_local(const ApiSettings *settings, const Peer *peer, ApiCaller *out,
                           int *status, Error *err)
{
    Caller caller = { 0 };
    settings->describe(settings->context, peer, &caller);
    if (!caller.is_operator) {
        *status = 403;
        return error_set(err, ERROR_DENIED,
                         "only root and members of the group 'eden' may do that");
    }
    principal_local(peer->uid == 0 ? STR("root") : STR_EMPTY, peer->uid, &out->principal);
    out->has_credential = true;
    return true;
}

/* Sets the label for the audit log to the public id of the token, unless it is malformed. */
static void set_token_label(Str text, ApiCaller *out)
{
    AUTO_CLEAR(Token) token = { 0 };
    Error err;
    bool is_parsed = token_parse(TOKEN_API, text, &token, &err);
    snprintf(out->credential_label, sizeof out->credential_label, "token%s%s", is_parsed ? " " : "",
             is_parsed ? token.id : "");
}

static bool identify_token(const ApiSettings *settings, Str field, int64_t now_ms, ApiCaller *out,
                           int *status, Error *err)
{
    static const Str scheme = { "Bearer ", 7 };
    snprintf(out->credential_label, sizeof out->credential_label, "token");
    if (field.len <= scheme.len || !str_eq_ignore_case(str_slice(field, 0, scheme.len), scheme)) {
        return error_set(err, ERROR_DENIED, "'Authorization' must be 'Bearer' followed by a token");
    }
    out->has_credential = true;
    set_token_label(str_from_offset(field, scheme.len), out);
    return credentials_by_token(settings->credentials, str_from_offset(field, scheme.len), now_ms,
                                &out->principal, err);
}

/* TLS has verified the certificate. Node certificates are accepted only on the node port. */
static bool identify_certificate(const ApiSettings *settings, const TlsPeer *peer, int64_t now_ms,
                                 ApiCaller *out, int *status, Error *err)
{
    snprintf(out->credential_label, sizeof out->credential_label, "certificate %s", peer->serial);
    if (!peer->has_user) {
        *status = 403;
        return error_set(err, ERROR_DENIED, "node certificates are not accepted here");
    }
    PresentedUser presented = { .has_user = true,
                                .user = peer->user,
                                .serial = str_from_c(peer->serial),
                                .not_before_ms = peer->not_before_s * 1000,
                                .not_after_ms = peer->not_after_s * 1000 };
    out->has_credential = true;
    return credentials_by_certificate(settings->credentials, &presented, now_ms, &out->principal,
                                      err);
}

/* A browser sends the cookie even with requests from other sites' pages; only pages from this
 * server know the CSRF token. */
static bool check_csrf(const ApiCaller *caller, const Http1Head *head, int *status, Error *err)
{
    const Str *sent = http1_find(head, CSRF_FIELD);
    char csrf[BROWSER_CSRF_TEXT + 1];
    browser_secret_csrf(&caller->secret, csrf);
    if (sent != NULL && browser_csrf_equal(*sent, csrf)) {
        return true;
    }
    *status = 403;
    return error_set(err, ERROR_DENIED,
                     "a change made with a session requires the header " CSRF_FIELD
                     " with the value from GET /v1/session");
}

static bool identify_session(const ApiSettings *settings, const Http1Head *head, Str cookies,
                             int64_t now_ms, ApiCaller *out, int *status, Error *err)
{
    bool is_parsed = browser_secret_from_cookies(cookies, &out->secret, err);
    if (!is_parsed && err->kind == ERROR_NOT_FOUND) {
        return true;
    }
    snprintf(out->credential_label, sizeof out->credential_label, "session");
    if (!is_parsed) {
        return error_set(err, ERROR_DENIED, "invalid session cookie");
    }
    out->has_credential = true;
    return credentials_by_session(settings->credentials, &out->secret, now_ms, &out->principal,
                                  err) &&
           (http1_is_safe(head) || check_csrf(out, head, status, err));
}

bool caller_identify(const ApiSettings *settings, const HttpRequest *request, ApiCaller *out,
                     int *status, Error *err)
{
    const Peer *peer = http_request_peer(request);
    const Http1Head *head = http_request_head(request);
    const Str *token = http1_find(head, "Authorization"), *cookies = http1_find(head, "Cookie");
    int64_t now_ms = loop_wall_ms(settings->cluster_store.loop);
    bool is_valid = true;
    *out = (ApiCaller){ .has_credential = false };
    *status = 401;
    if (peer->is_local) {
        return identify_local(settings, peer, out, status, err);
    }
    if (settings->credentials == NULL) {
        return true;
    }
    if (token != NULL) {
        is_valid = identify_token(settings, *token, now_ms, out, status, err);
    } else if (peer->tls.has_certificate) {
        is_valid = identify_certificate(settings, &peer->tls, now_ms, out, status, err);
    } else if (cookies != NULL) {
        is_valid = identify_session(settings, head, *cookies, now_ms, out, status, err);
    }
    if (!is_valid && err->kind == ERROR_UNAVAILABLE) {
        *status = 503;
    }
    return is_valid;
}

bool caller_log_in(const ApiSettings *settings, Str token, ApiCaller *out, Error *err)
{
    set_token_label(token, out);
    return credentials_by_token(settings->credentials, token,
                                loop_wall_ms(settings->cluster_store.loop), &out->principal, err);
}

/* --- Authorization --------------------------------------------------------------------------- */

bool caller_may(const ApiSettings *settings, const ApiCaller *caller, const RouteRow *row,
                const char *verb, AccessDecision *decision, int *status, Error *err)
{
    *decision = (AccessDecision){ .verdict = ACCESS_ALLOWED };
    if (row != NULL && route_is_public(row)) {
        return true;
    }
    if (!caller->has_credential) {
        *status = 401;
        return error_set(err, ERROR_DENIED,
                         "authentication required; log in with 'eden login', or send a token");
    }
    if (row == NULL || settings->credentials == NULL) {
        return true;
    }
    *status = 403;
    credentials_decide(settings->credentials, &caller->principal, str_from_c(verb),
                       str_from_c(row->kind), decision);
    return decision->verdict != ACCESS_DENIED ||
           error_set(err, ERROR_DENIED, "%s", decision->reason);
}

uint64_t caller_hash(const ApiCaller *caller)
{
    const Principal *principal = &caller->principal;
    return hash_str(str_from_c(principal->credential)) ^
           hash_u64((uint64_t)principal->credential_created_ms);
}
