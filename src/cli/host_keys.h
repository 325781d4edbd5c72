/* Host keys of SSH servers, from options and users' known_hosts files. */
#pragma once

#include "cli/invocation.h"
#include "lang/value.h"

/* Adds the keys of a host as "type base64". Names in the file may be hashed, which ssh-keygen
 * handles. Fails with ERROR_NOT_FOUND if the file has none. */
MUST_CHECK bool host_keys_find(const Invocation *invocation, const char *file, Str host,
                               uint16_t port, List *keys, Error *err);
/* Adds those given with --host-key. Returns false after a usage error. */
MUST_CHECK bool host_keys_given(const Invocation *invocation, List *keys);
