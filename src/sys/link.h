/* Network links in the network namespace of this process: creates and connects them, and sets
 * addresses (rtnetlink). Blocks until the kernel answers. Each function fails with ERROR_DENIED
 * without the required capability, and with ERROR_CONFLICT or ERROR_OS. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* Creates a bridge. */
MUST_CHECK bool link_make_bridge(const char *name, Error *err);
/* Creates a veth pair: `name` here, attached to `bridge`; `peer` in the network namespace of that
 * process. */
MUST_CHECK bool link_create_veth(const char *name, const char *bridge, const char *peer,
                                 pid_t process, Error *err);
/* "10.0.0.1", with the prefix length in bits. */
MUST_CHECK bool link_add_address(const char *name, const char *address, unsigned prefix,
                                 Error *err);
MUST_CHECK bool link_set_up(const char *name, Error *err);
