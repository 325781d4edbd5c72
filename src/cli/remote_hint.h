/* Hints for a remote server that is unreachable or not trusted. Pure. */
#pragma once

#include "cli/contexts.h"

/* Chooses a hint by the error of the connection. `is_login`: the command is 'eden login', and the
 * context's name may be empty. Empty if there is no useful hint. */
Str remote_hint(Arena *arena, const Context *context, bool is_login, const Error *err);
