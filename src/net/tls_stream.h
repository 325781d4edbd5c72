/* One connection's TLS, on a non-blocking socket. For connection.c alone.
 *
 * The functions that move bytes answer what they wait for: after TLS_WANT_READ or TLS_WANT_WRITE
 * the same call is made again when the socket allows it. */
#pragma once

#include "net/tls.h"

typedef struct TlsStream TlsStream;

typedef enum TlsResult {
    TLS_DONE,
    TLS_WANT_READ,
    TLS_WANT_WRITE,
    TLS_CLOSED, /* the peer ended it in order, or as most do, by closing the socket */
    TLS_FAILED, /* `err` says why */
} TlsResult;

/* `host` is what a client wants the certificate to be made for: a name or an IP address; empty
 * leaves that to `verify`. `target` tells servers apart whose sessions may be resumed. The socket
 * stays the caller's. */
MUST_CHECK bool tls_stream_new(TlsContext *context, int descriptor, const char *host,
                               const char *target, TlsStream **out, Error *err);
void tls_stream_free(TlsStream *stream); /* NULL is allowed */

/* Done means that the peer was verified too. */
TlsResult tls_stream_handshake(TlsStream *stream, TlsPeer *peer, Error *err);
TlsResult tls_stream_read(TlsStream *stream, char *to, size_t room, size_t *count, Error *err);
/* What was not written must be at the front of the next call, which may add to it. */
TlsResult tls_stream_write(TlsStream *stream, Str bytes, size_t *count, Error *err);
/* Whether bytes were taken from the socket that tls_stream_read has not given yet. */
bool tls_stream_has_pending(const TlsStream *stream);
/* Tells the peer that no more is going to come, if the socket takes it now. */
void tls_stream_goodbye(TlsStream *stream);
