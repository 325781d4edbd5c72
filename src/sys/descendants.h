/* All descendants of this process, including those that were orphaned, for a command that runs
 * other programs and must leave no process behind. */
#pragma once

#include <stdbool.h>

/* From now on, orphaned descendants become children of this process (a "subreaper", see prctl(2)),
 * however they have daemonized. */
void descendants_adopt(void);

/* Terminates and reaps all descendants: SIGTERM, and SIGKILL after a second. No other code of this
 * process may wait for children in the meantime. Returns false if some are left after a few
 * seconds, for example because they fork faster than they are killed. */
bool descendants_end(void);
