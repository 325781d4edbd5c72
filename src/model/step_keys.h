/* The keys of a step, for help and `eden explain`: from the tables that the parser uses. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef struct StepKey {
    const char *name;
    const char *help;    /* one sentence */
    const char *text;    /* paragraphs; may be NULL */
    const char *example; /* steps in YAML; may be NULL; the tests load it */
} StepKey;

/* Iterates over all of them, requisites last; false at the end. `*pos` is 0 at the start. */
bool step_key_next(uint32_t *pos, StepKey *out);

/* Whether a key is one of require, watch_in, onfail_all ... */
bool requisite_key_is(Str key);
