/* What the cluster's record of this machine says, as its agent was told last: also while the agent is
 * down. Leaving the cluster takes it away. */
#pragma once

#include "cluster/node_record.h"

/* `state_dir` is that of the agent. False with ERROR_NOT_FOUND: this machine is no node of a cluster,
 * or was told nothing yet; ERROR_DENIED: it is for root alone; ERROR_INVALID: it is damaged. */
MUST_CHECK bool own_node_record(const char *state_dir, Arena *arena, NodeRecord *out, Error *err);
