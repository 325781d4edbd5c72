/* The DNS names and IP addresses of the API, for its certificate. */
#pragma once

#include <openssl/x509v3.h>

#include "base/error.h"
#include "base/str.h"

enum {
    SERVING_NAMES_MAX = 64,
};

/* Each is an IPv4 or IPv6 address or a DNS name, without wildcards; uppercase is converted to
 * lowercase. Fails with ERROR_INVALID and names the first that is invalid or a duplicate. The
 * caller frees the result. */
MUST_CHECK bool serving_names_make(const Str *names, uint32_t count, GENERAL_NAMES **out,
                                   Error *err);
