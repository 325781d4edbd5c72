/* Fetches the CA of a server that is not trusted yet: the one that matches the pin, or the one that
 * the server presents, for the user to compare. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "net/address.h"
#include "net/tls.h"

typedef struct ServerCa {
    Str pem;
    char pin[TLS_PIN_TEXT + 1];
    Str cluster; /* cluster that the server claims to belong to */
} ServerCa;

/* `pin` may be empty: then the CA is only a claim by the server. The server must have a certificate
 * issued by it for the host of the address. Otherwise fails with ERROR_DENIED. Fails with
 * ERROR_INVALID if the pin is malformed, or like the connection. */
MUST_CHECK bool server_ca_fetch(Arena *arena, const Address *server, Str pin, int64_t timeout_ms,
                                ServerCa *out, Error *err);
