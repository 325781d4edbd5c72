/* The response to a join request (pki/join.h), and its verification by the joining machine. */
#pragma once

#include "base/buf.h"
#include "pki/join.h"

typedef struct JoinReply {
    char nonce[JOIN_NONCE_TEXT + 1]; /* of the request */
    JoinResult result;
    JoinReason reason; /* an unknown token and a wrong one are one and the same here */
    char text[JOIN_TEXT_MAX];
    int64_t time_ms;                /* by the server's clock */
    Str cluster;                    /* these only when admitted: */
    Str certificate;                /* PEM: the node's own, and what leads to the CA */
    Str bundle;                     /* PEM: every CA to trust */
    char server[NODE_NAME_MAX + 1]; /* the node that the server is */
    uint16_t rpc_port;              /* where it is reached by nodes, at the address of the API */
} JoinReply;

/* The answer with a verdict, without certificates. */
void join_reply_make(const JoinRequest *request, const JoinVerdict *verdict, int64_t now_ms,
                     JoinReply *out);
void join_reply_print(const JoinReply *reply, Buf *out);
/* Texts are borrowed from `text` or the arena. Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool join_reply_read(Arena *arena, Str text, JoinReply *out, Error *err);

typedef struct JoinGain {
    Identity identity;
    CertificateSet chain;  /* the own certificate first */
    CertificateSet bundle; /* CAs */
} JoinGain;

/* What an admitted joiner has gained, after checking that it is what it asked for: an answer to its
 * nonce; a bundle of CAs with the pinned one in it; a certificate from one of them, good now, for its
 * name and its key. Fails with ERROR_DENIED; when the clocks are at fault with both shown. */
MUST_CHECK bool join_reply_accept(Arena *arena, const JoinReply *reply, const JoinWish *wish,
                                  const char *nonce, JoinGain *out, Error *err);
