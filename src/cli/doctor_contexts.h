/* Contexts as seen by `eden doctor`. */
#pragma once

#include "cli/cluster_endpoint.h"
#include "cli/doctor_view.h"
#include "cli/invocation.h"

/* Fills in the contexts of a view. Queries the server that commands use, `endpoint`, which takes a
 * few seconds at most. Also queries its cluster, unless this machine is itself a server and
 * `endpoint` was not selected explicitly. */
void doctor_inspect_contexts(const Invocation *invocation, const ClusterEndpoint *endpoint,
                             DoctorView *out);
