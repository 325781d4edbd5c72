/* Checks every remote request before its URL is examined, and defines the security headers of all
 * responses. Loop thread. */
#pragma once

#include "api/api.h"

/* Rejects duplicate security headers, foreign Host and Origin (net/host_check.h), and CORS
 * preflights; Host and Origin are not checked on the Unix socket, which browsers cannot reach.
 * Fails with the status to respond with. `allow`: value of the "Allow" header, or NULL. */
MUST_CHECK bool gate_pass(const ApiSettings *settings, const HttpRequest *request, int *status,
                          const char **allow, Error *err);

/* Headers of API responses: no caching, sniffing, scripts or embedding. */
extern const HttpField gate_fields[];
extern const uint32_t gate_field_count;
