/* Checks that every request from outside must pass before its URL is looked
 * at, and headers for browsers that every response has. Loop thread. */
#pragma once

#include "api/api.h"

/* No header that decides something is there twice. Host and Origin are this server's
 * (net/host_check.h), and CORS preflights are refused; requests on the Unix socket, which no browser
 * reaches, are not checked for these. Fails with the status to refuse it with.
 * `allow`: what "Allow" is to say, or NULL. */
MUST_CHECK bool gate_pass(const ApiSettings *settings, const HttpRequest *request, int *status,
                          const char **allow, Error *err);

/* Of answers of the API: for no cache, and for no browser to show, run or embed. */
extern const HttpField gate_fields[];
extern const uint32_t gate_field_count;
