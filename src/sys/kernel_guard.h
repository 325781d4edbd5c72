/* Keeps this process, and all that it starts, from changing the kernel that everybody shares:
 * namespaces give a process its own files and network, but not its own modules, clock or swap. */
#pragma once

#include "base/error.h"

/* For good. `network`: also no settings of the network, because it is the machine's own. */
MUST_CHECK bool kernel_guard_raise(bool network, Error *err);
