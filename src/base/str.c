/* Searching, comparing and converting strings. str_find_last() falls back to a linear-time search
 * for long needles, so that hostile input cannot make it quadratic. */
#include "base/str.h"

#include <stdlib.h>

#include "base/memory.h"

size_t str_find(Str haystack, Str needle, size_t from)
{
    if (from > haystack.len) {
        return STR_NOT_FOUND;
    }
    if (needle.len == 0) {
        return from;
    }
    if (haystack.len - from < needle.len) {
        return STR_NOT_FOUND;
    }
    const char *hit = memmem(haystack.data + from, haystack.len - from, needle.data, needle.len);
    return hit == NULL ? STR_NOT_FOUND : (size_t)(hit - haystack.data);
}

/* Knuth-Morris-Pratt search from the end, for needles so long that comparing at every position
 * could take too long. `borders[i]` is the longest proper border of the needle's last i bytes. */
static size_t find_last_long(Str haystack, Str needle)
{
    size_t *borders = malloc((needle.len + 1) * sizeof *borders);
    if (borders == NULL) {
        memory_exhausted((needle.len + 1) * sizeof *borders);
    }
    const char *needle_end = needle.data + needle.len - 1;
    borders[0] = 0;
    borders[1] = 0;
    for (size_t i = 1, matched = 0; i < needle.len; i++) {
        while (matched > 0 && needle_end[-(ptrdiff_t)i] != needle_end[-(ptrdiff_t)matched]) {
            matched = borders[matched];
        }
        matched += needle_end[-(ptrdiff_t)i] == needle_end[-(ptrdiff_t)matched];
        borders[i + 1] = matched;
    }
    size_t found = STR_NOT_FOUND;
    size_t matched = 0;
    for (size_t pos = haystack.len; pos-- > 0;) {
        while (matched > 0 && haystack.data[pos] != needle_end[-(ptrdiff_t)matched]) {
            matched = borders[matched];
        }
        matched += haystack.data[pos] == needle_end[-(ptrdiff_t)matched];
        if (matched == needle.len) {
            found = pos;
            break;
        }
    }
    free(borders);
    return found;
}

size_t str_find_last(Str haystack, Str needle)
{
    enum {
        LONG = 64
    };
    if (needle.len > haystack.len) {
        return STR_NOT_FOUND;
    }
    if (needle.len == 0) {
        return haystack.len;
    }
    if (needle.len >= LONG) {
        return find_last_long(haystack, needle);
    }
    for (size_t pos = haystack.len - needle.len + 1; pos-- > 0;) {
        if (haystack.data[pos] == needle.data[0] &&
            memcmp(haystack.data + pos, needle.data, needle.len) == 0) {
            return pos;
        }
    }
    return STR_NOT_FOUND;
}

int str_compare(Str a, Str b)
{
    size_t shared = a.len < b.len ? a.len : b.len;
    int order = shared == 0 ? 0 : memcmp(a.data, b.data, shared);
    if (order != 0) {
        return order;
    }
    return a.len < b.len ? -1 : a.len > b.len;
}

bool str_eq_ignore_case(Str a, Str b)
{
    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        if (ascii_lower(a.data[i]) != ascii_lower(b.data[i])) {
            return false;
        }
    }
    return true;
}

Str str_trim(Str s)
{
    while (s.len > 0 && ascii_is_space(s.data[0])) {
        s.data++;
        s.len--;
    }
    while (s.len > 0 && ascii_is_space(s.data[s.len - 1])) {
        s.len--;
    }
    return s;
}

bool str_split_next(Str *rest, char separator, Str *part)
{
    if (rest->data == NULL) {
        return false;
    }
    const char *hit = rest->len == 0 ? NULL : memchr(rest->data, separator, rest->len);
    if (hit == NULL) {
        *part = *rest;
        *rest = (Str){ NULL, 0 };
        return true;
    }
    *part = (Str){ rest->data, (size_t)(hit - rest->data) };
    *rest = (Str){ hit + 1, rest->len - part->len - 1 };
    return true;
}

bool str_to_u64(Str s, uint64_t *out)
{
    if (s.len == 0) {
        return false;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (!ascii_is_digit(s.data[i]) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(s.data[i] - '0'), &value)) {
            return false;
        }
    }
    *out = value;
    return true;
}

bool str_to_i64(Str s, int64_t *out)
{
    bool negative = s.len > 0 && s.data[0] == '-';
    if (s.len > 0 && (s.data[0] == '-' || s.data[0] == '+')) {
        s = str_from_offset(s, 1);
    }
    uint64_t magnitude;
    if (!str_to_u64(s, &magnitude)) {
        return false;
    }
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    if (magnitude > limit) {
        return false;
    }
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}
