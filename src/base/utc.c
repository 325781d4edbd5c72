#include "base/utc.h"

#include <string.h>
#include <time.h>

static void put_digits(char *pos, uint32_t count, int number)
{
    while (count > 0) {
        pos[--count] = (char)('0' + number % 10);
        number /= 10;
    }
}

/* Without printf, because lists have several times in every row. */
Str utc_text(Arena *arena, int64_t ms)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    time_t seconds = ms / 1000 - (ms % 1000 < 0);
    struct tm tm;
    if (gmtime_r(&seconds, &tm) == NULL || tm.tm_year > 8099 || tm.tm_year < -1900) {
        return arena_format(arena, "%lld", (long long)ms);
    }
    char *text = arena_copy_c(arena, str_from_c(form));
    put_digits(text, 4, tm.tm_year + 1900);
    put_digits(text + 5, 2, tm.tm_mon + 1);
    put_digits(text + 8, 2, tm.tm_mday);
    put_digits(text + 11, 2, tm.tm_hour);
    put_digits(text + 14, 2, tm.tm_min);
    put_digits(text + 17, 2, tm.tm_sec);
    return str_from(text, sizeof form - 1);
}

/* Whether the text has digits where the form has '0', and is equal to it elsewhere. */
static bool matches_form(Str text, const char *form)
{
    if (text.len != strlen(form)) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (form[i] == '0' ? !ascii_is_digit(text.data[i]) : text.data[i] != form[i]) {
            return false;
        }
    }
    return true;
}

static int number_at(Str text, size_t from, size_t to)
{
    int64_t number = 0;
    (void)str_to_i64(str_slice(text, from, to), &number);
    return (int)number;
}

bool utc_parse(Str text, int64_t *ms)
{
    if (!matches_form(text, "0000-00-00T00:00:00Z")) {
        return false;
    }
    struct tm tm = {
        .tm_year = number_at(text, 0, 4) - 1900,
        .tm_mon = number_at(text, 5, 7) - 1,
        .tm_mday = number_at(text, 8, 10),
        .tm_hour = number_at(text, 11, 13),
        .tm_min = number_at(text, 14, 16),
        .tm_sec = number_at(text, 17, 19),
    };
    struct tm same = tm;
    int64_t seconds = timegm(&same);
    if (same.tm_mon != tm.tm_mon || same.tm_mday != tm.tm_mday || same.tm_hour != tm.tm_hour ||
        same.tm_min != tm.tm_min || same.tm_sec != tm.tm_sec) {
        return false; /* such as June 31, which the calendar normalizes */
    }
    *ms = seconds * 1000;
    return true;
}
