/* The core schema of YAML 1.2 (chapter 10.3): the meaning of plain scalars.
 *
 * Nearly all scalars are ordinary words, so the first character decides: only those in
 * `first_kinds` can begin anything but a string. */
#include <math.h>

#include "base/suggest.h"
#include "lang/number.h"
#include "lang/yaml_load.h"

enum FirstKind {
    FIRST_WORD = 1, /* null, true, false in all spellings, ~ */
    FIRST_DIGIT,
    FIRST_SIGN,
    FIRST_POINT,
};

static const uint8_t first_kinds[256] = {
    ['~'] = FIRST_WORD,  ['n'] = FIRST_WORD,  ['N'] = FIRST_WORD,  ['t'] = FIRST_WORD,
    ['T'] = FIRST_WORD,  ['f'] = FIRST_WORD,  ['F'] = FIRST_WORD,  ['0'] = FIRST_DIGIT,
    ['1'] = FIRST_DIGIT, ['2'] = FIRST_DIGIT, ['3'] = FIRST_DIGIT, ['4'] = FIRST_DIGIT,
    ['5'] = FIRST_DIGIT, ['6'] = FIRST_DIGIT, ['7'] = FIRST_DIGIT, ['8'] = FIRST_DIGIT,
    ['9'] = FIRST_DIGIT, ['-'] = FIRST_SIGN,  ['+'] = FIRST_SIGN,  ['.'] = FIRST_POINT,
};

/* lower, Capitalized or UPPER, nothing in between. */
static bool is_word(Str text, const char *lower)
{
    size_t len = strlen(lower);
    if (text.len != len || ascii_lower(text.data[0]) != lower[0]) {
        return false;
    }
    bool upper = text.data[0] != lower[0] && len > 1 && text.data[1] == ascii_upper(text.data[1]);
    for (size_t i = 1; i < len; i++) {
        if (text.data[i] != (upper ? ascii_upper(lower[i]) : lower[i])) {
            return false;
        }
    }
    return true;
}

static bool resolve_null(Str text, Value *out)
{
    if (text.len == 0 || str_eq(text, STR("~")) || is_word(text, "null")) {
        *out = value_null();
        return true;
    }
    return false;
}

static bool resolve_bool(Str text, Value *out)
{
    bool is_true = is_word(text, "true");
    if (is_true || is_word(text, "false")) {
        *out = value_bool(is_true);
        return true;
    }
    return false;
}

/* Length of the run of decimal digits at `pos`. */
static size_t digits_at(Str text, size_t pos)
{
    size_t end = pos;
    while (end < text.len && ascii_is_digit(text.data[end])) {
        end++;
    }
    return end - pos;
}

typedef enum Shape {
    SHAPE_NONE,
    SHAPE_INT,
    SHAPE_FLOAT,
} Shape;

/* [-+]? [0-9]+, or [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static Shape decimal_shape(Str text)
{
    size_t pos = text.data[0] == '-' || text.data[0] == '+' ? 1 : 0;
    size_t whole = digits_at(text, pos);
    pos += whole;
    if (pos == text.len) {
        return whole > 0 ? SHAPE_INT : SHAPE_NONE;
    }
    if (text.data[pos] == '.') {
        size_t fraction = digits_at(text, pos + 1);
        pos += 1 + fraction;
        if (whole + fraction == 0) {
            return SHAPE_NONE;
        }
    } else if (whole == 0) {
        return SHAPE_NONE;
    }
    if (pos < text.len && (text.data[pos] == 'e' || text.data[pos] == 'E')) {
        pos++;
        if (pos < text.len && (text.data[pos] == '-' || text.data[pos] == '+')) {
            pos++;
        }
        size_t exponent = digits_at(text, pos);
        if (exponent == 0) {
            return SHAPE_NONE;
        }
        pos += exponent;
    }
    return pos == text.len ? SHAPE_FLOAT : SHAPE_NONE;
}

static bool resolve_special_float(Str text, Value *out)
{
    bool negative = text.data[0] == '-';
    Str rest = str_from_offset(text, negative || text.data[0] == '+');
    if (rest.len != 4 || rest.data[0] != '.') {
        return false;
    }
    Str name = str_from_offset(rest, 1);
    if (is_word(name, "inf")) {
        *out = value_float(negative ? -INFINITY : INFINITY);
        return true;
    }
    if (rest.len == text.len &&
        (str_eq(name, STR("nan")) || str_eq(name, STR("NaN")) || str_eq(name, STR("NAN")))) {
        *out = value_float(NAN);
        return true;
    }
    return false;
}

/* Parses a number in any form of the schema; returns false if the text is not a number. */
static bool resolve_number(Str text, Value *out, bool *too_big)
{
    *too_big = false;
    *out = value_null();
    int64_t integer;
    if (text.len > 2 && text.data[0] == '0' && (text.data[1] == 'x' || text.data[1] == 'o')) {
        Str digits = str_from_offset(text, 2);
        if (digits.data[0] == '-' || digits.data[0] == '+') {
            return false;
        }
        if (number_parse_int(digits, text.data[1] == 'x' ? 16 : 8, &integer, too_big)) {
            *out = value_int(integer);
            return true;
        }
        return *too_big;
    }
    switch (decimal_shape(text)) {
    case SHAPE_INT:
        if (number_parse_int(text, 10, &integer, too_big)) {
            *out = value_int(integer);
        }
        return true;
    case SHAPE_FLOAT: {
        double number;
        if (!number_parse_float(text, &number)) {
            return false;
        }
        *out = value_float(number);
        return true;
    }
    case SHAPE_NONE: break;
    }
    return resolve_special_float(text, out);
}

