/* Error reporting: a function that can fail returns `bool` and has a last, non-NULL `Error *`.
 *
 *     if (!yaml_parse(arena, text, &doc, err))
 *         return error_wrap(err, "job '%s'", name);
 *
 * The text has the outermost context first: "job 'web': line 3: unexpected '}'". If it gets too
 * long, context is dropped and the cause is kept. An Error needs no cleanup. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/own.h"

typedef enum ErrorKind {
    ERROR_NONE,
    ERROR_INVALID, /* invalid input */
    ERROR_NOT_FOUND,
    ERROR_CONFLICT, /* held or changed concurrently */
    ERROR_DENIED,
    ERROR_TIMEOUT,
    ERROR_UNAVAILABLE, /* may succeed later */
    ERROR_UNKNOWN,     /* the operation may have happened: there was no response */
    ERROR_LIMIT,       /* a limit or budget is exceeded */
    ERROR_OS,          /* a system call failed */
    ERROR_BUG,
} ErrorKind;

typedef struct Error {
    ErrorKind kind;
    char text[504];
} Error;

/* "invalid", "not found" ... */
const char *error_kind_name(ErrorKind kind);
/* The exit code of a command that fails with this kind (DESIGN 8). */
int error_kind_exit_code(ErrorKind kind);

/* Always returns false, so that a failing function can end with `return error_set(...)`. */
PRINTF_LIKE(3, 4) bool error_set(Error *err, ErrorKind kind, const char *format, ...);
PRINTF_LIKE(2, 3) bool error_wrap(Error *err, const char *format, ...);
/* Whether a retry may succeed. */
bool error_is_transient(const Error *err);
