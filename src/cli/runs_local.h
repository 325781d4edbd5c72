/* The runs that this machine itself has recorded, without a cluster. */
#pragma once

#include "cli/invocation.h"

/* Whether `eden runs` means those: the options say so, or no server can be selected. */
bool runs_are_local(const Invocation *invocation);
/* Lists them, oldest first. Returns the exit code. */
int runs_local_list(Invocation *invocation);
