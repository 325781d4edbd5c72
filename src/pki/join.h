/* How a machine asks to become a node: one message, its answer, and the decision between them.
 *
 *     joiner    join_request_make      name, request for a certificate, nonce, time, proofs
 *     server    join_request_read      everything that the message itself can prove
 *               join_decide            what follows from it and from what the store knows
 *               join_reply_print
 *     joiner    join_reply_read        the answer, checked against what was asked
 *
 * The message is signed with the key of the node-to-be, so a request for a certificate that somebody
 * else once sent is worth nothing, and with the key of the token, if there is one (pki/token.h). It
 * names the CA that the joiner was told to trust, is good for a few minutes around its time, and once:
 * the server remembers its nonce that long. All of it is JSON, "eden.join/1"; there is one version
 * and no way to agree on another. */
#pragma once

#include "base/enum_names.h"
#include "base/identity.h"
#include "pki/certificate.h"
#include "pki/csr.h"
#include "pki/token.h"

enum {
    JOIN_REQUEST_MAX = 16 << 10,  /* bytes */
    JOIN_REPLY_MAX = 256 << 10,   /* bytes */
    JOIN_NONCE_TEXT = 26,         /* of 128 random bits */
    JOIN_TEXT_MAX = 504,          /* of an answer, for people; as long as an error */
    JOIN_SKEW_MS = 5 * 60 * 1000, /* by which the clocks may differ */
};

/* --- The request ----------------------------------------------------------------------------- */

typedef struct JoinWish {
    Str name;
    Pin ca;             /* the one that the joiner trusts */
    const Token *token; /* NULL: without one, and then somebody has to approve */
    const P256Private *key;
    int64_t now_ms; /* by the joiner's clock */
} JoinWish;

/* The message, and the nonce by which its answer is known. Fails with ERROR_INVALID when the name is
 * none. */
MUST_CHECK bool join_request_make(Arena *arena, const JoinWish *wish, Str *out,
                                  char nonce[JOIN_NONCE_TEXT + 1], Error *err);

typedef struct JoinRequest {
    char name[NODE_NAME_MAX + 1];
    Pin ca;
    P256Public key; /* proven */
    Pin key_pin;
    char nonce[JOIN_NONCE_TEXT + 1];
    int64_t time_ms; /* by the joiner's clock */
    bool has_token;
    char token_id[TOKEN_ID_TEXT + 1];
    Ed25519Public token_key; /* proven; whether it is that of the token, token_check() says */
} JoinRequest;

/* Fails with ERROR_LIMIT when it is too large; with ERROR_INVALID when it is no such message, is of
 * another version, or a signature in it is wrong. */
MUST_CHECK bool join_request_read(Arena *arena, Str text, JoinRequest *out, Error *err);

/* --- The decision ---------------------------------------------------------------------------- */

typedef enum JoinResult {
    JOIN_ADMITTED,
    JOIN_PENDING, /* until somebody approves it */
    JOIN_REFUSED,
} JoinResult;
DECLARE_ENUM_NAMES(JoinResult, join_result)

typedef enum JoinReason {
    JOIN_REASON_NONE,
    JOIN_REASON_CLOCK,         /* the clocks differ too much */
    JOIN_REASON_CA,            /* it trusts another CA */
    JOIN_REASON_REPLAY,        /* this message was there before */
    JOIN_REASON_TOKEN_UNKNOWN, /* these two are told to the joiner as one */
    JOIN_REASON_TOKEN_WRONG,
    JOIN_REASON_TOKEN_EXPIRED,
    JOIN_REASON_TOKEN_USED_UP,
    JOIN_REASON_NAME_TAKEN, /* by a node with another key */
} JoinReason;
DECLARE_ENUM_NAMES(JoinReason, join_reason)

/* What the server knows when it decides, all of it read in one transaction with the writing of what
 * follows: the nonce, one use more of the token, the node. */
typedef struct JoinFacts {
    int64_t now_ms;
    int64_t skew_max_ms; /* 0: JOIN_SKEW_MS */
    const Pin *cas;      /* of the CAs that are trusted at present */
    uint32_t ca_count;
    bool nonce_seen;
    const TokenRecord *token; /* under the id in the request; NULL: there is none */
    const Pin *enrolled;      /* the key of the node that has the name; NULL: nobody has it */
    Str enrolled_token;   /* the id of the token by which that one came; empty: by none, or one of
                         * its certificates was revoked since */
    bool enrolled_stands; /* it came by approval, is not revoked, and has not expired */
    const Pin *approved;  /* the key that somebody approved for the name; NULL: none */
} JoinFacts;

typedef struct JoinVerdict {
    JoinResult result;
    JoinReason reason;
    bool again; /* the same key came in the same way before: answered as then, not counted */
    int64_t remember_until_ms; /* keep the nonce until then */
    char text[JOIN_TEXT_MAX];  /* for the joiner and the log of the server; nothing secret */
} JoinVerdict;

/* Pure. Without a token, and unless this very key was approved, the verdict is at most pending. */
void join_decide(const JoinRequest *request, const JoinFacts *facts, JoinVerdict *out);

/* Whether two clocks agree within `max_ms`. Fails with ERROR_DENIED and a text that shows both. */
MUST_CHECK bool join_clocks_check(int64_t server_ms, int64_t joiner_ms, int64_t max_ms, Error *err);
