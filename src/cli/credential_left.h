/* What is still good of a context after it was forgotten here. */
#pragma once

#include "cli/contexts.h"

/* One line: how long it is good, and what takes it back. Empty: there was nothing in it, or it is in
 * files of its own, which stay. */
Str credential_left(Arena *arena, const Context *was);
/* The id of its token; empty: it has none. */
Str credential_token_id(Arena *arena, const Context *context);
/* The serial number of its certificate; empty: it has none. */
Str credential_serial(Arena *arena, const Context *context);
