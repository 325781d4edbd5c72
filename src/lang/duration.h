/* Spans of time as sites write them: "15s", "5m", "1h30m", "250ms", "1.5h", or a plain number of
 * seconds. Units: ms, s, m, h, d, each at most once, larger ones first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Milliseconds, at most DURATION_MAX_MS. False when it is no such text. */
bool duration_parse(Str text, int64_t *out_ms);
/* What "5 minutes" or "1 h 30 min" was meant as: "5m", "1h30m". False when that is not clear. */
bool duration_suggest(Str text, Buf *out);
/* Seconds to milliseconds; false for what is negative, not finite, or too long. */
bool duration_from_seconds(double seconds, int64_t *out_ms);

/* The shortest such text: "0s", "250ms", "1h30m". */
void duration_put(Buf *out, int64_t ms);

/* A hundred years: whoever adds a few of them to a clock stays far from overflow. */
#define DURATION_MAX_MS ((int64_t)36525 * 24 * 3600 * 1000)
