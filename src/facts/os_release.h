/* What /etc/os-release says, for the facts about the operating system. */
#pragma once

#include "facts/fact.h"

/* The value of a key such as "ID", without quotes; empty when there is none. */
MUST_CHECK bool os_release_get(const FactWorld *world, Arena *arena, const char *key, Str *out,
                               Error *err);
