/* Prompts on the terminal that is standard input. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Whether standard input is a terminal. */
bool terminal_is_available(void);
/* Whether a program reads it in raw mode, as shells and editors do, in which an interrupt is an
 * ordinary key. */
bool terminal_is_raw(void);

/* Reads a line, without echo if `hidden` is set. The prompt is written to standard error. The
 * answer is at most `max` - 1 bytes long, plus a NUL; if it is a secret, the caller wipes it. Fails
 * with ERROR_NOT_FOUND if there is no terminal or no answer, with ERROR_LIMIT, and with
 * ERROR_CONFLICT if it is interrupted by a key or a signal that does not terminate the program. The
 * terminal is restored in any case. */
MUST_CHECK bool terminal_ask(const char *question, bool hidden, char *out, size_t max, Error *err);
