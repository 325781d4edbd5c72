#include "source/git_access.h"

#include <stdio.h>

#include "base/log.h"
#include "base/visible.h"
#include "lang/scrub.h"
#include "membership/ssh_target.h"
#include "sys/process.h"

#define KNOWN_HOSTS "known_hosts"
#define SSH_KEY     "ssh_key"
#define CREDENTIAL  "credential"
#define CA          "ca.pem"
#define SIGNERS     "signers"

/* --- Files ------------------------------------------------------------------------------------ */

/* Writes a file, or removes it if the content is empty. */
static bool put_file(const Directory *directory, const char *name, Str text, Error *err)
{
    return text.len > 0 ? directory_write(directory, name, text, false, err)
                        : !directory_has(directory, name) || directory_remove(directory, name, err);
}

static bool known_hosts(Arena *arena, const GitSource *source, Str *out, Error *err)
{
    SshTrust trust = { 0 };
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < source->host_key_count; i++) {
        if (!ssh_trust_add(arena, &trust, source->host_keys[i], err)) {
            return false;
        }
        buf_put_format(&text, GIT_ACCESS_HOST " %" STR_FMT " %" STR_FMT "\n",
                       STR_ARG(trust.keys[i].type), STR_ARG(trust.keys[i].blob));
    }
    *out = buf_str(&text);
    return true;
}

/* In the format of git-credential(1). Servers that only check the token accept any user name. */
static Str credential(Arena *arena, const GitUrl *url, Str token)
{
    Str user = url->user.len > 0 ? url->user : STR("x-access-token");
    return token.len == 0 ? STR_EMPTY
                          : arena_format(arena, "username=%" STR_FMT "\npassword=%" STR_FMT "\n",
                                         STR_ARG(user), STR_ARG(token));
}

/* The text needs no quoting: see git_url_parse(). The helper is used for no other host, not even
 * after a redirect. */
static void put_config(Arena *arena, const GitSource *source, const GitUrl *url, Str token,
                       Buf *config)
{
    if (token.len > 0) {
        buf_put_format(config,
                       "[credential \"%" STR_FMT "\"]\n"
                       "\thelper = \"!f() { test \\\"$1\\\" = get && cat " CREDENTIAL "; }; f\"\n",
                       STR_ARG(git_url_origin(arena, url)));
    }
    if (source->ca.len > 0) {
        buf_put_c(config, "[http]\n\tsslCAInfo = " CA "\n");
    }
    if (source->signers.len > 0) {
        buf_put_c(config, "[gpg]\n\tformat = ssh\n\tminTrustLevel = fully\n"
                          "[gpg \"ssh\"]\n\tallowedSignersFile = " SIGNERS "\n"
                          "[gpg \"openpgp\"]\n\tprogram = false\n"
                          "[gpg \"x509\"]\n\tprogram = false\n");
    }
}

bool git_access_prepare(const Directory *directory, Arena *arena, const GitSource *source,
                        const GitCredentials *credentials, Buf *config, Error *err)
{
    GitUrl url;
    Str hosts;
    if (!git_url_parse(source->url, &url, err) || !known_hosts(arena, source, &hosts, err)) {
        return false;
    }
    put_config(arena, source, &url, credentials->token, config);
    return put_file(directory, KNOWN_HOSTS, hosts, err) &&
           put_file(directory, CA, source->ca, err) &&
           put_file(directory, SIGNERS, source->signers, err) &&
           put_file(directory, SSH_KEY, credentials->ssh_key, err) &&
           put_file(directory, CREDENTIAL, credential(arena, &url, credentials->token), err);
}

void git_access_end(const Directory *directory)
{
    Error err;
    if (!put_file(directory, SSH_KEY, STR_EMPTY, &err) ||
        !put_file(directory, CREDENTIAL, STR_EMPTY, &err)) {
        log_warning("cannot remove the credentials of a source", LOG_C("error", err.text));
    }
}

/* --- Signatures ------------------------------------------------------------------------------- */

bool git_access_check_signature(Str output, Error *err)
{
    Str rest = output, state = STR_EMPTY, signer = STR_EMPTY, key = STR_EMPTY;
    bool is_complete = str_split_next(&rest, '\0', &state) &&
                       str_split_next(&rest, '\0', &signer) && str_split_next(&rest, '\0', &key);
    char letter = is_complete && state.len == 1 ? state.data[0] : '?';
    AUTO_CLEAR(Buf) printed = buf_make(200);
    visible_put(&printed, str_slice(key, 0, 100));
    switch (letter) {
    case 'G': return true;
    case 'N':
        return error_set(err, ERROR_DENIED,
                         "the commit is not signed, but the source has 'signers'");
    case 'U':
        return error_set(err, ERROR_DENIED,
                         "the commit is signed with the key %" STR_FMT
                         ", which is not one of the 'signers' of the source",
                         STR_ARG(buf_str(&printed)));
    case 'X':
    case 'Y':
        return error_set(err, ERROR_DENIED, "the signature of the commit, or its key, has expired");
    default:
        return error_set(err, ERROR_DENIED,
                         "the commit is not signed by one of the 'signers' of the source");
    }
}

