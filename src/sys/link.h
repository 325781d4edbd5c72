/* Links of the network namespace that this process is in: made, joined, given addresses. Blocks for
 * the kernel's answer. Each fails with ERROR_DENIED without the right to set up this namespace, and
 * with ERROR_CONFLICT or ERROR_OS. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* A switch. */
MUST_CHECK bool link_make_bridge(const char *name, Error *err);
/* A cable: `name` here, plugged into `bridge`; `peer` in the network namespace of that process. */
MUST_CHECK bool link_make_cable(const char *name, const char *bridge, const char *peer,
                                pid_t process, Error *err);
/* "10.0.0.1", with as many bits of network. */
MUST_CHECK bool link_add_address(const char *name, const char *address, unsigned prefix,
                                 Error *err);
MUST_CHECK bool link_raise(const char *name, Error *err);
