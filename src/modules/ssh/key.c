#include "modules/ssh/key.h"

#include "base/base64.h"
#include "lang/scrub.h"

enum {
    KEY_MAX = 16 << 10,
    KEY_TAIL_SHOWN = 12 /* number of trailing characters of a key that are shown */
};

static bool is_type(Str text)
{
    static const char *const types[] = {
        "ssh-ed25519",
        "ssh-rsa",
        "ssh-dss",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp521",
        "sk-ssh-ed25519@openssh.com",
        "sk-ecdsa-sha2-nistp256@openssh.com",
    };
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (str_eq_c(text, types[i])) {
            return true;
        }
    }
    return str_ends(text, STR("-cert-v01@openssh.com"));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

Str ssh_next_word(Str *rest)
{
    size_t at = 0;
    bool quoted = false;
    while (at < rest->len && is_blank(rest->data[at])) {
        at++;
    }
    size_t start = at;
    for (; at < rest->len && (quoted || !is_blank(rest->data[at])); at++) {
        if (rest->data[at] == '\\' && at + 1 < rest->len && rest->data[at + 1] == '"') {
            at++;
        } else if (rest->data[at] == '"') {
            quoted = !quoted;
        }
    }
    Str word = str_slice(*rest, start, at);
    *rest = str_from_offset(*rest, at);
    return word;
}

bool ssh_key_parse_rest(Str line, SshKey *out)
{
    *out = (SshKey){ .options = STR_EMPTY, .type = ssh_next_word(&line) };
    out->blob = ssh_next_word(&line);
    out->comment = str_trim(line);
    return is_type(out->type) && out->blob.len > 0;
}

bool ssh_key_parse(Str line, SshKey *out)
{
    Str rest = line;
    Str first = ssh_next_word(&rest);
    if (first.len == 0 || first.data[0] == '#') {
        return false;
    }
    if (is_type(first)) {
        return ssh_key_parse_rest(line, out);
    }
    bool ok = ssh_key_parse_rest(rest, out);
    out->options = first;
    return ok;
}

/* Reads the next of the strings that a key consists of, each preceded by its length (RFC 4251,
 * section 5). */
static bool next_string(Str *rest, Str *out)
{
    size_t len = 0;
    for (size_t i = 0; i < 4 && i < rest->len; i++) {
        len = len << 8 | (unsigned char)rest->data[i];
    }
    if (rest->len < 4 || len > rest->len - 4) {
        return false;
    }
    *out = str_slice(*rest, 4, 4 + len);
    *rest = str_from_offset(*rest, 4 + len);
    return true;
}

/* The data repeats the type, followed by at least one string, and must be complete. */
static bool blob_matches_type(Arena *arena, Str blob, Str type)
{
    Str bytes, one;
    if (!base64_decode(arena, blob, &bytes) || !next_string(&bytes, &one) || !str_eq(one, type) ||
        bytes.len == 0) {
        return false;
    }
    while (bytes.len > 0) {
        if (!next_string(&bytes, &one)) {
            return false;
        }
    }
    return true;
}

bool ssh_key_read(Arena *arena, Str given, Str type, SshKey *out, Error *err)
{
    given = str_trim(given);
    if (str_find(given, STR("PRIVATE KEY-----"), 0) != STR_NOT_FOUND) {
        return error_set(err, ERROR_INVALID, "this is a private key; use the public key");
    }
    if (given.len > KEY_MAX || str_find(given, STR("\n"), 0) != STR_NOT_FOUND ||
        memchr(given.data, '\0', given.len) != NULL) {
        return error_set(err, ERROR_INVALID, "'key' must be one line, as in a .pub file");
    }
    Str line = given;
    if (type.len > 0 && !str_starts(given, type)) {
        line = arena_format(arena, "%" STR_FMT " %" STR_FMT, STR_ARG(type), STR_ARG(given));
    }
    if (!ssh_key_parse_rest(line, out)) {
        return error_set(err, ERROR_INVALID,
                         "'key' must be a type such as ssh-ed25519 followed by the key, as in a "
                         ".pub file; use the parameter 'options' for options");
    }
    return (type.len == 0 || str_eq(type, out->type)) &&
                   blob_matches_type(arena, out->blob, out->type)
               ? true
               : error_set(err, ERROR_INVALID, "this is not a complete key of type %" STR_FMT,
                           STR_ARG(type.len > 0 ? type : out->type));
}

bool ssh_key_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                    Error *err)
{
    SshKey ignored;
    Str key = params_text(action->params, params, "key");
    Str type = params_text(action->params, params, "type");
    bool lone = str_find(str_trim(key), STR(" "), 0) == STR_NOT_FOUND;
    *at = "key";
    /* If 'key' has only the base64 part, the type may not be known until the step runs. */
    return key.len == 0 || (lone && type.len == 0) || ssh_key_read(arena, key, type, &ignored, err);
}

bool ssh_key_same(const SshKey *a, const SshKey *b)
{
    return str_eq(a->type, b->type) && str_eq(a->blob, b->blob);
}

Str ssh_key_format(Arena *arena, const SshKey *key)
{
    return arena_format(arena, "%" STR_FMT "%s%" STR_FMT " %" STR_FMT "%s%" STR_FMT,
                        STR_ARG(key->options), key->options.len > 0 ? " " : "", STR_ARG(key->type),
                        STR_ARG(key->blob), key->comment.len > 0 ? " " : "", STR_ARG(key->comment));
}

Str ssh_key_words(Call *call, const SshKey *key)
{
    Str line = arena_join(call->arena, key->type, STR(" "), key->blob);
    size_t from = key->blob.len > KEY_TAIL_SHOWN ? key->blob.len - KEY_TAIL_SHOWN : 0;
    Str tail =
        str_eq(call_scrub(call, line), line) ? str_from_offset(key->blob, from) : STR(SCRUB_MARK);
    return arena_format(call->arena, "%" STR_FMT " ...%" STR_FMT "%s%" STR_FMT, STR_ARG(key->type),
                        STR_ARG(tail), key->comment.len > 0 ? " " : "", STR_ARG(key->comment));
}
