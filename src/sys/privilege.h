/* User and privileges of this process. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* Permanently switches to `user`, with `group` as its only group, without capabilities and without
 * a way to gain any through exec. If the process runs as that user already, only the latter. */
MUST_CHECK bool privileges_drop(uid_t user, gid_t group, Error *err);

/* Temporarily switches file access to that user: new files belong to it, and only files that it may
 * read can be read. Affects all threads, until privileges_return, which aborts if it fails. */
MUST_CHECK bool privileges_lend(uid_t user, gid_t group, Error *err);
void privileges_return(void);

/* Disables core dumps and access by ptrace and /proc for users other than root, because the process
 * holds keys. Call it again after privileges_drop, which may reset it. */
void privileges_forbid_dumps(void);

bool running_as_root(void);
uid_t privileges_user(void); /* effective user */
/* Makes the process receive SIGTERM when its parent, which must be `parent`, exits. Call it after
 * privileges_drop, which resets it. Returns false if the parent has exited already. */
MUST_CHECK bool privileges_end_with_parent(pid_t parent);
