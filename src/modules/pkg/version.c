/* The version orders of dpkg, rpm and pacman, reimplemented so that checks need no process, and
 * the requested versions of sites: exact, patterns and comparisons. */
#include "modules/pkg/version.h"

#include "base/glob.h"

/* --- Components ------------------------------------------------------------------------------ */

typedef struct VersionParts {
    Str epoch, upstream, revision;
    bool has_revision;
} VersionParts;

static Str without_zeros(Str digits)
{
    size_t at = 0;
    while (at < digits.len && digits.data[at] == '0') {
        at++;
    }
    return str_from_offset(digits, at);
}

/* "[epoch:]upstream[-revision]"; an epoch consists of digits only. */
static VersionParts split(Str version)
{
    VersionParts parts = { .upstream = version };
    size_t colon = str_find(version, STR(":"), 0);
    if (colon != STR_NOT_FOUND) {
        bool digits = colon > 0;
        for (size_t i = 0; i < colon; i++) {
            digits = digits && ascii_is_digit(version.data[i]);
        }
        if (digits) {
            parts.epoch = without_zeros(str_slice(version, 0, colon));
            parts.upstream = str_from_offset(version, colon + 1);
        }
    }
    size_t dash = str_find_last(parts.upstream, STR("-"));
    if (dash != STR_NOT_FOUND) {
        parts.has_revision = true;
        parts.revision = str_from_offset(parts.upstream, dash + 1);
        parts.upstream = str_slice(parts.upstream, 0, dash);
    }
    return parts;
}

/* Compares numbers of any length, without leading zeros. */
static int compare_digits(Str a, Str b)
{
    return a.len != b.len ? (a.len < b.len ? -1 : 1) : str_compare(a, b);
}

/* Removes the leading digits and returns them without leading zeros. */
static Str read_digits(Str *rest)
{
    size_t len = 0;
    while (len < rest->len && ascii_is_digit(rest->data[len])) {
        len++;
    }
    Str digits = without_zeros(str_slice(*rest, 0, len));
    *rest = str_from_offset(*rest, len);
    return digits;
}

static Str read_letters(Str *rest)
{
    size_t len = 0;
    while (len < rest->len && ascii_is_alpha(rest->data[len])) {
        len++;
    }
    Str letters = str_slice(*rest, 0, len);
    *rest = str_from_offset(*rest, len);
    return letters;
}

/* --- dpkg ------------------------------------------------------------------------------------ */

/* Sort order: '~', then the end and digits, then letters, then everything else. */
static int dpkg_weight(Str rest)
{
    if (rest.len == 0 || ascii_is_digit(rest.data[0])) {
        return 0;
    }
    unsigned char c = (unsigned char)rest.data[0];
    return c == '~' ? -1 : ascii_is_alpha((char)c) ? c : c + 256;
}

/* Compares alternating sequences of nondigits and digits. */
static int dpkg_compare_part(Str a, Str b)
{
    while (a.len > 0 || b.len > 0) {
        while ((a.len > 0 && !ascii_is_digit(a.data[0])) ||
               (b.len > 0 && !ascii_is_digit(b.data[0]))) {
            int difference = dpkg_weight(a) - dpkg_weight(b);
            if (difference != 0) {
                return difference;
            }
            a = str_from_offset(a, 1);
            b = str_from_offset(b, 1);
        }
        int difference = compare_digits(read_digits(&a), read_digits(&b));
        if (difference != 0) {
            return difference;
        }
    }
    return 0;
}

int version_compare_dpkg(Str a, Str b)
{
    VersionParts x = split(a), y = split(b);
    int difference = compare_digits(x.epoch, y.epoch);
    if (difference == 0) {
        difference = dpkg_compare_part(x.upstream, y.upstream);
    }
    return difference != 0 ? difference : dpkg_compare_part(x.revision, y.revision);
}

/* --- rpm ------------------------------------------------------------------------------------- */

static Str skip_separators(Str rest)
{
    size_t at = 0;
    while (at < rest.len && !ascii_is_digit(rest.data[at]) && !ascii_is_alpha(rest.data[at]) &&
           rest.data[at] != '~' && rest.data[at] != '^') {
        at++;
    }
    return str_from_offset(rest, at);
}

static bool starts_with(Str rest, char c)
{
    return rest.len > 0 && rest.data[0] == c;
}

