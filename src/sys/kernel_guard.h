/* Keeps this process, and all that it starts, from changing the kernel that everybody shares:
 * namespaces give a process its own files and network, but not its own modules, clock or swap. */
#pragma once

#include "base/error.h"

/* For good. `network`: also no settings of the network, because it is the machine's own. */
MUST_CHECK bool kernel_guard_raise(bool network, Error *err);
/* More of it, for a systemd and what it starts: it takes these rights as leave to mount debugfs and
 * the like, and to read the log of the kernel. */
MUST_CHECK bool kernel_guard_raise_for_init(Error *err);
