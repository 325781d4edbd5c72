/* The host name, where the facts `name` and `fqdn` start from. */
#pragma once

#include "facts/fact.h"

/* As the kernel has it; for a system that is not running, the first line of its /etc/hostname. May
 * hold dots; empty when there is none. */
MUST_CHECK bool host_name_read(const FactWorld *world, Arena *arena, Str *out, Error *err);
/* Up to the first dot. */
Str host_name_short(Str name);