/* '~' sorts before the end of the other version, '^' after its end but before anything else. Sets
 * `*both` if both had the mark and it was skipped. */
static int rpm_compare_mark(Str *a, Str *b, char mark, int against_end, bool *both)
{
    bool in_a = starts_with(*a, mark), in_b = starts_with(*b, mark);
    *both = in_a && in_b;
    if (*both) {
        *a = str_from_offset(*a, 1);
        *b = str_from_offset(*b, 1);
        return 0;
    }
    if (in_a) {
        return b->len == 0 ? against_end : -1;
    }
    return in_b ? (a->len == 0 ? -against_end : 1) : 0;
}

/* Digits are newer than letters; letters are compared by bytes. */
static int compare_segment(Str *a, Str *b)
{
    bool digits_a = ascii_is_digit(a->data[0]), digits_b = ascii_is_digit(b->data[0]);
    if (digits_a != digits_b) {
        return digits_a ? 1 : -1;
    }
    return digits_a ? compare_digits(read_digits(a), read_digits(b))
                    : str_compare(read_letters(a), read_letters(b));
}

static int rpm_compare_part(Str a, Str b)
{
    while (a.len > 0 || b.len > 0) {
        a = skip_separators(a);
        b = skip_separators(b);
        bool both;
        int difference = rpm_compare_mark(&a, &b, '~', -1, &both);
        if (!both && difference == 0) {
            difference = rpm_compare_mark(&a, &b, '^', 1, &both);
        }
        if (difference != 0) {
            return difference;
        }
        if (both) {
            continue;
        }
        if (a.len == 0 || b.len == 0) {
            break;
        }
        difference = compare_segment(&a, &b);
        if (difference != 0) {
            return difference;
        }
    }
    return (a.len > 0) - (b.len > 0);
}

static int compare_parts(Str a, Str b, VersionCompare part)
{
    VersionParts x = split(a), y = split(b);
    int difference = compare_digits(x.epoch, y.epoch);
    if (difference == 0) {
        difference = part(x.upstream, y.upstream);
    }
    if (difference == 0 && x.has_revision && y.has_revision) {
        difference = part(x.revision, y.revision);
    }
    return difference;
}

int version_compare_rpm(Str a, Str b)
{
    return compare_parts(a, b, rpm_compare_part);
}

/* --- pacman ---------------------------------------------------------------------------------- */

static Str skip_signs(Str rest, size_t *skipped)
{
    size_t at = 0;
    while (at < rest.len && !ascii_is_digit(rest.data[at]) && !ascii_is_alpha(rest.data[at])) {
        at++;
    }
    *skipped = at;
    return str_from_offset(rest, at);
}

static int alpm_compare_part(Str a, Str b)
{
    while (a.len > 0 && b.len > 0) {
        size_t skipped_a, skipped_b;
        a = skip_signs(a, &skipped_a);
        b = skip_signs(b, &skipped_b);
        if (a.len == 0 || b.len == 0) {
            break;
        }
        if (skipped_a != skipped_b) {
            return skipped_a < skipped_b ? -1 : 1;
        }
        int difference = compare_segment(&a, &b);
        if (difference != 0) {
            return difference;
        }
    }
    if (a.len == 0 && b.len == 0) {
        return 0;
    }
    /* In the longer version, remaining letters ("rc1") make it older, anything else newer. */
    Str left = a.len > 0 ? a : b;
    int newer = ascii_is_alpha(left.data[0]) ? -1 : 1;
    return a.len > 0 ? newer : -newer;
}

int version_compare_alpm(Str a, Str b)
{
    return compare_parts(a, b, alpm_compare_part);
}

/* --- Requested versions ---------------------------------------------------------------------- */

static const struct {
    Str sign;
    VersionRelation relation;
} relations[] = {
    /* Longer operators first. */
    { STR(">="), VERSION_AT_LEAST }, { STR("<="), VERSION_AT_MOST }, { STR("=="), VERSION_EQUAL },
    { STR("!="), VERSION_UNEQUAL },  { STR(">"), VERSION_GREATER },  { STR("<"), VERSION_LESS },
    { STR("="), VERSION_EQUAL },
};

static bool read_relation(Str *text, VersionRelation *out)
{
    for (size_t i = 0; i < COUNT_OF(relations); i++) {
        if (str_starts(*text, relations[i].sign)) {
            *text = str_trim(str_from_offset(*text, relations[i].sign.len));
            *out = relations[i].relation;
            return true;
        }
    }
    return false;
}

