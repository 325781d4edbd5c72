/* Asking a person who sits at the terminal that is standard input. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Whether somebody can be asked. */
bool terminal_is_there(void);
/* Whether a program reads it key by key, as shells and editors do: an interrupt is a key like others
 * there. */
bool terminal_is_by_keys(void);

/* The line that they type, without its end; with `hidden` nobody sees it. The question goes to
 * standard error. The answer is one of at most `max` - 1 bytes, with a NUL; when it is a secret the
 * caller wipes it. Fails with ERROR_NOT_FOUND when nobody can be asked or answers, ERROR_LIMIT, and
 * with ERROR_CONFLICT when they interrupt it or a signal does, unless that ends the program, as it does
 * others; the terminal is as it was before then, too. */
MUST_CHECK bool terminal_ask(const char *question, bool hidden, char *out, size_t max, Error *err);
