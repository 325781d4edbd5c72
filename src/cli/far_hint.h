/* What to do about a server elsewhere that cannot be asked, or is not trusted. Pure. */
#pragma once

#include "cli/contexts.h"

/* By what the connection to a server of the context failed with. `is_login`: 'eden login' has asked it,
 * of a context whose name may be empty. Empty: nothing is known that would help. */
Str far_hint(Arena *arena, const Context *context, bool is_login, const Error *err);
