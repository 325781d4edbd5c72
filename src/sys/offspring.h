/* Everything that comes from this process, also what has left its parent behind: for a command that
 * runs others and leaves nothing. */
#pragma once

#include <stdbool.h>

/* From now on processes below this one whose parent ends are its own children (a "subreaper", see
 * prctl(2)), however they have detached themselves. */
void offspring_adopt(void);

/* Ends all children, and theirs, and takes their exit codes: SIGTERM, and after a second SIGKILL.
 * Nobody else of this process may wait for children meanwhile. False: some were still there after a
 * few seconds, as when they multiply faster than they end. */
bool offspring_end(void);
