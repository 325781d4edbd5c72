/* API tokens, which authenticate their holder. Pure except for random numbers.
 *
 * The text is "eden_ID_SECRET", so that secret scanners recognize it. The ID names its record in
 * the store, which contains only a hash. Not to be confused with join tokens (pki/token.h), which
 * are for machines. */
#pragma once

#include "access/role_names.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "pki/token.h"

enum {
    ACCESS_TOKEN_ID_BYTES = 5,
    ACCESS_TOKEN_ID_TEXT = 8,
    ACCESS_TOKEN_SECRET_BYTES = 20, /* 160 bits */
    ACCESS_TOKEN_SECRET_TEXT = 32,
    ACCESS_TOKEN_TEXT = 5 + ACCESS_TOKEN_ID_TEXT + 1 + ACCESS_TOKEN_SECRET_TEXT,
    ACCESS_TOKEN_HASH_TEXT = 64,
    ACCESS_TOKEN_NAME_MAX = 100,
};

/* The same limits as for join tokens. */
#define ACCESS_TOKEN_LIFE_MIN_MS TOKEN_LIFE_MIN_MS
#define ACCESS_TOKEN_LIFE_MAX_MS TOKEN_LIFE_MAX_MS

typedef struct AccessToken {
    char id[ACCESS_TOKEN_ID_TEXT + 1];
    unsigned char secret[ACCESS_TOKEN_SECRET_BYTES];
} AccessToken;

MUST_CHECK bool access_token_generate(AccessToken *out, Error *err);
/* Accepts exactly what access_token_text() returns. Fails with ERROR_INVALID; the error does not
 * contain any part of the token. */
MUST_CHECK bool access_token_parse(Str text, AccessToken *out, Error *err);
void access_token_text(const AccessToken *token,
                       char out[ACCESS_TOKEN_TEXT + 1]); /* a secret: wipe it after use */
void access_token_clear(AccessToken *token);             /* wipes it */
DEFINE_AUTO_CLEAR(AccessToken, access_token_clear)
bool access_token_id_check(Str id);
void access_token_hash(const AccessToken *token, char out[ACCESS_TOKEN_HASH_TEXT + 1]);
/* In constant time. */
bool access_token_hash_equal(const char *a, const char *b);

/* Stored record. */
typedef struct AccessTokenRecord {
    char id[ACCESS_TOKEN_ID_TEXT + 1];
    char hash[ACCESS_TOKEN_HASH_TEXT + 1];
    char name[ACCESS_TOKEN_NAME_MAX + 1]; /* owner or purpose; empty if not specified */
    RoleNames roles;
    char made_by[200 + 1]; /* Principal.who */
    int64_t created_ms;
    int64_t expires_ms; /* no longer valid from then on */
} AccessTokenRecord;

/* As JSON, "eden.access-token/1". */
void access_token_record_print(const AccessTokenRecord *record, Buf *out);
MUST_CHECK bool access_token_record_read(Arena *arena, Str text, AccessTokenRecord *out,
                                         Error *err);
/* UTF-8 without control characters, at most ACCESS_TOKEN_NAME_MAX bytes. */
MUST_CHECK bool access_token_name_check(Str name, Error *err);
