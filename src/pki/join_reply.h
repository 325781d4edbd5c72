/* The response to a join request (pki/join.h), and its verification by the joining machine. */
#pragma once

#include "base/buf.h"
#include "pki/join.h"

typedef struct JoinReply {
    char nonce[JOIN_NONCE_TEXT + 1]; /* nonce of the request */
    JoinResult result;
    JoinReason reason; /* the same for an unknown token as for a wrong one */
    char text[JOIN_TEXT_MAX];
    int64_t time_ms; /* by the server's clock */
    /* the following fields are set only if the machine is admitted */
    Str cluster;
    Str certificate;                /* PEM: the node's certificate and its chain */
    Str bundle;                     /* PEM: every CA to trust */
    char server[NODE_NAME_MAX + 1]; /* node name of the server */
    uint16_t rpc_port;              /* port for nodes, at the address of the API */
} JoinReply;

/* Creates the response for a verdict, without certificates. */
void join_reply_make(const JoinRequest *request, const JoinVerdict *verdict, int64_t now_ms,
                     JoinReply *out);
void join_reply_print(const JoinReply *reply, Buf *out);
/* Strings are borrowed from `text` or the arena. Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool join_reply_read(Arena *arena, Str text, JoinReply *out, Error *err);

typedef struct JoinAdmission {
    Identity identity;
    CertificateSet chain;  /* starts with the node's certificate */
    CertificateSet bundle; /* CAs */
} JoinAdmission;

/* Verifies the response for an admitted joiner: it contains the nonce of the request; the bundle
 * contains the pinned CA; the certificate is from a CA of the bundle, currently valid, and for its
 * name and key. Fails with ERROR_DENIED; if a clock is wrong, the message shows both. */
MUST_CHECK bool join_reply_accept(Arena *arena, const JoinReply *reply, const JoinParams *params,
                                  const char *nonce, JoinAdmission *out, Error *err);
