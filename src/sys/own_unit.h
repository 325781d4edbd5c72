/* What this process is to systemd: whether it is kept running by it, who is ended with it, and
 * whether the file that it was started from is still that one. */
#pragma once

#include "sys/tree.h"

/* Whether systemd has started this very process, and not one of those before it: then it starts it
 * again, if the unit says so. */
bool own_unit_is_kept(void);

/* Whether the program of this process has been replaced or removed since it was started.
 * `kernel` is where proc and sys are: "/", but for tests. */
bool own_unit_is_outdated(const Tree *kernel);

/* How many processes are in the control group of this one, itself and `kept` aside (0: nobody):
 * stopping the unit kills them. Those in groups below it, which nobody makes here, are not counted.
 * Fails where the kernel does not tell. */
MUST_CHECK bool own_unit_others(const Tree *kernel, int64_t kept, uint32_t *out, Error *err);
