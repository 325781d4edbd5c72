#include "base/error.h"

#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "base/utf8.h"

typedef struct KindRow {
    const char *name;
    int exit_code;
} KindRow;

static const KindRow kind_rows[] = {
    [ERROR_NONE] = { "none", 0 },
    [ERROR_INVALID] = { "invalid", 1 },
    [ERROR_NOT_FOUND] = { "not found", 1 },
    [ERROR_CONFLICT] = { "conflict", 5 },
    [ERROR_DENIED] = { "denied", 4 },
    [ERROR_TIMEOUT] = { "timeout", 124 },
    [ERROR_UNAVAILABLE] = { "unavailable", 3 },
    [ERROR_UNKNOWN] = { "outcome unknown", 3 },
    [ERROR_LIMIT] = { "limit", 1 },
    [ERROR_OS] = { "os", 1 },
    [ERROR_BUG] = { "bug", 1 },
};

const char *error_kind_name(ErrorKind kind)
{
    BUG_IF((size_t)kind >= COUNT_OF(kind_rows));
    return kind_rows[kind].name;
}

int error_kind_exit_code(ErrorKind kind)
{
    BUG_IF((size_t)kind >= COUNT_OF(kind_rows));
    return kind_rows[kind].exit_code;
}

/* vsnprintf may truncate in the middle of a character. */
static size_t truncate_to_characters(const char *text, size_t len)
{
    size_t start = len;
    while (start > 0 && len - start < UTF8_BYTES_MAX && utf8_is_continuation(text[start - 1])) {
        start--;
    }
    uint32_t code;
    bool whole = start == 0 || utf8_decode(text + start - 1, len - start + 1, &code) > 0;
    return whole ? len : start - 1;
}

bool error_set(Error *err, ErrorKind kind, const char *format, ...)
{
    char text[sizeof err->text]; /* the arguments may point into the old text */
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    BUG_IF(wanted < 0);
    size_t len = (size_t)wanted;
    if (len >= sizeof text) {
        len = truncate_to_characters(text, sizeof text - 1);
    }
    err->kind = kind;
    memcpy(err->text, text, len);
    err->text[len] = '\0';
    return false;
}

bool error_wrap(Error *err, const char *format, ...)
{
    char context[sizeof err->text];
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(context, sizeof context, format, args);
    va_end(args);
    BUG_IF(wanted < 0);
    size_t prefix = (size_t)wanted;
    size_t cause = strlen(err->text);
    if (prefix + 2 + cause >= sizeof err->text) {
        return false;
    }
    memmove(err->text + prefix + 2, err->text, cause + 1);
    memcpy(err->text, context, prefix);
    memcpy(err->text + prefix, ": ", 2);
    return false;
}

bool error_is_transient(const Error *err)
{
    return err->kind == ERROR_UNAVAILABLE || err->kind == ERROR_LIMIT || err->kind == ERROR_TIMEOUT;
}
