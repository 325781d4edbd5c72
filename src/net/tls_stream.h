/* The TLS of one connection, on a non-blocking socket. For connection.c only.
 *
 * The I/O functions return what they are waiting for: after TLS_WANT_READ or TLS_WANT_WRITE, repeat
 * the same call when the socket is ready. */
#pragma once

#include "net/tls.h"

typedef struct TlsStream TlsStream;

typedef enum TlsResult {
    TLS_DONE,
    TLS_WANT_READ,
    TLS_WANT_WRITE,
    TLS_CLOSED, /* the peer closed TLS or, as most do, just the socket */
    TLS_FAILED, /* `err` has the reason */
} TlsResult;

/* `host` is the name or IP address that a client requires in the certificate; if empty, `verify`
 * decides. `target` is the key of the session to resume. The socket is still owned by the
 * caller. */
MUST_CHECK bool tls_stream_new(TlsContext *context, int descriptor, const char *host,
                               const char *target, TlsStream **out, Error *err);
void tls_stream_free(TlsStream *stream); /* NULL is allowed */

/* TLS_DONE also means that the peer is verified. */
TlsResult tls_stream_handshake(TlsStream *stream, TlsPeer *peer, Error *err);
TlsResult tls_stream_read(TlsStream *stream, char *to, size_t room, size_t *count, Error *err);
/* Bytes that were not written must be at the start of the next call, which may append more. */
TlsResult tls_stream_write(TlsStream *stream, Str bytes, size_t *count, Error *err);
/* Whether bytes were read from the socket that tls_stream_read has not returned yet. */
bool tls_stream_has_pending(const TlsStream *stream);
/* Sends close_notify, if the socket accepts it now. */
void tls_stream_close_notify(TlsStream *stream);
