/* As whom the process acts. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* For good: it is that user, in that group alone, without any capability, and no program that it
 * starts can get one. When it is that user already, only the latter. */
MUST_CHECK bool privileges_drop(uid_t user, gid_t group, Error *err);

/* For a while: files belong to that user, and what they may not read cannot be read. Of all threads,
 * until privileges_return, which ends the process when it fails. */
MUST_CHECK bool privileges_lend(uid_t user, gid_t group, Error *err);
void privileges_return(void);

/* No core is written of this process, and nobody but root looks into it: it holds keys. To be called
 * again after privileges_drop, which may forget it. */
void privileges_forbid_dumps(void);

bool privileges_are_root(void);
uid_t privileges_user(void); /* as whom it acts */
/* Whether the process ends, by SIGTERM, with its parent, which must be `parent`. To be asked after
 * privileges_drop, which forgets it. False when that one has ended already. */
MUST_CHECK bool privileges_end_with_parent(pid_t parent);
