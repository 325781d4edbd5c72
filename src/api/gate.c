#include "api/gate.h"

#include "api/host_check.h"

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

/* Before HTTP/1.1 a request may have no Host; no browser speaks that. The kernel is asked only when no
 * name fits. */
static bool check_host(const ApiSettings *settings, const HttpRequest *request, Str host,
                       Error *err)
{
    char own[ADDRESS_TEXT_MAX];
    HostRules rules = { .names = settings->names, .name_count = settings->name_count };
    if (host_is_own(&rules, host)) {
        return true;
    }
    http_request_own_address(request, own);
    rules.own = str_from_c(own);
    return host_is_own(&rules, host) ||
           error_set(err, ERROR_INVALID,
                     "Host names another server than this one, which is known by the names that "
                     "'eden init' was given and by its own addresses");
}

bool gate_pass(const ApiSettings *settings, const HttpRequest *request, int *status,
               const char **allow, Error *err)
{
    const Http1Head *head = http_request_head(request);
    const Str *host = http1_find(head, "Host"), *origin = http1_find(head, "Origin");
    *allow = NULL;
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
        return error_set(
            err, ERROR_DENIED,
            "pages of other servers may do nothing here; others have GET, HEAD, POST, PUT, "
            "PATCH and DELETE");
    }
    *status = 403;
    return http1_is_safe(head) || origin == NULL ||
           (host != NULL && origin_is_own(*origin, *host)) ||
           error_set(err, ERROR_DENIED, "the page that asks for this is not one of this server");
}
