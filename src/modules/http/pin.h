/* The digest of the first download from an address, noted in a hidden file beside what was
 * downloaded, so that it outlives that. */
#pragma once

#include "modules/call.h"

typedef struct Pin {
    bool found;
    Str digest; /* of what came; "sha256:..." */
} Pin;

/* ".eden-pin-0123456789abcdef", other for each name. */
Str pin_path(Arena *arena, Str file);
/* One of another address is not found. One that cannot be understood is a failure: what it says is
 * not to be trusted, and neither is what comes next. */
MUST_CHECK bool pin_read(Call *call, Str path, Str url, Pin *out, Error *err);
MUST_CHECK bool pin_write(Call *call, Str path, Str url, Str digest, Error *err);
