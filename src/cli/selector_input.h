/* Parses --selector locally, so that errors are shown where it was typed and no request is sent. */
#pragma once

#include "cli/invocation.h"

typedef struct SelectorInput {
    bool is_given;
    Str text;
    Str name; /* set if the selector is only a name or a pattern of names; otherwise empty */
} SelectorInput;

/* Returns EXIT_OK, possibly without a selector; otherwise reports the error and returns its exit
 * code. `by_facts`: allows expressions about facts of nodes (membership/facts_selector.h). */
int selector_input_read(const Invocation *invocation, bool by_facts, SelectorInput *out);
/* Reports that nothing matches, with a suggestion. Returns EXIT_NOT_MATCHED. */
int selector_input_no_match(const Invocation *invocation, const SelectorInput *selector);
