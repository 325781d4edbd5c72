/* Any bytes as moments and spans of time, as records, requests and sites spell them; and eight bytes
 * as a number of milliseconds. What is read prints as a text that reads back the same. */
#include "base/bug.h"
#include "base/utc.h"
#include "lang/duration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_moment(Arena *arena, Str text)
{
    int64_t ms = 0;
    if (utc_parse(text, &ms)) {
        BUG_IF(!str_eq(utc_text(arena, ms), text));
    }
}

static void read_span(Arena *arena, Str text)
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
    read_moment(&arena, text);
    read_span(&arena, text);
    if (size >= 8) {
        int64_t ms, again;
        double seconds;
        memcpy(&ms, data, sizeof ms);
        memcpy(&seconds, data, sizeof seconds);
        Str printed = utc_text(&arena, ms);
        /* Seconds is all that it tells. */
        BUG_IF(utc_parse(printed, &again) && (ms - again < 0 || ms - again > 999));
        BUG_IF(duration_from_seconds(seconds, &again) && (again < 0 || again > DURATION_MAX_MS));
    }
    return 0;
}
