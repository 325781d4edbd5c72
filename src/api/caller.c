#include "api/caller.h"

#include <stdio.h>

#include "access/access_token.h"
#include "base/ascii_case.h"

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
    out->is_known = true;
    return true;
}

/* Notes the public id of a token for the audit log, unless it is malformed. */
static void note_token(Str text, ApiCaller *out)
{
    AUTO_CLEAR(AccessToken) token = { 0 };
    Error err;
    bool is_read = access_token_parse(text, &token, &err);
    snprintf(out->shown, sizeof out->shown, "token%s%s", is_read ? " " : "",
             is_read ? token.id : "");
}

static bool identify_token(const ApiSettings *settings, Str field, int64_t now_ms, ApiCaller *out,
                           int *status, Error *err)
{
    static const Str scheme = { "Bearer ", 7 };
    snprintf(out->shown, sizeof out->shown, "token");
    if (field.len <= scheme.len || !str_eq_ignore_case(str_slice(field, 0, scheme.len), scheme)) {
        return error_set(err, ERROR_DENIED, "'Authorization' must be 'Bearer' and a token");
    }
    out->is_known = true;
    note_token(str_from_offset(field, scheme.len), out);
    return credentials_by_token(settings->credentials, str_from_offset(field, scheme.len), now_ms,
                                &out->principal, err);
}

/* For certificates verified by TLS. Those of nodes belong on the other port. */
static bool identify_certificate(const ApiSettings *settings, const TlsPeer *peer, int64_t now_ms,
                                 ApiCaller *out, int *status, Error *err)
{
    snprintf(out->shown, sizeof out->shown, "certificate %s", peer->serial);
    if (!peer->has_user) {
        *status = 403;
        return error_set(err, ERROR_DENIED, "node certificates are not accepted here");
    }
    PresentedUser shown = { .has_user = true,
                            .user = peer->user,
                            .serial = str_from_c(peer->serial),
                            .not_before_ms = peer->not_before_s * 1000,
                            .not_after_ms = peer->not_after_s * 1000 };
    out->is_known = true;
    return credentials_by_certificate(settings->credentials, &shown, now_ms, &out->principal, err);
}

/* A browser sends the cookie even for requests of foreign pages; only our own page has the second
 * secret. */
static bool check_csrf(const ApiCaller *caller, const Http1Head *head, int *status, Error *err)
{
    const Str *said = http1_find(head, CSRF_FIELD);
    char csrf[BROWSER_CSRF_TEXT + 1];
    browser_secret_csrf(&caller->secret, csrf);
    if (said != NULL && browser_csrf_equal(*said, csrf)) {
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
    bool is_read = browser_secret_from_cookies(cookies, &out->secret, err);
    if (!is_read && err->kind == ERROR_NOT_FOUND) {
        return true;
    }
    snprintf(out->shown, sizeof out->shown, "session");
    if (!is_read) {
        return error_set(err, ERROR_DENIED, "invalid session cookie");
    }
    out->is_known = true;
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
    int64_t now_ms = loop_wall_ms(settings->at.loop);
    bool good = true;
    *out = (ApiCaller){ .is_known = false };
    *status = 401;
    if (peer->is_local) {
        return identify_local(settings, peer, out, status, err);
    }
    if (settings->credentials == NULL) {
        return true;
    }
    if (token != NULL) {
        good = identify_token(settings, *token, now_ms, out, status, err);
    } else if (peer->tls.has_certificate) {
        good = identify_certificate(settings, &peer->tls, now_ms, out, status, err);
    } else if (cookies != NULL) {
        good = identify_session(settings, head, *cookies, now_ms, out, status, err);
    }
    if (!good && err->kind == ERROR_UNAVAILABLE) {
        *status = 503;
    }
    return good;
}

bool caller_log_in(const ApiSettings *settings, Str token, ApiCaller *out, Error *err)
{
    note_token(token, out);
    return credentials_by_token(settings->credentials, token, loop_wall_ms(settings->at.loop),
                                &out->principal, err);
}

/* --- Authorization --------------------------------------------------------------------------- */

bool caller_may(const ApiSettings *settings, const ApiCaller *caller, const RouteRow *row,
                const char *verb, AccessDecision *decision, int *status, Error *err)
{
    *decision = (AccessDecision){ .verdict = ACCESS_ALLOWED };
    if (row != NULL && route_is_public(row)) {
        return true;
    }
    if (!caller->is_known) {
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
