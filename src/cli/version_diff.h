/* Prints the differences between two versions of the site. */
#pragma once

#include "cli/cluster_client.h"

/* Compares two versions, given as API objects. Returns the exit code. */
int version_diff(Invocation *invocation, Value before, Value after);
