/* The one way a function says that it failed: `bool` plus a last, non-NULL `Error *`.
 *
 *     if (!yaml_parse(arena, text, &doc, err))
 *         return error_wrap(err, "job '%s'", name);
 *
 * Text is outermost context first: "job 'web': line 3: unexpected '}'". When the room is used
 * up, context is dropped and the cause is kept. An Error needs no clean-up. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/own.h"

typedef enum ErrorKind {
    ERROR_NONE,
    ERROR_INVALID, /* the input is wrong */
    ERROR_NOT_FOUND,
    ERROR_CONFLICT, /* somebody else holds or changed it */
    ERROR_DENIED,
    ERROR_TIMEOUT,
    ERROR_UNAVAILABLE, /* may work later */
    ERROR_UNKNOWN,     /* may have happened: no answer came */
    ERROR_LIMIT,       /* a budget is used up */
    ERROR_OS,          /* a system call failed */
    ERROR_BUG,
} ErrorKind;

typedef struct Error {
    ErrorKind kind;
    char text[504];
} Error;

/* "invalid", "not found" ... */
const char *error_kind_name(ErrorKind kind);
/* The exit code that a command ends with when this kind reaches its top (DESIGN 8). */
int error_kind_exit_code(ErrorKind kind);

/* Always false, so a failing function can end with `return error_set(...)`. */
PRINTF_LIKE(3, 4) bool error_set(Error *err, ErrorKind kind, const char *format, ...);
PRINTF_LIKE(2, 3) bool error_wrap(Error *err, const char *format, ...);
/* Whether the same may go well a little later. */
bool error_is_passing(const Error *err);
