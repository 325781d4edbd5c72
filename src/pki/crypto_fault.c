#include "pki/crypto_fault.h"

#include <stdio.h>

#include <openssl/err.h>

void crypto_begin(void)
{
    ERR_clear_error();
}

bool crypto_done(void)
{
    ERR_clear_error();
    return true;
}

bool crypto_fail(Error *err, ErrorKind kind, const char *format, ...)
{
    /* The first reason in the queue is the cause; later ones were added by its callers. */
    unsigned long code = ERR_peek_error();
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ERR_clear_error();
    return reason == NULL ? error_set(err, kind, "%s", text)
                          : error_set(err, kind, "%s: %s", text, reason);
}
