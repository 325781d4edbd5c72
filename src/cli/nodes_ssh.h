/* `eden nodes approve --ssh` and `eden nodes ssh-key`: approves machines by logging in to them over
 * SSH. */
#pragma once

#include "cli/cluster_client.h"

/* Whether an option that requires --ssh was given without it; then a usage error was printed. */
bool nodes_ssh_is_misused(const Invocation *invocation);
/* Returns the exit code. */
int nodes_ssh_approve(Invocation *invocation, Str name);
int nodes_ssh_key(Invocation *invocation);
