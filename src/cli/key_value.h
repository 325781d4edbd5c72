/* Raw keys of the store on the command line, for `get`, `put` and `delete`. */
#pragma once

#include "cli/cluster_client.h"

enum {
    KEYS_ANSWER_MAX = 128 << 20 /* bytes: values of 16 MB, each byte escaped */
};

/* The key or value of an answer, which stands there as text or in base64. False when neither. */
MUST_CHECK bool key_value_bytes(Arena *arena, Value map, const char *name, Str *out);

/* `revision N` and what else the answer of a change says, as -o asks. Returns EXIT_OK. */
int key_value_print_done(const Invocation *invocation, Value answer, Str text);
