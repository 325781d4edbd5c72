/* How a machine joins: one request, its response, and the decision in between.
 *
 *     joiner    join_request_make      name, certificate request, nonce, time, proofs
 *     server    join_request_read      verifies what the message itself proves
 *               join_decide            decides based on it and on the store
 *               join_reply_print
 *     joiner    join_reply_read        the response, checked against the request
 *
 * The request is signed with the key of the joining machine, so a certificate request copied from
 * someone else is useless, and with the key of the token, if there is one (pki/token.h). It
 * contains the pin of the CA that the joiner trusts, is valid for a few minutes around its time,
 * and only once: the server remembers its nonce that long. All of it is JSON, "eden.join/1"; there
 * is one version and no negotiation. */
#pragma once

#include "base/enum_names.h"
#include "base/identity.h"
#include "pki/certificate.h"
#include "pki/csr.h"
#include "pki/token.h"

enum {
    JOIN_REQUEST_MAX = 16 << 10, /* maximum size in bytes */
    JOIN_REPLY_MAX = 256 << 10,  /* maximum size in bytes */
    JOIN_NONCE_TEXT = 26,        /* length of a nonce: 128 random bits */
    /* maximum length of the text of a response; same as that of an error */
    JOIN_TEXT_MAX = 504,
    JOIN_SKEW_MS = 5 * 60 * 1000, /* maximum difference of the clocks */
};

/* --- Request --------------------------------------------------------------------------------- */

typedef struct JoinParams {
    Str name;
    Pin ca;             /* CA that the joiner trusts */
    const Token *token; /* NULL: none, so an operator must approve the request */
    const P256Private *key;
    int64_t now_ms; /* by the joiner's clock */
} JoinParams;

/* Creates the request, and the nonce that identifies its response. Fails with ERROR_INVALID if the
 * name is invalid. */
MUST_CHECK bool join_request_make(Arena *arena, const JoinParams *params, Str *out,
                                  char nonce[JOIN_NONCE_TEXT + 1], Error *err);

typedef struct JoinRequest {
    char name[NODE_NAME_MAX + 1];
    Pin ca;
    P256Public key; /* the request proves that its author has the private key */
    Pin key_pin;
    char nonce[JOIN_NONCE_TEXT + 1];
    int64_t time_ms; /* by the joiner's clock */
    bool has_token;
    char token_id[TOKEN_ID_TEXT + 1];
    /* proven in the same way; token_check() compares it with the token's key */
    Ed25519Public token_key;
} JoinRequest;

/* Fails with ERROR_LIMIT if it is too large, with ERROR_INVALID if it is not a valid request, has
 * another version, or a signature in it is wrong. */
MUST_CHECK bool join_request_read(Arena *arena, Str text, JoinRequest *out, Error *err);

/* --- Decision -------------------------------------------------------------------------------- */

typedef enum JoinResult {
    JOIN_ADMITTED,
    JOIN_PENDING, /* until an operator approves it */
    JOIN_REFUSED,
} JoinResult;
DECLARE_ENUM_NAMES(JoinResult, join_result)

typedef enum JoinReason {
    JOIN_REASON_NONE,
    JOIN_REASON_CLOCK,  /* the clocks differ too much */
    JOIN_REASON_CA,     /* it trusts another CA */
    JOIN_REASON_REPLAY, /* this request was received before */
    /* the joiner must not distinguish an unknown token from a wrong one */
    JOIN_REASON_TOKEN_UNKNOWN,
    JOIN_REASON_TOKEN_WRONG,
    JOIN_REASON_TOKEN_EXPIRED,
    JOIN_REASON_TOKEN_USED_UP,
    JOIN_REASON_NAME_TAKEN, /* another node with a different key has this name */
} JoinReason;
DECLARE_ENUM_NAMES(JoinReason, join_reason)

/* The facts for the decision. They must be read in the same transaction that writes the results:
 * the nonce, the use of the token, the node. */
typedef struct JoinFacts {
    int64_t now_ms;
    int64_t skew_max_ms; /* maximum difference of the clocks; 0: JOIN_SKEW_MS */
    const Pin *cas;      /* CAs that are currently trusted */
    uint32_t ca_count;
    bool nonce_seen;
    const TokenRecord *token; /* record with the ID in the request; NULL: there is none */
    const Pin *enrolled;      /* key of the node that has the name; NULL: the name is free */
    /* ID of the token that this node joined with; empty: none, or one of its certificates was
     * revoked afterwards */
    Str enrolled_token;
    bool enrolled_is_valid; /* the node joined by approval, is not revoked, and has not expired */
    const Pin *approved;    /* key that was approved for the name; NULL: none */
} JoinFacts;

typedef struct JoinVerdict {
    JoinResult result;
    JoinReason reason;
    /* the same key joined in the same way before: the response is the same, and the use is not
     * counted */
    bool is_repeated;
    int64_t remember_until_ms; /* the nonce must be remembered until this time */
    char text[JOIN_TEXT_MAX];  /* for the joiner and the server's log; contains no secrets */
} JoinVerdict;

/* Decides about a request. Pure. Without a token, and unless exactly this key was approved, the
 * verdict is at most pending. */
void join_decide(const JoinRequest *request, const JoinFacts *facts, JoinVerdict *out);

/* Checks that two clocks agree within `max_ms`. Fails with ERROR_DENIED and a message that shows
 * both. */
MUST_CHECK bool join_clocks_check(int64_t server_ms, int64_t joiner_ms, int64_t max_ms, Error *err);