/* --- Errors ----------------------------------------------------------------------------------- */

static bool contains(Str text, const char *words)
{
    return str_find(text, str_from_c(words), 0) != STR_NOT_FOUND;
}

/* "https://ann:secret@host/" becomes "https://host/". */
static void drop_users(Str text, Buf *out)
{
    for (size_t at = 0, next; at < text.len; at = next) {
        size_t scheme = str_find(text, STR("://"), at);
        next = scheme == STR_NOT_FOUND ? text.len : scheme + 3;
        buf_put(out, str_slice(text, at, next));
        size_t end = next, last = next;
        while (end < text.len && strchr("/ '\"\n", text.data[end]) == NULL) {
            end++;
            if (text.data[end - 1] == '@') {
                last = end;
            }
        }
        next = last;
    }
}

void git_access_scrub(const GitCredentials *credentials, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO(Scrubber) *scrubber = NULL;
    SecretSet secrets;
    Error ignored;
    arena_init(&arena, ARENA_UNLIMITED);
    Buf plain = buf_make_in(&arena, BUF_UNLIMITED), clean = buf_make_in(&arena, BUF_UNLIMITED);
    secret_set_init(&secrets, &arena);
    secret_set_add(&secrets, credentials->token);
    secret_set_add_lines(&secrets, credentials->ssh_key);
    drop_users(str_from_c(err->text), &plain);
    if (!scrubber_new(&secrets, &scrubber, &ignored)) {
        error_set(err, err->kind, "it failed, and its output may contain a secret");
        return;
    }
    scrubber_apply_cut(scrubber, buf_str(&plain), &clean);
    error_set(err, err->kind, "%" STR_FMT, STR_ARG(buf_str(&clean)));
}

Str git_access_reason(Arena *arena, Str output)
{
    static const char *const always[] = { "Please make sure you have the correct access rights",
                                          "and the repository exists.",
                                          "fatal: Could not read from remote repository.",
                                          "fatal: the remote end hung up unexpectedly" };
    Buf words = buf_make_in(arena, BUF_UNLIMITED);
    Str rest = output, line;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        bool is_known = false;
        line = str_trim(line);
        for (size_t i = 0; i < COUNT_OF(always); i++) {
            is_known = is_known || str_eq_c(line, always[i]);
        }
        if (!is_known && line.len > 0) {
            buf_put(&words, str_starts(line, STR("fatal: ")) ? str_from_offset(line, 7) : line);
            buf_put_char(&words, '\n');
        }
    }
    Buf printed = buf_make_in(arena, BUF_UNLIMITED);
    visible_put(&printed, process_summary(arena, str_trim(buf_str(&words))));
    return buf_str(&printed);
}

static bool explain_ssh(const GitSource *source, const GitUrl *url, Str output, Error *err)
{
    if (contains(output, "IDENTIFICATION HAS CHANGED") ||
        contains(output, "Host key verification failed") ||
        contains(output, "No ED25519 host key is known") ||
        contains(output, "no matching host key type")) {
        error_set(err, ERROR_DENIED,
                  "%" STR_FMT " has none of the host keys of this source: it is a different "
                  "server, someone is intercepting the connection, or its keys have changed",
                  STR_ARG(url->host));
        return true;
    }
    if (contains(output, "Permission denied")) {
        return error_set(err, ERROR_DENIED,
                         "%" STR_FMT " rejected the SSH key of this source; run "
                         "'eden sources key %" STR_FMT "' and add the key to the repository, with "
                         "read permission",
                         STR_ARG(url->host), STR_ARG(source->name)) ||
               true;
    }
    return false;
}

static bool explain_https(const GitSource *source, const GitUrl *url,
                          const GitCredentials *credentials, Str output, Error *err)
{
    if (contains(output, "could not read Username") ||
        contains(output, "could not read Password") || contains(output, "Authentication failed")) {
        return error_set(err, ERROR_DENIED,
                         credentials->token.len > 0
                             ? "%" STR_FMT " rejected the token of this source; replace it with "
                               "'eden sources set %" STR_FMT " --token-file FILE'"
                             : "%" STR_FMT " requires a token to read this repository: 'eden "
                               "sources set %" STR_FMT " --token-file FILE'",
                         STR_ARG(url->host), STR_ARG(source->name)) ||
               true;
    }
    if (contains(output, "certificate verification failed") ||
        contains(output, "certificate problem")) {
        return error_set(err, ERROR_DENIED, "the certificate of %" STR_FMT " is not from %s",
                         STR_ARG(url->host),
                         source->ca.len > 0 ? "the CA of this source"
                                            : "a CA that the server's system trusts; 'eden sources "
                                              "set NAME --ca FILE' adds one") ||
               true;
    }
    return false;
}

bool git_access_explain(const GitSource *source, const GitCredentials *credentials, Str output,
                        Error *err)
{
    GitUrl url;
    Error ignored;
    if (!git_url_parse(source->url, &url, &ignored)) {
        return false;
    }
    return (url.transport == GIT_SSH && explain_ssh(source, &url, output, err)) ||
           (url.transport == GIT_HTTPS && explain_https(source, &url, credentials, output, err));
}
