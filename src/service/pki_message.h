/* Messages of the service Pki, for servers and nodes. Pure. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

enum {
    RENEW_REPLY_MAX = 256 << 10, /* maximum size in bytes */
};

/* A request for the next certificate, in PEM. */
void renew_request_encode(Str csr, Buf *out);
/* The string is allocated in the arena. Fails with ERROR_INVALID. */
MUST_CHECK bool renew_request_decode(Arena *arena, Str bytes, Str *csr, Error *err);

/* Certificates as PEM. */
typedef struct RenewReply {
    Str certificate; /* leaf first, then the chain to the CA */
    Str bundle;      /* all CAs to trust */
} RenewReply;

void renew_reply_encode(const RenewReply *reply, Buf *out);
MUST_CHECK bool renew_reply_decode(Arena *arena, Str bytes, RenewReply *out, Error *err);
