/* What can stand on a step, for help and `eden explain`: from the rows that the parser reads by. */
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

/* Walks all of them, requisites behind the others; false at the end. Starts with `*at` 0. */
bool step_key_next(uint32_t *at, StepKey *out);

/* Whether a key is one of require, watch_in, onfail_all ... */
bool requisite_key_is(Str key);
