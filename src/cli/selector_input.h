/* Which objects a command is for, as --selector says: read where it was typed, so that what is wrong
 * with it is shown there and no server is asked. */
#pragma once

#include "cli/invocation.h"

typedef struct SelectorInput {
    bool is_given;
    Str text;
    Str name; /* the name or pattern of names, when that is all it has; else empty */
} SelectorInput;

/* EXIT_OK and the selector, or that none was given; else what is wrong was told, and it is the exit
 * code. `by_facts`: it may have expressions about facts of nodes (membership/facts_selector.h). */
int selector_input_read(const Invocation *invocation, bool by_facts, SelectorInput *out);
/* Nothing is like the selector: says so, and what may have been meant. Returns EXIT_NOT_MATCHED. */
int selector_input_none(const Invocation *invocation, const SelectorInput *selector);
