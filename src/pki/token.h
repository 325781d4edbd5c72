/* Join tokens: a machine that has one joins without manual approval.
 *
 * The text of a token is "ID.SECRET". The ID names its record in the store; the secret
 * never leaves the joining machine. Both sides derive a key pair from it (Ed25519): the
 * machine signs with the private key (pki/join.h), and the record contains only a hash of
 * the public key. So neither a reader of the store nor a fake server learns enough to join. */
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
    TOKEN_TEXT = TOKEN_ID_TEXT + 1 + TOKEN_SECRET_TEXT,
    TOKEN_HASH_TEXT = 64, /* digits of a SHA-256 */
    TOKEN_LABEL_MAX = 100,
    TOKEN_USES_MAX = 100000,
};

#define TOKEN_LIFE_MIN_MS ((int64_t)60 * 1000)
#define TOKEN_LIFE_MAX_MS ((int64_t)366 * 24 * 3600 * 1000)

typedef struct Token {
    char id[TOKEN_ID_TEXT + 1];
    unsigned char secret[TOKEN_SECRET_BYTES];
} Token;

MUST_CHECK bool token_make(Token *out, Error *err);
/* Takes exactly what token_text() gives. Fails with ERROR_INVALID; the text of the error holds
 * nothing of the token. */
MUST_CHECK bool token_parse(Str text, Token *out, Error *err);
void token_text(const Token *token, char out[TOKEN_TEXT + 1]); /* a secret: wipe it */
void token_clear(Token *token);                                /* wipes it */
DEFINE_AUTO_CLEAR(Token, token_clear)
/* Whether it can be the id of one: for looking up its record. */
bool token_id_check(Str id);

/* What signs for the token. Forget it (ed25519_forget) after use. */
void token_key(const Token *token, Ed25519Private *out);

/* What the store keeps of it. */
typedef struct TokenRecord {
    char id[TOKEN_ID_TEXT + 1];
    char hash[TOKEN_HASH_TEXT + 1]; /* of the public key */
    char label[TOKEN_LABEL_MAX + 1];
    int64_t created_ms;
    int64_t expires_ms; /* from then on it is no longer good */
    uint32_t uses_max;
    uint32_t uses; /* so far; counted by whoever writes the record, in the joining transaction */
    Value unknown; /* what a newer server wrote */
} TokenRecord;

/* Fails with ERROR_INVALID when label, life or number of uses make no sense: a label is UTF-8
 * without control characters, a life TOKEN_LIFE_MIN_MS to TOKEN_LIFE_MAX_MS, uses 1 to TOKEN_USES_MAX. */
MUST_CHECK bool token_record_make(const Token *token, Str label, int64_t now_ms, int64_t life_ms,
                                  uint32_t uses_max, TokenRecord *out, Error *err);
/* As JSON, "eden.token/1". */
void token_record_print(const TokenRecord *record, Buf *out);
MUST_CHECK bool token_record_read(Arena *arena, Str text, TokenRecord *out, Error *err);

typedef enum TokenVerdict {
    TOKEN_GOOD,
    TOKEN_UNKNOWN, /* no record with its id */
    TOKEN_WRONG,   /* there is one, of another secret */
    TOKEN_EXPIRED,
    TOKEN_USED_UP,
} TokenVerdict;
DECLARE_ENUM_NAMES(TokenVerdict, token_verdict)

/* What the token with this id is worth at that moment, to somebody who proved the private half of
 * `key`. `record` is what the store has under the id, NULL when nothing. That a token is expired or
 * used up is said only to who has its secret. */
TokenVerdict token_check(const TokenRecord *record, const Ed25519Public *key, int64_t now_ms);
/* What its owner may be told; "unknown" and "wrong" are told the same. */
const char *token_verdict_text(TokenVerdict verdict);
