/* Whether a record of the server's own can be read by those who need it. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

/* True also for keys whose values nobody interprets. Fails as the record's reader does. */
MUST_CHECK bool record_check(Arena *arena, Str prefix, Str key, Str value, Error *err);
