/* Fetches what is known about a run across nodes. */
#pragma once

#include "cli/fleet_report.h"
#include "cli/invocation.h"

/* All nodes and all events of a run, folded. Reports a failure and returns its exit code. */
int matrix_fetch(Invocation *invocation, Value run, RunMatrix *matrix, FleetReport *out);
