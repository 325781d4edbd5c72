#include "base/glob.h"

#include "base/utf8.h"

bool glob_is_pattern(Str pattern)
{
    for (size_t i = 0; i < pattern.len; i++) {
        char c = pattern.data[i];
        if (c == '*' || c == '?' || c == '[') {
            return true;
        }
    }
    return false;
}

/* The end of the set that opens at `pos`, or STR_NOT_FOUND. A `]` directly after the opening
 * bracket, or after its `!`, is a member. */
static size_t set_end(Str pattern, size_t pos)
{
    size_t first = pos + 1;
    if (first < pattern.len && (pattern.data[first] == '!' || pattern.data[first] == '^')) {
        first++;
    }
    return str_find(pattern, STR("]"), first + 1);
}

static bool set_contains(Str set, uint32_t wanted)
{
    size_t pos = 0;
    bool negated = set.len > 0 && (set.data[0] == '!' || set.data[0] == '^');
    pos += negated;
    bool found = false;
    while (pos < set.len) {
        uint32_t low = utf8_next(set, &pos);
        uint32_t high = low;
        if (pos + 1 < set.len && set.data[pos] == '-') {
            pos++;
            high = utf8_next(set, &pos);
        }
        found = found || (low <= wanted && wanted <= high);
    }
    return found != negated;
}

/* Matches one character of the text against the pattern element at `*pos`; both advance on a
 * match. */
static bool match_one(Str pattern, size_t *pos, Str text, size_t *position)
{
    size_t p = *pos, t = *position;
    if (p >= pattern.len || t >= text.len) {
        return false;
    }
    uint32_t c = utf8_next(text, &t);
    size_t end;
    if (pattern.data[p] == '?') {
        p++;
    } else if (pattern.data[p] == '[' && (end = set_end(pattern, p)) != STR_NOT_FOUND) {
        if (!set_contains(str_slice(pattern, p + 1, end), c)) {
            return false;
        }
        p = end + 1;
    } else if (utf8_next(pattern, &p) != c) {
        return false;
    }
    *pos = p;
    *position = t;
    return true;
}

/* A mismatch backtracks to the last star only, which then matches one more character: if that
 * fails, no earlier choice can succeed. */
bool glob_match(Str pattern, Str text)
{
    size_t p = 0, t = 0;
    size_t after_star = STR_NOT_FOUND, retry = 0;
    while (t < text.len || p < pattern.len) {
        if (p < pattern.len && pattern.data[p] == '*') {
            after_star = ++p;
            retry = t;
        } else if (!match_one(pattern, &p, text, &t)) {
            if (after_star == STR_NOT_FOUND || retry >= text.len) {
                return false;
            }
            utf8_next(text, &retry);
            p = after_star;
            t = retry;
        }
    }
    return true;
}
