/* The names under which the API can be reached, for its certificate. */
#pragma once

#include <openssl/x509v3.h>

#include "base/error.h"
#include "base/str.h"

enum {
    SERVING_NAMES_MAX = 64,
};

/* Each is an IPv4 or IPv6 address or a DNS name, without wildcards; capitals are taken for small
 * letters. Fails with ERROR_INVALID, naming the first that is neither or stands there twice. Who
 * gets the names frees them. */
MUST_CHECK bool serving_names_make(const Str *names, uint32_t count, GENERAL_NAMES **out,
                                   Error *err);
