/* Methods of str that convert between uppercase and lowercase. */
#include "base/utf8.h"
#include "lang/template/methods.h"
#include "lang/unicode.h"

enum {
    CAPITAL_SIGMA = 0x3a3,
    SMALL_SIGMA = 0x3c3,
    FINAL_SIGMA = 0x3c2
};

static void put_mapped(Buf *out, uint32_t code, CaseMapping mapping)
{
    uint32_t mapped[UNICODE_MAPPED_MAX];
    unsigned count = unicode_map(code, mapping, mapped);
    for (unsigned i = 0; i < count; i++) {
        utf8_put(out, mapped[i]);
    }
}

/* Whether the sigma in [start, end) ends a word: there are letters before it and none after it. */
static bool is_final_sigma(Str text, size_t start, size_t end)
{
    unsigned flags = UNICODE_CASE_IGNORABLE;
    while (start > 0 && (flags & UNICODE_CASE_IGNORABLE) != 0) {
        flags = unicode_flags(utf8_previous(text, &start));
    }
    if ((flags & UNICODE_CASE_IGNORABLE) != 0 || (flags & UNICODE_CASED) == 0) {
        return false;
    }
    flags = UNICODE_CASE_IGNORABLE;
    while (end < text.len && (flags & UNICODE_CASE_IGNORABLE) != 0) {
        flags = unicode_flags(utf8_next(text, &end));
    }
    return (flags & UNICODE_CASE_IGNORABLE) != 0 || (flags & UNICODE_CASED) == 0;
}

static void put_lower(Buf *out, Str text, size_t start, size_t end, uint32_t code)
{
    if (code == CAPITAL_SIGMA) {
        utf8_put(out, is_final_sigma(text, start, end) ? FINAL_SIGMA : SMALL_SIGMA);
    } else {
        put_mapped(out, code, CASE_LOWER);
    }
}

typedef enum CaseMethod {
    METHOD_LOWER,
    METHOD_UPPER,
    METHOD_CAPITALIZE,
    METHOD_TITLE,
    METHOD_SWAP,
    METHOD_FOLD,
} CaseMethod;

static void put_code(Buf *out, CaseMethod method, Str text, size_t start, size_t end, uint32_t code,
                     bool after_cased)
{
    switch (method) {
    case METHOD_LOWER: put_lower(out, text, start, end, code); return;
    case METHOD_UPPER: put_mapped(out, code, CASE_UPPER); return;
    case METHOD_FOLD: put_mapped(out, code, CASE_FOLD); return;
    case METHOD_CAPITALIZE:
    case METHOD_TITLE:
        if (method == METHOD_TITLE ? after_cased : start > 0) {
            put_lower(out, text, start, end, code);
        } else {
            put_mapped(out, code, CASE_TITLE);
        }
        return;
    case METHOD_SWAP:
        if (unicode_is(code, UNICODE_UPPER)) {
            put_lower(out, text, start, end, code);
        } else if (unicode_is(code, UNICODE_LOWER)) {
            put_mapped(out, code, CASE_UPPER);
        } else {
            utf8_put(out, code);
        }
        return;
    }
}

static char map_ascii(CaseMethod method, char c, bool first, bool after_letter)
{
    switch (method) {
    case METHOD_UPPER: return ascii_upper(c);
    case METHOD_CAPITALIZE: return first ? ascii_upper(c) : ascii_lower(c);
    case METHOD_TITLE: return after_letter ? ascii_lower(c) : ascii_upper(c);
    case METHOD_SWAP: return c >= 'a' && c <= 'z' ? ascii_upper(c) : ascii_lower(c);
    default: return ascii_lower(c);
    }
}

static bool change_ascii(Render *r, CaseMethod method, Str text, Str *out)
{
    char *mapped = op_alloc_text(r, text.len);
    if (mapped == NULL) {
        return false;
    }
    if (method == METHOD_LOWER || method == METHOD_FOLD) {
        for (size_t i = 0; i < text.len; i++) {
            mapped[i] = ascii_lower(text.data[i]);
        }
    } else if (method == METHOD_UPPER) {
        for (size_t i = 0; i < text.len; i++) {
            mapped[i] = ascii_upper(text.data[i]);
        }
    } else {
        for (size_t i = 0; i < text.len; i++) {
            mapped[i] =
                map_ascii(method, text.data[i], i == 0, i > 0 && ascii_is_alpha(text.data[i - 1]));
        }
    }
    *out = str_from(mapped, text.len);
    return true;
}

static bool change_case(Render *r, CaseMethod method, Str text, Str *out)
{
    if (utf8_is_ascii(text)) {
        return change_ascii(r, method, text, out);
    }
    if (!render_charge(r, text.len / 8)) {
        return false;
    }
    Buf buf = render_buf(r);
    bool after_cased = false;
    for (size_t pos = 0; pos < text.len && !buf.overflow;) {
        size_t start = pos;
        uint32_t code = utf8_next(text, &pos);
        put_code(&buf, method, text, start, pos, code, after_cased);
        after_cased = method == METHOD_TITLE && unicode_is(code, UNICODE_CASED);
    }
    Value changed;
    if (!render_take(r, &buf, &changed)) {
        return false;
    }
    *out = value_str(changed);
    return true;
}

static bool case_method(Render *r, CaseMethod method, const Args *args, Value *out)
{
    Str changed;
    if (!change_case(r, method, value_str(args->values[0]), &changed)) {
        return false;
    }
    *out = method_text_like(args->values[0], changed);
    return true;
}

static bool str_capitalize(Render *r, const Args *args, Value *out)
{
    return case_method(r, METHOD_CAPITALIZE, args, out);
}

/* Unlike the others it returns a plain string even for markup. */
static bool str_casefold(Render *r, const Args *args, Value *out)
{
    Str changed;
    if (!change_case(r, METHOD_FOLD, value_str(args->values[0]), &changed)) {
        return false;
    }
    *out = value_string(changed);
    return true;
}

static bool str_lower(Render *r, const Args *args, Value *out)
{
    return case_method(r, METHOD_LOWER, args, out);
}

static bool str_swapcase(Render *r, const Args *args, Value *out)
{
    return case_method(r, METHOD_SWAP, args, out);
}

static bool str_title(Render *r, const Args *args, Value *out)
{
    return case_method(r, METHOD_TITLE, args, out);
}

static bool str_upper(Render *r, const Args *args, Value *out)
{
    return case_method(r, METHOD_UPPER, args, out);
}

/* clang-format off */
const Native str_case_methods[] = {
    { "upper", str_upper, { { "self" } }, 0,
      "Converts to uppercase.", "{{ 'Straße'.upper() }}", "STRASSE" },
    { "lower", str_lower, { { "self" } }, 0,
      "Converts to lowercase.", "{{ 'Eden'.lower() }}", "eden" },
    { "capitalize", str_capitalize, { { "self" } }, 0,
      "Converts the first letter to uppercase and the others to lowercase.",
      "{{ 'eDEN one'.capitalize() }}", "Eden one" },
    { "title", str_title, { { "self" } }, 0,
      "Capitalizes every word.", "{{ 'hello world'.title() }}", "Hello World" },
    { "swapcase", str_swapcase, { { "self" } }, 0,
      "Swaps uppercase and lowercase.", "{{ 'Eden'.swapcase() }}", "eDEN" },
    { "casefold", str_casefold, { { "self" } }, 0,
      "Converts to a form for caseless comparison.",
      "{{ 'Straße'.casefold() }}", "strasse" },
    { 0 },
};
/* clang-format on */
