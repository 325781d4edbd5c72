/* Runs that were left when the machine restarted. */
#pragma once

#include "cli/invocation.h"

/* `apply --resume`: carries the noted commands out, one after another. Returns the exit code: that of
 * the last one that was not 0. */
int run_resume(Invocation *invocation);
