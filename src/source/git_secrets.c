/* Creates, seals and opens the secrets of a source. Each is bound to its purpose when it is sealed,
 * so that records cannot be swapped. */
#include "source/git_secrets.h"

#include <openssl/crypto.h>

#include "base/hex.h"
#include "cluster/cluster_keys.h"
#include "pki/ssh_key.h"
#include "sys/seal.h"

enum {
    SEALED_MAX = 2 * GIT_TOKEN_MAX, /* maximum size of the base64 */
};

/* --- Record ----------------------------------------------------------------------------------- */

static const RecordField fields[] = {
    { "public_key", RECORD_TEXT, RECORD_STR_AT(GitSecrets, public_key), .max = GIT_TEXT_MAX,
      .help = "the SSH key of the server, for the operator of the repository" },
    { "ssh_key", RECORD_TEXT, RECORD_STR_AT(GitSecrets, ssh_key), .max = SEALED_MAX,
      .is_secret = true, .help = "its private half, sealed" },
    { "token", RECORD_TEXT, RECORD_STR_AT(GitSecrets, token), .max = SEALED_MAX, .is_secret = true,
      .help = "token for HTTPS, sealed" },
    { "webhook", RECORD_TEXT, RECORD_STR_AT(GitSecrets, webhook), .max = SEALED_MAX,
      .is_secret = true, .help = "secret that signs webhooks, sealed" },
    { RECORD_UNKNOWN_AT(GitSecrets, unknown) },
    { 0 },
};

static const RecordFormat format = {
    .format = "eden.source-secrets/1",
    .what = "the secrets of a source",
    .fields = fields,
    .size = sizeof(GitSecrets),
    .text_max = 64 << 10,
};

void git_secrets_print(const GitSecrets *secrets, Buf *out)
{
    record_print(&format, secrets, out);
}

bool git_secrets_read(Arena *arena, Str text, GitSecrets *out, Error *err)
{
    return record_read(&format, arena, text, RECORD_STORED, out, err);
}

int64_t git_secrets_find(Arena *arena, const State *state, Str prefix, Str name, GitSecrets *out)
{
    Str key = cluster_key_source_secrets(arena, prefix, name);
    (void)state_record(state, key, &format, arena, out);
    const StateEntry *entry = state_find(state, key);
    return entry == NULL ? 0 : entry->mod_revision; /* also set for unreadable records */
}

/* --- Changing --------------------------------------------------------------------------------- */

static Str bound_to(Arena *arena, const char *what, Str name)
{
    return arena_join(arena, str_from_c(what), STR(" "), name);
}

/* A token is also bound to the host. */
static bool bound_to_host(Arena *arena, Str name, Str url, Str *out, Error *err)
{
    GitUrl parsed;
    if (!git_url_parse(url, &parsed, err)) {
        return false;
    }
    *out =
        arena_join(arena, bound_to(arena, "token", name), STR(" "), git_url_origin(arena, &parsed));
    return true;
}

bool git_secrets_make_key(SourceVault *vault, Arena *arena, Str name, GitSecrets *secrets,
                          Error *err)
{
    AUTO_CLEAR(SshPrivateText) text = { 0 };
    Str comment = str_slice(arena_join(arena, STR("eden-"), name, STR_EMPTY), 0, SSH_COMMENT_MAX);
    return ssh_key_make(comment, arena, &text, &secrets->public_key, err) &&
           source_vault_seal(vault, arena, bound_to(arena, "ssh-key", name),
                             str_from(text.text, text.len), &secrets->ssh_key, err);
}

bool git_secrets_set_token(SourceVault *vault, Arena *arena, Str name, Str url, Str token,
                           GitSecrets *secrets, Error *err)
{
    Str bound;
    secrets->token = STR_EMPTY;
    return token.len == 0 || (bound_to_host(arena, name, url, &bound, err) &&
                              source_vault_seal(vault, arena, bound, token, &secrets->token, err));
}

bool git_secrets_make_webhook(SourceVault *vault, Arena *arena, Str name, GitSecrets *secrets,
                              Str *secret, Error *err)
{
    _Static_assert(GIT_WEBHOOK_SECRET == 2 * SEAL_KEY, "two digits per byte");
    SealKey random;
    char *digits = arena_alloc(arena, GIT_WEBHOOK_SECRET + 1);
    if (!seal_key_make(&random, err)) {
        return false;
    }
    hex_encode(random.bytes, SEAL_KEY, digits);
    seal_key_clear(&random);
    *secret = str_from(digits, GIT_WEBHOOK_SECRET);
    return source_vault_seal(vault, arena, bound_to(arena, "webhook", name), *secret,
                             &secrets->webhook, err);
}

/* --- Opening ---------------------------------------------------------------------------------- */

static void wipe(Str secret)
{
    OPENSSL_cleanse((char *)(uintptr_t)secret.data, secret.len);
}

void git_credentials_clear(GitCredentials *credentials)
{
    wipe(credentials->ssh_key);
    wipe(credentials->token);
    *credentials = (GitCredentials){ 0 };
}

static bool open_key(SourceVault *vault, Arena *arena, const GitSource *source,
                     const GitSecrets *secrets, Str *out, Error *err)
{
    return source_vault_open(vault, arena, bound_to(arena, "ssh-key", source->name),
                             secrets->ssh_key, out, err) ||
           error_wrap(err,
                      "its SSH key cannot be used; 'eden sources key %" STR_FMT
                      " --new' generates a new one",
                      STR_ARG(source->name));
}

static bool open_token(SourceVault *vault, Arena *arena, const GitSource *source,
                       const GitSecrets *secrets, Str *out, Error *err)
{
    Str bound;
    Error why;
    if (bound_to_host(arena, source->name, source->url, &bound, err) &&
        source_vault_open(vault, arena, bound, secrets->token, out, &why)) {
        return true;
    }
    return error_set(err, ERROR_INVALID,
                     "its token cannot be used: it was provided for a different host, or sealed "
                     "with a different key of the server; provide it again with 'eden sources set "
                     "%" STR_FMT " --token-file FILE'",
                     STR_ARG(source->name));
}

bool git_secrets_open(SourceVault *vault, Arena *arena, const GitSource *source,
                      const GitSecrets *secrets, GitCredentials *out, Error *err)
{
    GitUrl url;
    *out = (GitCredentials){ 0 };
    if (!git_url_parse(source->url, &url, err)) {
        return false;
    }
    bool has_key = url.transport == GIT_SSH && secrets->ssh_key.len > 0;
    bool has_token = url.transport == GIT_HTTPS && secrets->token.len > 0;
    return (!has_key || open_key(vault, arena, source, secrets, &out->ssh_key, err)) &&
           (!has_token || open_token(vault, arena, source, secrets, &out->token, err));
}

bool git_secrets_open_webhook(SourceVault *vault, Arena *arena, Str name, const GitSecrets *secrets,
                              Str *out)
{
    Error ignored;
    return secrets->webhook.len > 0 &&
           source_vault_open(vault, arena, bound_to(arena, "webhook", name), secrets->webhook, out,
                             &ignored);
}
