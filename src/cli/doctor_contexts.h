/* Contexts as seen by `eden doctor`. */
#pragma once

#include "cli/cluster_end.h"
#include "cli/doctor_view.h"
#include "cli/invocation.h"

/* Fills in the contexts of a view. Queries the server that commands use, `end`, which takes a few
 * seconds at most. Also queries its cluster, unless this machine is itself a server and `end` was
 * not selected explicitly. */
void doctor_look_contexts(const Invocation *invocation, const ClusterEnd *end, DoctorView *out);
