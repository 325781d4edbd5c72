/* Input: timestamps and durations as they appear in records, requests and sites; and eight bytes as
 * a number of milliseconds. Invariant: an accepted value, printed, reads back the same. */
#include "base/bug.h"
#include "base/utc.h"
#include "lang/duration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_timestamp(Arena *arena, Str text)
{
    int64_t ms = 0;
    if (utc_parse(text, &ms)) {
        BUG_IF(!str_eq(utc_text(arena, ms), text));
    }
}

static void read_duration(Arena *arena, Str text)
{
    Buf printed = buf_make_in(arena, BUF_UNLIMITED), meant = buf_make_in(arena, BUF_UNLIMITED);
    int64_t ms, again;
    if (duration_parse(text, &ms)) {
        BUG_IF(ms < 0 || ms > DURATION_MAX_MS);
        duration_put(&printed, ms);
        BUG_IF(!duration_parse(buf_str(&printed), &again) || again != ms);
    } else if (duration_suggest(text, &meant)) {
        BUG_IF(!duration_parse(buf_str(&meant), &ms));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 16 << 20);
    Str text = str_from((const char *)data, size);
    read_timestamp(&arena, text);
    read_duration(&arena, text);
    if (size >= 8) {
        int64_t ms, again;
        double seconds;
        memcpy(&ms, data, sizeof ms);
        memcpy(&seconds, data, sizeof seconds);
        Str printed = utc_text(&arena, ms);
        /* It has a resolution of seconds. */
        BUG_IF(utc_parse(printed, &again) && (ms - again < 0 || ms - again > 999));
        BUG_IF(duration_from_seconds(seconds, &again) && (again < 0 || again > DURATION_MAX_MS));
    }
    return 0;
}
