/* What `eden doctor` sees of the clusters that this user has logged in to. */
#pragma once

#include "cli/cluster_end.h"
#include "cli/doctor_view.h"
#include "cli/invocation.h"

/* Fills in the contexts of a view. Asks the server of the one that commands ask, `end`, which takes a
 * few seconds at most; also of its cluster, unless this machine is a server itself and nobody has said
 * that the other one is meant. */
void doctor_look_contexts(const Invocation *invocation, const ClusterEnd *end, DoctorView *out);
