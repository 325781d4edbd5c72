/* Public keys of OpenSSH as its files have them; pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "modules/call.h"

typedef struct SshKey {
    Str options; /* of authorized_keys; empty: none */
    Str type;    /* "ssh-ed25519" */
    Str blob;    /* base64 */
    Str comment; /* empty: none */
} SshKey;

/* A key as a user gives it: a whole line such as a .pub file has, or the base64 alone, with `type`
 * (else empty). What is no key, a private one too, is ERROR_INVALID. */
MUST_CHECK bool ssh_key_read(Arena *arena, Str given, Str type, SshKey *out, Error *err);
/* What is wrong with parameters 'key' and 'type', for rows that have both. */
bool ssh_key_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                    Error *err);
/* A line of authorized_keys; false when it holds no key. */
bool ssh_key_parse(Str line, SshKey *out);
/* "type blob comment" of a line, from `line` on. */
bool ssh_key_parse_rest(Str line, SshKey *out);
bool ssh_key_same(const SshKey *a, const SshKey *b);
/* As a line, without a line end. */
Str ssh_key_format(Arena *arena, const SshKey *key);
/* For people: its type, its last letters and its comment. Of a key that is secret no letters: as a part
 * of it, they would not be found. */
Str ssh_key_words(Call *call, const SshKey *key);

/* The next word; white space inside of quotes belongs to it. */
Str ssh_next_word(Str *rest);
