/* The secrets of a source: the key with which the server logs in over SSH, a token for HTTPS, and
 * the secret that signs webhooks. They are stored sealed (source/source_vault.h), so that readers
 * of the store, of the API and of logs do not learn them. */
#pragma once

#include "source/git_source.h"
#include "source/source_vault.h"

enum {
    GIT_WEBHOOK_SECRET = 64 /* digits */
};

/* "eden.source-secrets/1" under internal/source-secret/<name>. */
typedef struct GitSecrets {
    /* public SSH key, to be authorized by the operator of the repository */
    Str public_key;
    Str ssh_key, token, webhook; /* sealed; empty: none */
    Value unknown;
} GitSecrets;

void git_secrets_print(const GitSecrets *secrets, Buf *out);
MUST_CHECK bool git_secrets_read(Arena *arena, Str text, GitSecrets *out, Error *err);
/* Reads the record from the state and returns its revision; 0 if there is none or it is
 * unreadable. */
int64_t git_secrets_find(Arena *arena, const State *state, Str prefix, Str name, GitSecrets *out);

/* These functions replace one of the secrets. Results are allocated in the arena; they fail on file
 * errors. */
MUST_CHECK bool git_secrets_make_key(SourceVault *vault, Arena *arena, Str name,
                                     GitSecrets *secrets, Error *err);
/* The token is sent only to the host of this URL, so that a caller who changes the URL later does
 * not obtain it. An empty token removes it. */
MUST_CHECK bool git_secrets_set_token(SourceVault *vault, Arena *arena, Str name, Str url,
                                      Str token, GitSecrets *secrets, Error *err);
MUST_CHECK bool git_secrets_make_webhook(SourceVault *vault, Arena *arena, Str name,
                                         GitSecrets *secrets, Str *secret, Error *err);

/* The credentials that git needs; the others are empty. */
typedef struct GitCredentials {
    Str ssh_key, token;
} GitCredentials;

void git_credentials_clear(GitCredentials *credentials); /* wipes them */

/* Results are allocated in the arena and are secret. Fails with a message that tells the operator
 * what to do. */
MUST_CHECK bool git_secrets_open(SourceVault *vault, Arena *arena, const GitSource *source,
                                 const GitSecrets *secrets, GitCredentials *out, Error *err);
/* Returns false if there is no secret or it cannot be opened. */
bool git_secrets_open_webhook(SourceVault *vault, Arena *arena, Str name, const GitSecrets *secrets,
                              Str *out);
