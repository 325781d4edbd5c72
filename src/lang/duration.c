#include "lang/duration.h"

#include <math.h>

#include "lang/number.h"

typedef struct Unit {
    const char *name;
    int64_t ms;
    const char *words; /* accepted spellings, separated by '|' */
} Unit;

/* Larger units first; "ms" precedes "m" and "s" so that it is not matched as one of them. */
static const Unit units[] = {
    { "d", 24 * 3600 * 1000, "d|day|days" },
    { "h", 3600 * 1000, "h|hr|hrs|hour|hours" },
    { "ms", 1, "ms|msec|millis|millisecond|milliseconds" },
    { "m", 60 * 1000, "m|min|mins|minute|minutes" },
    { "s", 1000, "s|sec|secs|second|seconds" },
};

bool duration_from_seconds(double seconds, int64_t *out_ms)
{
    if (!(seconds >= 0) || seconds * 1000 > (double)DURATION_MAX_MS) {
        return false;
    }
    *out_ms = (int64_t)llround(seconds * 1000);
    return true;
}

/* Digits with an optional fraction; returns their length. */
static size_t number_length(Str text)
{
    size_t len = 0;
    while (len < text.len && (ascii_is_digit(text.data[len]) || text.data[len] == '.')) {
        len++;
    }
    return len;
}

static const Unit *unit_at(Str text)
{
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (str_starts(text, str_from_c(units[i].name))) {
            return &units[i];
        }
    }
    return NULL;
}

static Str take_word(Str *text)
{
    *text = str_trim(*text);
    size_t len = 0;
    while (len < text->len && ascii_is_alpha(text->data[len])) {
        len++;
    }
    Str word = str_slice(*text, 0, len);
    *text = str_trim(str_from_offset(*text, len));
    return word;
}

static const Unit *unit_named(Str word)
{
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        Str rest = str_from_c(units[i].words);
        Str name;
        while (str_split_next(&rest, '|', &name)) {
            if (str_eq_ignore_case(name, word)) {
                return &units[i];
            }
        }
    }
    return NULL;
}

bool duration_suggest(Str text, Buf *out)
{
    double total = 0;
    text = str_trim(text);
    do {
        double number;
        size_t digits = number_length(text);
        if (!number_parse_float(str_slice(text, 0, digits), &number)) {
            return false;
        }
        text = str_from_offset(text, digits);
        const Unit *unit = unit_named(take_word(&text));
        if (unit == NULL) {
            return false;
        }
        total += number * (double)unit->ms;
    } while (text.len > 0);
    int64_t ms;
    if (!duration_from_seconds(total / 1000, &ms)) {
        return false;
    }
    duration_put(out, ms);
    return true;
}

bool duration_parse(Str text, int64_t *out_ms)
{
    double number;
    size_t digits = number_length(text);
    if (digits == text.len) {
        return number_parse_float(text, &number) && duration_from_seconds(number, out_ms);
    }
    double total = 0;
    int64_t smallest = INT64_MAX;
    while (text.len > 0) {
        digits = number_length(text);
        if (!number_parse_float(str_slice(text, 0, digits), &number)) {
            return false;
        }
        text = str_from_offset(text, digits);
        const Unit *unit = unit_at(text);
        if (unit == NULL || unit->ms >= smallest) {
            return false;
        }
        smallest = unit->ms;
        total += number * (double)unit->ms;
        text = str_from_offset(text, strlen(unit->name));
    }
    return duration_from_seconds(total / 1000, out_ms);
}

void duration_put(Buf *out, int64_t ms)
{
    static const Unit by_size[] = {
        { .name = "d", .ms = 24 * 3600 * 1000 },
        { .name = "h", .ms = 3600 * 1000 },
        { .name = "m", .ms = 60 * 1000 },
        { .name = "s", .ms = 1000 },
        { .name = "ms", .ms = 1 },
    };
    if (ms <= 0) {
        buf_put_c(out, "0s");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(by_size); i++) {
        int64_t count = ms / by_size[i].ms;
        ms %= by_size[i].ms;
        if (count > 0) {
            buf_put_i64(out, count);
            buf_put_c(out, by_size[i].name);
        }
    }
}
