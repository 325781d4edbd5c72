/* `eden runs compare`: on which nodes two runs had different outcomes or made different changes. */
#pragma once

#include "cli/cluster_client.h"

/* Returns the exit code. */
int runs_compare(Invocation *invocation, Str before_id, Str after_id);
