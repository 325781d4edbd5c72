/* Requests and answers of the service Pki on the wire, for servers and nodes. Pure. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

enum {
    RENEW_REPLY_MAX = 256 << 10, /* bytes */
};

/* A request for the next certificate, in PEM. */
void renew_request_encode(Str csr, Buf *out);
/* The text is the arena's. Fails with ERROR_INVALID. */
MUST_CHECK bool renew_request_decode(Arena *arena, Str bytes, Str *csr, Error *err);

/* PEM. */
typedef struct RenewReply {
    Str certificate; /* the node's own, and what leads to the CA */
    Str bundle;      /* every CA to trust */
} RenewReply;

void renew_reply_encode(const RenewReply *reply, Buf *out);
MUST_CHECK bool renew_reply_decode(Arena *arena, Str bytes, RenewReply *out, Error *err);
