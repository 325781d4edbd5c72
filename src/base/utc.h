/* Formats and parses times: "2026-01-31T08:15:30Z". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Milliseconds since 1970; times outside the calendar are printed as that number. */
Str utc_text(Arena *arena, int64_t ms);
/* The reverse; returns false if the text does not have exactly that form. */
bool utc_parse(Str text, int64_t *ms);
