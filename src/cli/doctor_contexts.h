/* What `eden doctor` sees of the clusters that this user has logged in to. */
#pragma once

#include "cli/doctor_view.h"
#include "cli/invocation.h"

/* Fills in the contexts of a view. Asks the server of one of them, which takes a few seconds at
 * most. */
void doctor_look_contexts(const Invocation *invocation, DoctorView *out);
