/* Error reasons of libcrypto. It has a queue of reasons per thread. Leftovers of an earlier call
 * would be mistaken for the reason of a later one, including by TLS, which uses the queue to
 * distinguish "try again" from "broken". So every caller of libcrypto starts with crypto_begin(),
 * ends with crypto_fail() or crypto_done(), and leaves the queue empty in both cases. */
#pragma once

#include "base/error.h"

void crypto_begin(void);
/* Returns true, so that a function can end with it. */
bool crypto_done(void);
/* Sets the message, followed by ": " and the reason if libcrypto has one. Always returns false. */
PRINTF_LIKE(3, 4) bool crypto_fail(Error *err, ErrorKind kind, const char *format, ...);
