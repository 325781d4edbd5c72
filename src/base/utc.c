#include "base/utc.h"

#include <time.h>

Str utc_text(Arena *arena, int64_t ms)
{
    time_t seconds = ms / 1000 - (ms % 1000 < 0);
    struct tm tm;
    if (gmtime_r(&seconds, &tm) == NULL || tm.tm_year > 8099 || tm.tm_year < -1900) {
        return arena_format(arena, "%lld", (long long)ms);
    }
    return arena_format(arena, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                        tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}
