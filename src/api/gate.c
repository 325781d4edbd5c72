#include "api/gate.h"

#include "net/host_check.h"

const HttpField gate_fields[] = {
    { "Cache-Control", "no-store" },
    { "X-Content-Type-Options", "nosniff" },
    { "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'" },
    { "X-Frame-Options", "DENY" },
    { "Referrer-Policy", "no-referrer" },
    { "Cross-Origin-Opener-Policy", "same-origin" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
};
const uint32_t gate_field_count = COUNT_OF(gate_fields);

/* HTTP/1.0 requests may lack Host; browsers always send it. The kernel is asked for the local
 * address only if no name matches. */
static bool check_host(const ApiSettings *settings, const HttpRequest *request, Str host,
                       Error *err)
{
    char own[ADDRESS_TEXT_MAX];
    HostRules rules = { .names = settings->names, .name_count = settings->name_count };
    if (host_is_own(&rules, host)) {
        return true;
    }
    http_request_own_address(request, own);
    rules.local_address = str_from_c(own);
    return host_is_own(&rules, host) || error_set(err, ERROR_INVALID,
                                                  "invalid Host header: this server accepts only "
                                                  "the names given to 'eden init' and its own IP "
                                                  "addresses");
}

/* Rejects duplicate security headers: a proxy and this server might each use a different copy. The
 * parser checks Host and body lengths (net/http1.h). */
static bool check_single(const Http1Head *head, Error *err)
{
    static const char *const fields[] = {
        "Origin",        "Authorization",   "Cookie",       "Eden-CSRF",   "If-Match",
        "If-None-Match", "Idempotency-Key", "Content-Type", "Eden-Reason",
    };
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (http1_count(head, fields[i]) > 1) {
            return error_set(err, ERROR_INVALID, "more than one '%s' header", fields[i]);
        }
    }
    return true;
}

bool gate_pass(const ApiSettings *settings, const HttpRequest *request, int *status,
               const char **allow, Error *err)
{
    const Http1Head *head = http_request_head(request);
    const Str *host = http1_find(head, "Host"), *origin = http1_find(head, "Origin");
    *allow = NULL;
    *status = 400;
    if (!check_single(head, err)) {
        return false;
    }
    if (http_request_peer(request)->is_local) {
        return true;
    }
    if (host != NULL && !check_host(settings, request, *host, err)) {
        *status = 421;
        return false;
    }
    if (str_eq_c(head->method, "OPTIONS")) {
        *status = 405;
        *allow = "GET, HEAD, POST, PUT, PATCH, DELETE";
        return error_set(err, ERROR_DENIED,
                         "cross-origin requests are not allowed; other clients can use GET, HEAD, "
                         "POST, PUT, PATCH and DELETE");
    }
    *status = 403;
    return http1_is_safe(head) || origin == NULL ||
           (host != NULL && origin_is_own(*origin, *host)) ||
           error_set(err, ERROR_DENIED,
                     "cross-origin request rejected: the page is not from this server");
}
