/* Raw keys in the store, for `get`, `put` and `delete`. */
#pragma once

#include "cli/cluster_client.h"

enum {
    KEYS_RESPONSE_MAX =
        128 << 20 /* size limit of a response: 16 MB of values with every byte escaped */
};

/* Reads a key or value from a response, as a string or in base64. Returns false if there is
 * neither. */
MUST_CHECK bool key_value_bytes(Arena *arena, Value map, const char *name, Str *out);

/* Option of commands that change keys. */
#define FORCE_OPTION                                                       \
    {                                                                      \
        .name = "force", .help = "allow changing keys that belong to eden" \
    }
/* Whether the keys may be changed; those under /eden require --force. Returns false after reporting
 * an error, for which the exit code is EXIT_USAGE. */
MUST_CHECK bool key_value_may_change(const Invocation *invocation, Str key, bool is_prefix);

/* Prints `revision N` and the result of a change, in the format that -o selects. Returns
 * EXIT_OK. */
int key_value_print_done(const Invocation *invocation, Value response, Str text);
