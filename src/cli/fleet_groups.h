/* The targets of a run that need attention: nodes with the same outcome for the same reason are one
 * line. */
#pragma once

#include "cli/cluster_client.h"
#include "cli/run_outputs.h"

/* `nodes` as of GET /v1/runs/<id>/nodes; without those whose failure is among the outputs. Of
 * silent nodes, also the last event of the run. */
void fleet_groups_print(const Invocation *invocation, Value run, const List *nodes,
                        const RunOutputs *outputs);
