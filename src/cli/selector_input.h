/* Which objects a command is for, as --selector says: read where it was typed, so that what is wrong
 * with it is shown there and no server is asked. */
#pragma once

#include "cli/invocation.h"
#include "model/selector.h"

/* EXIT_OK and the selector, NULL when none was given; else what is wrong was told, and it is the exit
 * code. */
int selector_input_read(const Invocation *invocation, const Selector **out);
/* Nothing is like the selector: says so, and what may have been meant. Returns EXIT_NOT_MATCHED. */
int selector_input_none(const Invocation *invocation, const Selector *selector);
