/* Loose and semantic version comparison. */
#include "lang/template/version.h"

typedef struct Part {
    Str text;
    bool number;
} Part;

static bool next_part(Str *rest, Part *out)
{
    size_t pos = 0;
    while (pos < rest->len && !ascii_is_digit(rest->data[pos]) &&
           !ascii_is_alpha(rest->data[pos])) {
        pos++;
    }
    if (pos == rest->len) {
        return false;
    }
    size_t start = pos;
    out->number = ascii_is_digit(rest->data[pos]);
    while (pos < rest->len &&
           (out->number ? ascii_is_digit(rest->data[pos]) : ascii_is_alpha(rest->data[pos]))) {
        pos++;
    }
    out->text = str_slice(*rest, start, pos);
    *rest = str_from_offset(*rest, pos);
    return true;
}

/* Numbers of any length. */
static int compare_numbers(Str a, Str b)
{
    while (a.len > 0 && a.data[0] == '0') {
        a = str_from_offset(a, 1);
    }
    while (b.len > 0 && b.data[0] == '0') {
        b = str_from_offset(b, 1);
    }
    if (a.len != b.len) {
        return a.len < b.len ? -1 : 1;
    }
    return str_compare(a, b);
}

int version_compare_loose(Str a, Str b)
{
    for (;;) {
        Part left, right;
        bool more_a = next_part(&a, &left);
        bool more_b = next_part(&b, &right);
        if (!more_a || !more_b) {
            return (int)more_a - (int)more_b;
        }
        if (left.number != right.number) {
            return left.number ? 1 : -1;
        }
        int order = left.number ? compare_numbers(left.text, right.text)
                                : str_compare(left.text, right.text);
        if (order != 0) {
            return order;
        }
    }
}

typedef struct Semver {
    Str numbers[3];
    Str prerelease;
} Semver;

static bool is_number(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_digit(text.data[i])) {
            return false;
        }
    }
    return text.len > 0;
}

static bool is_core_number(Str text)
{
    return is_number(text) && (text.len == 1 || text.data[0] != '0');
}

/* Dot-separated identifiers: letters, digits, hyphens; none may be empty. */
static bool are_identifiers(Str text, bool numbers_without_zeros)
{
    Str name;
    while (str_split_next(&text, '.', &name)) {
        for (size_t i = 0; i < name.len; i++) {
            char c = name.data[i];
            if (!ascii_is_digit(c) && !ascii_is_alpha(c) && c != '-') {
                return false;
            }
        }
        if (name.len == 0 || (numbers_without_zeros && is_number(name) && !is_core_number(name))) {
            return false;
        }
    }
    return true;
}

static bool parse_semver(Str text, Semver *out)
{
    *out = (Semver){ .prerelease = STR_EMPTY };
    size_t plus = str_find(text, STR("+"), 0);
    if (plus != STR_NOT_FOUND) {
        if (!are_identifiers(str_from_offset(text, plus + 1), false)) {
            return false;
        }
        text.len = plus;
    }
    size_t hyphen = str_find(text, STR("-"), 0);
    if (hyphen != STR_NOT_FOUND) {
        out->prerelease = str_from_offset(text, hyphen + 1);
        if (!are_identifiers(out->prerelease, true)) {
            return false;
        }
        text.len = hyphen;
    }
    size_t count = 0;
    Str number;
    while (str_split_next(&text, '.', &number)) {
        if (count == 3 || !is_core_number(number)) {
            return false;
        }
        out->numbers[count++] = number;
    }
    return count == 3;
}

/* No prerelease means the release itself, which follows all its prereleases. */
static int compare_prereleases(Str a, Str b)
{
    if (a.len == 0 || b.len == 0) {
        return (int)(a.len == 0) - (int)(b.len == 0);
    }
    for (;;) {
        Str left, right;
        bool more_a = str_split_next(&a, '.', &left);
        bool more_b = str_split_next(&b, '.', &right);
        if (!more_a || !more_b) {
            return (int)more_a - (int)more_b;
        }
        bool number = is_number(left);
        if (number != is_number(right)) {
            return number ? -1 : 1;
        }
        int order = number ? compare_numbers(left, right) : str_compare(left, right);
        if (order != 0) {
            return order;
        }
    }
}

bool version_compare_semver(Str a, Str b, int *out)
{
    Semver left, right;
    if (!parse_semver(a, &left) || !parse_semver(b, &right)) {
        return false;
    }
    *out = 0;
    for (size_t i = 0; i < 3 && *out == 0; i++) {
        *out = compare_numbers(left.numbers[i], right.numbers[i]);
    }
    if (*out == 0) {
        *out = compare_prereleases(left.prerelease, right.prerelease);
    }
    return true;
}
