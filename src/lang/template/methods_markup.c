/* Methods of markup in addition to those of str. */
#include "base/utf8.h"
#include "lang/template/html_unescape.h"
#include "lang/template/methods.h"
#include "lang/unicode.h"

static bool markup_escape(Render *r, const Args *args, Value *out)
{
    return op_escape(r, args->values[1], out);
}

static bool markup_html(Render *r, const Args *args, Value *out)
{
    *out = args->values[0];
    return true;
}

static bool unescape(Render *r, Str text, Value *out)
{
    if (!op_charge_bytes(r, text.len)) {
        return false;
    }
    Buf buf = render_buf(r);
    html_unescape(text, &buf);
    return render_take(r, &buf, out);
}

static bool markup_unescape(Render *r, const Args *args, Value *out)
{
    return unescape(r, value_str(args->values[0]), out);
}

/* Removes the sections between `open` and `close`, delimiters included. A start without an end is
 * kept. */
static bool remove_between(Render *r, Str text, Str open, Str close, Value *out)
{
    Buf buf = render_buf(r);
    size_t pos = 0;
    for (;;) {
        size_t start = str_find(text, open, pos);
        size_t end =
            start == STR_NOT_FOUND ? STR_NOT_FOUND : str_find(text, close, start + open.len);
        if (end == STR_NOT_FOUND) {
            break;
        }
        buf_put(&buf, str_slice(text, pos, start));
        pos = end + close.len;
    }
    buf_put(&buf, str_from_offset(text, pos));
    return op_charge_bytes(r, text.len) && render_take(r, &buf, out);
}

/* Collapses whitespace to single spaces and strips it at both ends. */
static bool collapse_spaces(Render *r, Str text, Value *out)
{
    Buf buf = render_buf(r);
    bool gap = false;
    for (size_t pos = 0; pos < text.len;) {
        size_t start = pos;
        if (unicode_is(utf8_next(text, &pos), UNICODE_SPACE)) {
            gap = buf.len > 0;
            continue;
        }
        if (gap) {
            buf_put_char(&buf, ' ');
            gap = false;
        }
        buf_put(&buf, str_slice(text, start, pos));
    }
    return render_charge(r, text.len / 16) && render_take(r, &buf, out);
}

static bool markup_striptags(Render *r, const Args *args, Value *out)
{
    Value text = args->values[0];
    return remove_between(r, value_str(text), STR("<!--"), STR("-->"), &text) &&
           remove_between(r, value_str(text), STR("<"), STR(">"), &text) &&
           collapse_spaces(r, value_str(text), &text) && unescape(r, value_str(text), out);
}

/* clang-format off */
const Native markup_methods[] = {
    { "__html__", markup_html, { { "self" } }, 0,
      "Returns the markup itself.", "{{ ('<b>'|safe).__html__() }}", "<b>" },
    { "escape", markup_escape, { { "self" }, { "s" } }, 0,
      "Converts any value to markup, escaping HTML.",
      "{{ (''|safe).escape('<') }}", "&lt;" },
    { "striptags", markup_striptags, { { "self" } }, 0,
      "Removes tags and comments, collapses whitespace, and returns a plain string.",
      "{{ ('<b>a</b>  &amp; b'|safe).striptags() }}", "a & b" },
    { "unescape", markup_unescape, { { "self" } }, 0,
      "Decodes HTML entities and returns a plain string.",
      "{{ ('a &lt; b'|safe).unescape() }}", "a < b" },
    { 0 },
};
/* clang-format on */
