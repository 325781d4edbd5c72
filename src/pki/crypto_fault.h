/* What libcrypto says when it fails. It keeps a queue of reasons per thread; what an earlier call
 * left there would be taken for the reason of a later one, also by TLS, which asks the queue to
 * tell "nothing yet" from "broken". So whoever calls libcrypto starts with crypto_begin(), ends in
 * crypto_fail() or crypto_done(), and leaves the queue empty either way. */
#pragma once

#include "base/error.h"

void crypto_begin(void);
/* Always true, so that a function can end with it. */
bool crypto_done(void);
/* The text and, when libcrypto gave one, ": " and its reason. Always false. */
PRINTF_LIKE(3, 4) bool crypto_fail(Error *err, ErrorKind kind, const char *format, ...);