YamlScalar yaml_schema_resolve(Str text, Value *out)
{
    if (text.len == 0) {
        *out = value_null();
        return YAML_SCALAR_FITS;
    }
    bool too_big;
    switch (first_kinds[(unsigned char)text.data[0]]) {
    case FIRST_WORD:
        if (text.len <= 5 && (resolve_null(text, out) || resolve_bool(text, out))) {
            return YAML_SCALAR_FITS;
        }
        break;
    case FIRST_DIGIT:
    case FIRST_SIGN:
    case FIRST_POINT:
        if (resolve_number(text, out, &too_big)) {
            return too_big ? YAML_SCALAR_TOO_BIG : YAML_SCALAR_FITS;
        }
        break;
    default: break;
    }
    *out = value_string(text);
    return YAML_SCALAR_FITS;
}

static const Str core_prefix = { "tag:yaml.org,2002:", 18 };

Str yaml_schema_tag_name(Str tag)
{
    return str_starts(tag, core_prefix) ? str_from_offset(tag, core_prefix.len) : tag;
}

static YamlScalar fits_if(bool fits)
{
    return fits ? YAML_SCALAR_FITS : YAML_SCALAR_WRONG_TAG;
}

static YamlScalar as_string(Str text, Value *out)
{
    *out = value_string(text);
    return YAML_SCALAR_FITS;
}

static YamlScalar as_null(Str text, Value *out)
{
    return fits_if(resolve_null(text, out));
}

static YamlScalar as_bool(Str text, Value *out)
{
    return fits_if(text.len > 0 && resolve_bool(text, out));
}

static YamlScalar as_int(Str text, Value *out)
{
    bool too_big;
    if (text.len == 0 || !resolve_number(text, out, &too_big)) {
        return YAML_SCALAR_WRONG_TAG;
    }
    return too_big ? YAML_SCALAR_TOO_BIG : fits_if(out->kind == VALUE_INT);
}

static YamlScalar as_float(Str text, Value *out)
{
    bool too_big;
    if (text.len == 0 || !resolve_number(text, out, &too_big)) {
        return YAML_SCALAR_WRONG_TAG;
    }
    if (too_big || out->kind == VALUE_INT) {
        double number;
        if (!number_parse_float(text, &number)) {
            return YAML_SCALAR_WRONG_TAG;
        }
        *out = value_float(number);
    }
    return YAML_SCALAR_FITS;
}

static YamlScalar as_container(Str text, Value *out)
{
    *out = value_string(text);
    return YAML_SCALAR_WRONG_TAG;
}

/* Tags of the schema, and tags of YAML 1.1 that are still in use: their text is unchanged. */
static const struct Tag {
    const char *name;
    YamlScalar (*resolve)(Str text, Value *out);
    bool on_map;
    bool on_list;
} tags[] = {
    { "str", as_string, false, false },    { "int", as_int, false, false },
    { "float", as_float, false, false },   { "bool", as_bool, false, false },
    { "null", as_null, false, false },     { "map", as_container, true, false },
    { "seq", as_container, false, true },  { "set", as_container, true, false },
    { "omap", as_container, false, true }, { "pairs", as_container, false, true },
    { "binary", as_string, false, false }, { "timestamp", as_string, false, false },
    { "merge", as_string, false, false },
};

static const struct Tag *tag_find(Str tag)
{
    if (!str_starts(tag, core_prefix)) {
        return NULL;
    }
    Str name = yaml_schema_tag_name(tag);
    for (size_t i = 0; i < COUNT_OF(tags); i++) {
        if (str_eq_c(name, tags[i].name)) {
            return &tags[i];
        }
    }
    return NULL;
}

/* The name of such a tag that is similar to `name`. */
static bool find_nearest_tag(Str name, Str *out)
{
    Suggest suggest = suggest_make(name);
    for (size_t i = 0; i < COUNT_OF(tags); i++) {
        if (str_eq_c(name, tags[i].name)) {
            *out = name; /* `!str` for `!!str` */
            return true;
        }
        suggest_offer(&suggest, str_from_c(tags[i].name));
    }
    return suggest_found(&suggest, out);
}

