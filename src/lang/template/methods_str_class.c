/* Methods of str that check the classes of its characters. */
#include "base/utf8.h"
#include "lang/template/methods.h"
#include "lang/unicode.h"

/* Whether the string is not empty and every character has one of the flags. */
static bool all_of(Render *r, const Args *args, unsigned flags, Value *out)
{
    Str text = value_str(args->values[0]);
    bool all = text.len > 0;
    for (size_t pos = 0; pos < text.len && all;) {
        all = unicode_is(utf8_next(text, &pos), flags);
    }
    *out = value_bool(all);
    return render_charge(r, text.len / 8);
}

static bool str_isalnum(Render *r, const Args *args, Value *out)
{
    return all_of(r, args, UNICODE_ALPHA | UNICODE_DECIMAL | UNICODE_DIGIT | UNICODE_NUMERIC, out);
}

static bool str_isalpha(Render *r, const Args *args, Value *out)
{
    return all_of(r, args, UNICODE_ALPHA, out);
}

static bool str_isascii(Render *r, const Args *args, Value *out)
{
    *out = value_bool(utf8_is_ascii(value_str(args->values[0])));
    return op_charge_bytes(r, args->values[0].len);
}

static bool str_isdecimal(Render *r, const Args *args, Value *out)
{
    return all_of(r, args, UNICODE_DECIMAL, out);
}

static bool str_isdigit(Render *r, const Args *args, Value *out)
{
    return all_of(r, args, UNICODE_DIGIT, out);
}

static bool str_isidentifier(Render *r, const Args *args, Value *out)
{
    Str text = value_str(args->values[0]);
    size_t pos = 0;
    bool all = text.len > 0 && unicode_is(utf8_next(text, &pos), UNICODE_NAME_START);
    while (pos < text.len && all) {
        all = unicode_is(utf8_next(text, &pos), UNICODE_NAME_PART);
    }
    *out = value_bool(all);
    return render_charge(r, text.len / 8);
}

/* Whether there is at least one character of case `expected`, and none of the other case or of
 * title case. */
static bool one_case(Render *r, const Args *args, unsigned expected, unsigned other, Value *out)
{
    Str text = value_str(args->values[0]);
    bool any = false, wrong = false;
    for (size_t pos = 0; pos < text.len && !wrong;) {
        unsigned flags = unicode_flags(utf8_next(text, &pos));
        any = any || (flags & expected) != 0;
        wrong = (flags & (other | UNICODE_TITLE)) != 0;
    }
    *out = value_bool(any && !wrong);
    return render_charge(r, text.len / 8);
}

static bool str_islower(Render *r, const Args *args, Value *out)
{
    return one_case(r, args, UNICODE_LOWER, UNICODE_UPPER, out);
}

static bool str_isupper(Render *r, const Args *args, Value *out)
{
    return one_case(r, args, UNICODE_UPPER, UNICODE_LOWER, out);
}

static bool str_isnumeric(Render *r, const Args *args, Value *out)
{
    return all_of(r, args, UNICODE_NUMERIC, out);
}

static bool str_isprintable(Render *r, const Args *args, Value *out)
{
    if (args->values[0].len == 0) {
        *out = value_bool(true);
        return true;
    }
    return all_of(r, args, UNICODE_PRINTABLE, out);
}

static bool str_isspace(Render *r, const Args *args, Value *out)
{
    return all_of(r, args, UNICODE_SPACE, out);
}

/* Capitals occur only at the start of words, and lowercase letters only after them. */
static bool str_istitle(Render *r, const Args *args, Value *out)
{
    Str text = value_str(args->values[0]);
    bool any = false, wrong = false, in_word = false;
    for (size_t pos = 0; pos < text.len && !wrong;) {
        unsigned flags = unicode_flags(utf8_next(text, &pos));
        bool capital = (flags & (UNICODE_UPPER | UNICODE_TITLE)) != 0;
        bool small = (flags & UNICODE_LOWER) != 0;
        wrong = (capital && in_word) || (!capital && small && !in_word);
        in_word = capital || small;
        any = any || in_word;
    }
    *out = value_bool(any && !wrong);
    return render_charge(r, text.len / 8);
}

/* clang-format off */
const Native str_class_methods[] = {
    { "isdigit", str_isdigit, { { "self" } }, NATIVE_PLAIN,
      "Returns whether all characters are digits.", "{{ '42'.isdigit() }}", "True" },
    { "isalpha", str_isalpha, { { "self" } }, NATIVE_PLAIN,
      "Returns whether all characters are letters.", "{{ 'é'.isalpha() }}", "True" },
    { "isalnum", str_isalnum, { { "self" } }, NATIVE_PLAIN,
      "Returns whether all characters are letters or numbers.", "{{ 'a1'.isalnum() }}", "True" },
    { "isascii", str_isascii, { { "self" } }, NATIVE_PLAIN,
      "Returns whether all characters are ASCII.", "{{ 'é'.isascii() }}", "False" },
    { "isdecimal", str_isdecimal, { { "self" } }, NATIVE_PLAIN,
      "Returns whether all characters are decimal digits.", "{{ '4²'.isdecimal() }}", "False" },
    { "isidentifier", str_isidentifier, { { "self" } }, NATIVE_PLAIN,
      "Returns whether the string is a valid variable name.", "{{ '1st'.isidentifier() }}",
      "False" },
    { "islower", str_islower, { { "self" } }, NATIVE_PLAIN,
      "Returns whether all letters are lowercase.", "{{ 'a1'.islower() }}", "True" },
    { "isnumeric", str_isnumeric, { { "self" } }, NATIVE_PLAIN,
      "Returns whether all characters are numeric.", "{{ '½'.isnumeric() }}", "True" },
    { "isprintable", str_isprintable, { { "self" } }, NATIVE_PLAIN,
      "Returns whether repr() would print all characters without escapes.", "{{ 'a\\n'.isprintable() }}",
      "False" },
    { "isspace", str_isspace, { { "self" } }, NATIVE_PLAIN,
      "Returns whether all characters are whitespace.", "{{ ' \\t'.isspace() }}", "True" },
    { "istitle", str_istitle, { { "self" } }, NATIVE_PLAIN,
      "Returns whether every word starts with its only capital letter.",
      "{{ 'Hello World'.istitle() }}", "True" },
    { "isupper", str_isupper, { { "self" } }, NATIVE_PLAIN,
      "Returns whether all letters are uppercase.", "{{ 'A1'.isupper() }}", "True" },
    { 0 },
};
/* clang-format on */
