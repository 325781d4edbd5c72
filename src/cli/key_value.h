/* Raw keys of the store on the command line, for `get`, `put` and `delete`. */
#pragma once

#include "cli/cluster_client.h"

enum {
    KEYS_ANSWER_MAX = 128 << 20 /* bytes: values of 16 MB, each byte escaped */
};

/* The key or value of an answer, which stands there as text or in base64. False when neither. */
MUST_CHECK bool key_value_bytes(Arena *arena, Value map, const char *name, Str *out);

/* For the options of commands that change keys. */
#define FORCE_OPTION                                                     \
    {                                                                    \
        .name = "force", .help = "allow keys that belong to eden itself" \
    }
/* Whether the keys may be changed: those below /eden are the cluster itself, and only --force does
 * that. What is wrong was told when it is false, and the exit code is EXIT_USAGE. */
MUST_CHECK bool key_value_may_change(const Invocation *invocation, Str key, bool is_prefix);

/* `revision N` and what else the answer of a change says, as -o asks. Returns EXIT_OK. */
int key_value_print_done(const Invocation *invocation, Value answer, Str text);
