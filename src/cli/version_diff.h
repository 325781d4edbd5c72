/* Prints the differences between two versions of the site. */
#pragma once

#include "cli/cluster_client.h"

/* Between two objects of the API. Returns the exit code. */
int version_diff(Invocation *invocation, Value before, Value after);