YamlScalar yaml_schema_resolve_tagged(Str text, Str tag, bool quoted, Value *out)
{
    const struct Tag *row = tag_find(tag);
    *out = value_null();
    if (row != NULL) {
        return row->resolve(text, out);
    }
    /* A lone `!` selects the plainest type of its kind (6.28 of the specification). */
    return quoted || str_eq(tag, STR("!")) ? as_string(text, out) : yaml_schema_resolve(text, out);
}

bool yaml_schema_tag_matches(Str tag, bool is_map)
{
    const struct Tag *row = tag_find(tag);
    return row == NULL || (is_map ? row->on_map : row->on_list);
}

static bool is_sexagesimal(Str text)
{
    size_t colon = str_find(text, STR(":"), 0);
    if (colon == STR_NOT_FOUND || !ascii_is_digit(text.data[0])) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_digit(text.data[i]) && text.data[i] != ':') {
            return false;
        }
    }
    return text.data[text.len - 1] != ':';
}

static bool has_leading_zero(Str text)
{
    return text.len > 1 && text.data[0] == '0' && digits_at(text, 0) == text.len;
}

const char *yaml_schema_lint(Str text, const char **code)
{
    static const char *const words[] = { "yes", "no", "on", "off" };
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (text.len == strlen(words[i]) && is_word(text, words[i])) {
            *code = "E0131";
            return "this is a string, which is true in a condition; write true or false, or quote "
                   "it";
        }
    }
    if (text.len > 0 && has_leading_zero(text)) {
        *code = "E0132";
        return "this is a decimal number; quote it, or write 0o for octal";
    }
    if (text.len > 2 && is_sexagesimal(text)) {
        *code = "E0133";
        return "this is a string, but YAML 1.1 parsers read it as a base-60 number; quote it";
    }
    return NULL;
}

/* --- Unknown tags ----------------------------------------------------------------------------- */

/* Tags that eden does not support. Ignoring them would yield a value that the author did not
 * intend, such as the ciphertext of a vault, so they are reported. */

/* Tags of other tools, by prefix. */
static const struct ForeignTag {
    const char *tag;
    bool whole; /* match the entire tag, not only its start */
    const char *hint;
} foreign[] = {
    { "!vault", true, "decrypt the value first; mark it with !secret to hide it in messages" },
    { "!vault-encrypted", true, "decrypt the value first, and mark it with !secret" },
    { "!unsafe", true, "remove it: rendered text is never rendered again" },
    { "!include", false,
      "a file contains a single value; pass several files with -v to merge them" },
    { "tag:yaml.org,2002:python/", false, "Python objects are not supported; write a plain value" },
    { "tag:yaml.org,2002:string", true, "did you mean '!!str'?" },
    { "tag:yaml.org,2002:integer", true, "did you mean '!!int'?" },
    { "tag:yaml.org,2002:boolean", true, "did you mean '!!bool'?" },
    { "tag:yaml.org,2002:list", true, "did you mean '!!seq'?" },
    { "tag:yaml.org,2002:dict", true, "did you mean '!!map'?" },
    { "!ruby/", false, "Ruby objects are not supported; write a plain value" },
    { "tag:yaml.org,2002:ruby/", false, "Ruby objects are not supported; write a plain value" },
};

static const char *foreign_hint(Str tag)
{
    for (size_t i = 0; i < COUNT_OF(foreign); i++) {
        Str known = str_from_c(foreign[i].tag);
        if (foreign[i].whole ? str_eq(tag, known) : str_starts(tag, known)) {
            return foreign[i].hint;
        }
    }
    return NULL;
}

static void add_hint(YamlLoad *load, Str tag, Problem *problem)
{
    const char *known = foreign_hint(tag);
    Str own = STR("!secret"), nearest;
    if (known != NULL) {
        problem->hint = str_from_c(known);
        return;
    }
    if (suggest_best(tag, &own, 1, &nearest)) {
        problem->hint = STR("did you mean '!secret'?");
        problem->excerpt = STR_EMPTY; /* the value was meant to be hidden */
        return;
    }
    Str name = yaml_schema_tag_name(tag);
    if (name.len > 0 && name.data[0] == '!') {
        name = str_from_offset(name, 1);
    }
    if (find_nearest_tag(name, &nearest)) {
        problem->hint =
            arena_format(load->problems->arena, "did you mean '!!%" STR_FMT "'?", STR_ARG(nearest));
        return;
    }
    problem->hint = STR("remove it: the tag is ignored");
}

void yaml_tag_check(YamlLoad *load, Str tag, uint32_t pos, uint32_t end)
{
    if (str_eq(tag, STR("!")) || str_eq(tag, STR("!secret")) || tag_find(tag) != NULL ||
        !yaml_load_may_report(load)) {
        return;
    }
    Value written = { .start = pos, .span = end - pos };
    Problem *problem = problems_add_severity(
        load->problems, load->options.strict_tags ? SEVERITY_ERROR : SEVERITY_WARNING, "E0121",
        load->source, pos, end - pos, "unknown tag %" STR_FMT,
        STR_ARG(yaml_load_excerpt(load, written)));
    add_hint(load, tag, problem);
}
