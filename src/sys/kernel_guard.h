/* Prevents this process and its children from changing the shared kernel: namespaces isolate files
 * and network, but not modules, clock or swap. */
#pragma once

#include "base/error.h"

/* Permanent. `network`: also forbids network settings, because the network is the machine's own. */
MUST_CHECK bool kernel_guard_raise(bool network, Error *err);
/* Drops more capabilities, for a systemd: with these it would mount debugfs and the like, and read
 * the kernel log. */
MUST_CHECK bool kernel_guard_raise_for_init(Error *err);