/* Accepts anything that one of the package managers allows in a version. */
static bool is_version(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!ascii_is_digit(c) && !ascii_is_alpha(c) && memchr(".+-~:^_", c, 7) == NULL) {
            return false;
        }
    }
    return text.len > 0 && text.data[0] != '-';
}

static bool is_pattern(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!ascii_is_digit(c) && !ascii_is_alpha(c) && memchr(".+-~:^_*?[]!", c, 12) == NULL) {
            return false;
        }
    }
    return true;
}

static bool fail_version(Str text, Error *err)
{
    return error_set(
        err, ERROR_INVALID,
        "'%" STR_FMT
        "' is not a version; use '1.2-3', a pattern '1.2*', or comparisons '>=1.2, <2'",
        STR_ARG(text));
}

static bool parse_terms(Str text, VersionSpec *out, Error *err)
{
    Str rest = text, term;
    while (str_split_next(&rest, ',', &term)) {
        VersionRelation relation;
        term = str_trim(term);
        if (!read_relation(&term, &relation) || !is_version(term)) {
            return fail_version(text, err);
        }
        if (out->term_count == VERSION_TERMS_MAX) {
            return error_set(err, ERROR_INVALID, "a version can have at most %d comparisons",
                             VERSION_TERMS_MAX);
        }
        out->terms[out->term_count].relation = relation;
        out->terms[out->term_count++].version = term;
    }
    return true;
}

bool version_spec_parse(Str text, VersionSpec *out, Error *err)
{
    VersionSpec spec = { .text = str_trim(text) };
    Str rest = spec.text;
    VersionRelation relation;
    if (rest.len == 0) {
        return fail_version(rest, err);
    }
    if (read_relation(&rest, &relation)) {
        if (!parse_terms(spec.text, &spec, err)) {
            return false;
        }
    } else if (str_eq(spec.text, STR("*"))) {
        spec.text = STR_EMPTY;
    } else if (glob_is_pattern(spec.text)) {
        if (!is_pattern(spec.text)) {
            return fail_version(spec.text, err);
        }
        spec.pattern = spec.text;
    } else if (!is_version(spec.text)) {
        return fail_version(spec.text, err);
    } else {
        spec.term_count = 1;
        spec.terms[0].relation = VERSION_EQUAL;
        spec.terms[0].version = spec.text;
    }
    *out = spec;
    return true;
}

static Str without_epoch(Str version)
{
    size_t colon = str_find(version, STR(":"), 0);
    return colon == STR_NOT_FOUND ? version : str_from_offset(version, colon + 1);
}

static int compare_with(const VersionOrder *order, Str version, Str wanted)
{
    bool bare = order->epoch_is_optional && str_find(wanted, STR(":"), 0) == STR_NOT_FOUND;
    return order->compare(bare ? without_epoch(version) : version, wanted);
}

static bool relation_holds(VersionRelation relation, int difference)
{
    switch (relation) {
    case VERSION_EQUAL: return difference == 0;
    case VERSION_UNEQUAL: return difference != 0;
    case VERSION_LESS: return difference < 0;
    case VERSION_AT_MOST: return difference <= 0;
    case VERSION_GREATER: return difference > 0;
    case VERSION_AT_LEAST: break;
    }
    return difference >= 0;
}

bool version_spec_accepts(const VersionSpec *spec, const VersionOrder *order, Str version)
{
    if (spec->pattern.len > 0) {
        return glob_match(spec->pattern, version) ||
               (order->epoch_is_optional && glob_match(spec->pattern, without_epoch(version)));
    }
    for (uint32_t i = 0; i < spec->term_count; i++) {
        int difference = compare_with(order, version, spec->terms[i].version);
        if (!relation_holds(spec->terms[i].relation, difference)) {
            return false;
        }
    }
    return true;
}

bool version_spec_is_below(const VersionSpec *spec, const VersionOrder *order, Str version)
{
    for (uint32_t i = 0; i < spec->term_count; i++) {
        int difference = compare_with(order, version, spec->terms[i].version);
        VersionRelation relation = spec->terms[i].relation;
        if ((difference > 0 && (relation == VERSION_EQUAL || relation == VERSION_AT_MOST)) ||
            (difference >= 0 && relation == VERSION_LESS)) {
            return true;
        }
    }
    return false;
}
