/* What to do about a server elsewhere that cannot be asked, or is not trusted. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

/* By what the connection failed with; `server` is the one that 'eden login' has asked, empty for other
 * commands, `name` that of the context, or empty. Empty: nothing is known that would help. */
Str far_hint(Arena *arena, Str server, Str name, const Error *err);
