/* Tokens. A join token lets a machine join without manual approval; an API token authenticates its
 * holder to the API. Both are created, hashed, limited and judged here; pure except for random
 * numbers. access/tokens.h stores and lists them.
 *
 * The text of a join token is "ID.SECRET", that of an API token "eden_ID_SECRET", so that secret
 * scanners recognize it. The ID names the record of the token in the store, which contains only a
 * hash. An API token is sent to the server, which hashes it. The secret of a join token never
 * leaves the joining machine: both sides derive a key pair from it (Ed25519), the machine signs
 * with the private key (pki/join.h), and the record contains a hash of the public key. So neither a
 * reader of the store nor a fake server learns enough to join. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/enum_names.h"
#include "base/error.h"
#include "lang/value.h"
#include "sys/ed25519.h"

enum {
    TOKEN_ID_BYTES = 5,
    TOKEN_ID_TEXT = 8,
    TOKEN_SECRET_BYTES = 20, /* 160 bits */
    TOKEN_SECRET_TEXT = 32,
    TOKEN_JOIN_TEXT = TOKEN_ID_TEXT + 1 + TOKEN_SECRET_TEXT,
    TOKEN_API_TEXT = 5 + TOKEN_JOIN_TEXT,
    TOKEN_TEXT_MAX = TOKEN_API_TEXT,
    TOKEN_HASH_TEXT = 64, /* digits of a SHA-256 */
    TOKEN_LABEL_MAX = 100,
    TOKEN_USES_MAX = 100000,
};

#define TOKEN_LIFETIME_MIN_MS ((int64_t)60 * 1000)
#define TOKEN_LIFETIME_MAX_MS ((int64_t)366 * 24 * 3600 * 1000)

/* --- Text ------------------------------------------------------------------------------------ */

typedef enum TokenKind {
    TOKEN_JOIN,
    TOKEN_API
} TokenKind;

typedef struct Token {
    TokenKind kind;
    char id[TOKEN_ID_TEXT + 1];
    unsigned char secret[TOKEN_SECRET_BYTES];
} Token;

MUST_CHECK bool token_make(TokenKind kind, Token *out, Error *err);
/* Accepts exactly the output of token_text() for that kind. Fails with ERROR_INVALID. The message
 * contains no part of the token, but points out a token of the other kind. */
MUST_CHECK bool token_parse(TokenKind kind, Str text, Token *out, Error *err);
void token_text(const Token *token, char out[TOKEN_TEXT_MAX + 1]); /* a secret: wipe it */
void token_clear(Token *token);                                    /* wipes it */
DEFINE_AUTO_CLEAR(Token, token_clear)
/* Returns true if it is a valid token id, for looking up its record. */
bool token_id_check(Str id);

/* Derives the signing key of a join token. Wipe it (ed25519_forget) after use. */
void token_key(const Token *token, Ed25519Private *out);
/* The hash that its record contains. */
MUST_CHECK bool token_hash(const Token *token, char out[TOKEN_HASH_TEXT + 1], Error *err);
/* In constant time. */
bool token_hash_equal(const char *a, const char *b);

/* --- Records --------------------------------------------------------------------------------- */

/* The stored record of a join token. The record of an API token contains one, and the
 * permissions. */
typedef struct TokenRecord {
    char id[TOKEN_ID_TEXT + 1];
    char hash[TOKEN_HASH_TEXT + 1];
    char label[TOKEN_LABEL_MAX + 1]; /* owner or purpose; empty if not specified */
    int64_t created_ms;
    int64_t expires_ms; /* invalid from then on */
    uint32_t uses_max;  /* 0: any number of times, like an API token */
    uint32_t uses; /* so far; counted by the writer of the record, in the joining transaction */
    Value unknown; /* fields written by a newer server */
} TokenRecord;

typedef struct TokenTerms {
    Str label;
    int64_t now_ms, lifetime_ms;
    uint32_t uses; /* of a join token */
} TokenTerms;

/* Fails with ERROR_INVALID unless the label is UTF-8 without control characters, the lifetime is
 * between TOKEN_LIFETIME_MIN_MS and TOKEN_LIFETIME_MAX_MS, and a join token has 1 to TOKEN_USES_MAX
 * uses. */
MUST_CHECK bool token_record_make(const Token *token, const TokenTerms *terms, TokenRecord *out,
                                  Error *err);
/* Of a join token, as JSON, "eden.token/1". */
void token_record_print(const TokenRecord *record, Buf *out);
MUST_CHECK bool token_record_read(Arena *arena, Str text, TokenRecord *out, Error *err);

/* For tables of fields. */
MUST_CHECK bool token_record_check_id(Str id, Error *err);
MUST_CHECK bool token_record_check_hash(Str hash, Error *err);
MUST_CHECK bool token_record_check(const TokenRecord *record, Error *err);

/* --- Validity -------------------------------------------------------------------------------- */

typedef enum TokenVerdict {
    TOKEN_VALID,
    TOKEN_UNKNOWN, /* no record with this id */
    TOKEN_WRONG,   /* the record is for another secret */
    TOKEN_EXPIRED,
    TOKEN_USED_UP,
} TokenVerdict;
DECLARE_ENUM_NAMES(TokenVerdict, token_verdict)

/* The verdict for a holder of the secret of either kind: good, expired or used up. */
TokenVerdict token_state(const TokenRecord *record, int64_t now_ms);
/* Checks a join token for a caller who has proven possession of the private half of `key`. `record`
 * is the store's record with its id, or NULL. Only a holder of the secret learns that a token is
 * expired or used up. */
TokenVerdict token_check(const TokenRecord *record, const Ed25519Public *key, int64_t now_ms);
/* The message for its holder; the same for "unknown" and "wrong". */
const char *token_verdict_text(TokenVerdict verdict);
