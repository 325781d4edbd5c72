/* OpenSSH public keys, as in its files. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "modules/call.h"

typedef struct SshKey {
    Str options; /* in authorized_keys; empty: none */
    Str type;    /* "ssh-ed25519" */
    Str blob;    /* base64 */
    Str comment; /* empty: none */
} SshKey;

/* Parses a key as users write it: an entire line as in a .pub file, or only base64, with `type`
 * (otherwise empty). Fails with ERROR_INVALID if it is not a key, or is a private key. */
MUST_CHECK bool ssh_key_read(Arena *arena, Str given, Str type, SshKey *out, Error *err);
/* Validates the parameters 'key' and 'type' of an action that has both. */
bool ssh_key_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                    Error *err);
/* Parses a line of authorized_keys. Returns false if it contains no key. */
bool ssh_key_parse(Str line, SshKey *out);
/* Parses "type blob comment". */
bool ssh_key_parse_rest(Str line, SshKey *out);
bool ssh_key_same(const SshKey *a, const SshKey *b);
/* Formats a line, without a newline. */
Str ssh_key_format(Arena *arena, const SshKey *key);
/* For display: type, last characters and comment. The characters of a key marked as secret are
 * omitted, because part of a secret would not be redacted. */
Str ssh_key_words(Call *call, const SshKey *key);

/* Reads the next word, which may contain quoted whitespace. */
Str ssh_next_word(Str *rest);
