/* Moments as text: "2026-01-31T08:15:30Z". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Milliseconds since 1970; what no calendar can hold is shown as that number. */
Str utc_text(Arena *arena, int64_t ms);
/* The reverse; exactly that form. False: it is none. */
bool utc_parse(Str text, int64_t *ms);
