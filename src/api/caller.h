/* Authentication and authorization of API requests. Loop thread. */
#pragma once

#include "access/credentials.h"
#include "api/api.h"
#include "api/routes.h"

typedef struct ApiCaller {
    bool is_known; /* else nothing was shown */
    Principal principal;
    BrowserSecret secret; /* of a session */
    /* What was shown, without anything secret: "token 4l2ygazs", "certificate 5f…", "session"; also
     * when it is not good. Empty: nothing. */
    char shown[SERIAL_TEXT + 13];
} ApiCaller;

/* By the Unix socket, a token, a certificate or a cookie, the first of these that is there. False:
 * what was shown is not good; the status is 401, 403 or 503. */
MUST_CHECK bool caller_identify(const ApiSettings *settings, const HttpRequest *request,
                                ApiCaller *out, int *status, Error *err);

/* By a token that was sent to begin a session with. */
MUST_CHECK bool caller_log_in(const ApiSettings *settings, Str token, ApiCaller *out, Error *err);

/* Whether the caller may use the row, with a verb that may be another than its own; NULL: whether they
 * may learn that there is none. The status is 401 for who has not said who they are, else 403.
 * `decision` says of which objects it holds, until the loop's next turn. */
MUST_CHECK bool caller_may(const ApiSettings *settings, const ApiCaller *caller,
                           const RouteRow *row, const char *verb, AccessDecision *decision,
                           int *status, Error *err);
