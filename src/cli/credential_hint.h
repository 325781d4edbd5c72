/* Credentials of a deleted context that are still valid. */
#pragma once

#include "cli/contexts.h"

/* Returns one line: how long the credential stays valid and how to revoke it. Empty if the context
 * had none, or if it is in files, which are not deleted. */
Str credential_revoke_hint(Arena *arena, const Context *was);
/* The id of its token; may be empty. */
Str credential_token_id(Arena *arena, const Context *context);
/* The serial number of its certificate; may be empty. */
Str credential_serial(Arena *arena, const Context *context);
