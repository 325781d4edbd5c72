/* Join tokens: a machine that has one joins without manual approval.
 *
 * The text of a token is "ID.SECRET". The ID names its record in the store; the secret never leaves
 * the joining machine. Both sides derive a key pair from it (Ed25519): the machine signs with the
 * private key (pki/join.h), and the record contains only a hash of the public key. So neither a
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
/* Accepts exactly the output of token_text(). Fails with ERROR_INVALID; the message contains
 * nothing of the token. */
MUST_CHECK bool token_parse(Str text, Token *out, Error *err);
void token_text(const Token *token, char out[TOKEN_TEXT + 1]); /* a secret: wipe it */
void token_clear(Token *token);                                /* wipes it */
DEFINE_AUTO_CLEAR(Token, token_clear)
/* Returns true if it is a valid token id, for looking up its record. */
bool token_id_check(Str id);

/* Derives the signing key of the token. Wipe it (ed25519_forget) after use. */
void token_key(const Token *token, Ed25519Private *out);

/* The record of a token in the store. */
typedef struct TokenRecord {
    char id[TOKEN_ID_TEXT + 1];
    char hash[TOKEN_HASH_TEXT + 1]; /* hash of the public key */
    char label[TOKEN_LABEL_MAX + 1];
    int64_t created_ms;
    int64_t expires_ms; /* invalid from then on */
    uint32_t uses_max;
    uint32_t uses; /* so far; counted by the writer of the record, in the joining transaction */
    Value unknown; /* fields written by a newer server */
} TokenRecord;

/* Fails with ERROR_INVALID unless the label is UTF-8 without control characters, the lifetime is
 * between TOKEN_LIFE_MIN_MS and TOKEN_LIFE_MAX_MS, and uses is between 1 and TOKEN_USES_MAX. */
MUST_CHECK bool token_record_make(const Token *token, Str label, int64_t now_ms, int64_t life_ms,
                                  uint32_t uses_max, TokenRecord *out, Error *err);
/* As JSON, "eden.token/1". */
void token_record_print(const TokenRecord *record, Buf *out);
MUST_CHECK bool token_record_read(Arena *arena, Str text, TokenRecord *out, Error *err);

typedef enum TokenVerdict {
    TOKEN_GOOD,
    TOKEN_UNKNOWN, /* no record with this id */
    TOKEN_WRONG,   /* the record is for another secret */
    TOKEN_EXPIRED,
    TOKEN_USED_UP,
} TokenVerdict;
DECLARE_ENUM_NAMES(TokenVerdict, token_verdict)

/* Checks a token at that time for a caller who has proven possession of the private half of `key`.
 * `record` is the store's record with its id, or NULL. Only a holder of the secret learns that a
 * token is expired or used up. */
TokenVerdict token_check(const TokenRecord *record, const Ed25519Public *key, int64_t now_ms);
/* The message for its holder; the same for "unknown" and "wrong". */
const char *token_verdict_text(TokenVerdict verdict);
