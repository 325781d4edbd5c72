/* The CA of a server that nobody has told this user yet: the one that has the pin, or the one that
 * the server shows, for somebody to compare. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "net/address.h"
#include "net/tls.h"

typedef struct ServerCa {
    Str pem;
    char pin[TLS_PIN_TEXT + 1];
    Str cluster; /* what the server says that it belongs to */
} ServerCa;

/* `pin` may be empty: then the CA is a claim of whoever answers. The server must have a certificate
 * by it for the host of the address. Fails with ERROR_DENIED when it has not, ERROR_INVALID for a pin
 * that is none, ERROR_UNAVAILABLE, ERROR_TIMEOUT and so on. */
MUST_CHECK bool server_ca_fetch(Arena *arena, const Address *server, Str pin, int64_t timeout_ms,
                                ServerCa *out, Error *err);
