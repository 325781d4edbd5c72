/* Authentication and authorization of API requests. Loop thread. */
#pragma once

#include "access/credentials.h"
#include "api/api.h"
#include "api/routes.h"

typedef struct ApiCaller {
    bool has_credential; /* false: anonymous */
    Principal principal;
    BrowserSecret secret; /* of a browser session */
    /* Public part of the credential, even if it is invalid: "token 4l2ygazs", "certificate 5f…",
     * "session". Empty if there is none. */
    char credential_label[SERIAL_TEXT + 13];
} ApiCaller;

/* Authenticates by Unix socket, token, certificate or cookie; the first one present counts. Returns
 * false if the credential is invalid; the status is 401, 403 or 503. */
MUST_CHECK bool caller_identify(const ApiSettings *settings, const HttpRequest *request,
                                ApiCaller *out, int *status, Error *err);

/* Authenticates with the token of a login request. */
MUST_CHECK bool caller_log_in(const ApiSettings *settings, Str token, ApiCaller *out, Error *err);

/* Authorizes the caller for a row, with a verb that may differ from the row's. `row` NULL: whether
 * the caller may learn that the endpoint does not exist. The status is 401 for anonymous callers,
 * otherwise 403. `decision` selects the objects that it covers; valid until the next loop
 * iteration. */
MUST_CHECK bool caller_may(const ApiSettings *settings, const ApiCaller *caller,
                           const RouteRow *row, const char *verb, AccessDecision *decision,
                           int *status, Error *err);

/* Identifies the caller's credential, for fair scheduling and limits per caller. */
uint64_t caller_hash(const ApiCaller *caller);
