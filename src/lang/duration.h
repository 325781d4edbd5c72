/* Durations as written in sites: "15s", "5m", "1h30m", "250ms", "1.5h", or a plain number of
 * seconds. Units: ms, s, m, h, d, each at most once, larger ones first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Parses to milliseconds, at most DURATION_MAX_MS. Returns false if it is not a duration. */
bool duration_parse(Str text, int64_t *out_ms);
/* Suggests the canonical form of "5 minutes" or "1 h 30 min": "5m", "1h30m". Returns false if the
 * meaning is unclear. */
bool duration_suggest(Str text, Buf *out);
/* Converts seconds to milliseconds; returns false if negative, not finite, or too long. */
bool duration_from_seconds(double seconds, int64_t *out_ms);

/* Formats the shortest form: "0s", "250ms", "1h30m". */
void duration_put(Buf *out, int64_t ms);

/* A hundred years: adding a few of them to a clock is still far from overflow. */
#define DURATION_MAX_MS ((int64_t)36525 * 24 * 3600 * 1000)
