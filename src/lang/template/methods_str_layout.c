/* Methods of str that strip and pad, and str.format. */
#include "base/utf8.h"
#include "lang/template/format.h"
#include "lang/template/methods.h"
#include "lang/unicode.h"

enum StripSide {
    STRIP_LEFT = 1 << 0,
    STRIP_RIGHT = 1 << 1,
};

/* `spaces`: strip whitespace; `set` is ignored. */
static bool is_stripped(Str set, bool spaces, uint32_t code)
{
    if (spaces) {
        return unicode_is(code, UNICODE_SPACE);
    }
    for (size_t pos = 0; pos < set.len;) {
        if (utf8_next(set, &pos) == code) {
            return true;
        }
    }
    return false;
}

static Str strip_text(Str text, Str set, bool spaces, unsigned sides)
{
    size_t start = 0, end = text.len;
    while ((sides & STRIP_LEFT) != 0 && start < end) {
        size_t next = start;
        if (!is_stripped(set, spaces, utf8_next(text, &next))) {
            break;
        }
        start = next;
    }
    while ((sides & STRIP_RIGHT) != 0 && end > start) {
        size_t before = end;
        if (!is_stripped(set, spaces, utf8_previous(text, &before))) {
            break;
        }
        end = before;
    }
    return str_slice(text, start, end);
}

static bool strip_method(Render *r, const Args *args, unsigned sides, Value *out)
{
    Value owner = args->values[0], set;
    if (!method_arg_like(r, args, 1, &set)) {
        return false;
    }
    bool spaces = value_is_missing(set) || set.kind == VALUE_NULL;
    if (!spaces && !value_is_string(set)) {
        return render_raise(r, FAULT_TYPE, "%sstrip arg must be None or str",
                            sides == STRIP_LEFT    ? "l"
                            : sides == STRIP_RIGHT ? "r"
                                                   : "");
    }
    /* Each stripped character is compared with the entire set. */
    uint64_t work = (uint64_t)owner.len * (spaces ? 1 : set.len);
    if (!render_charge(r, work / 16)) {
        return false;
    }
    Str chars = spaces ? STR_EMPTY : value_str(set);
    *out = method_text_like(owner, strip_text(value_str(owner), chars, spaces, sides));
    return true;
}

static bool str_strip(Render *r, const Args *args, Value *out)
{
    return strip_method(r, args, STRIP_LEFT | STRIP_RIGHT, out);
}

static bool str_lstrip(Render *r, const Args *args, Value *out)
{
    return strip_method(r, args, STRIP_LEFT, out);
}

static bool str_rstrip(Render *r, const Args *args, Value *out)
{
    return strip_method(r, args, STRIP_RIGHT, out);
}

static char *put_fill(char *pos, Str fill, uint64_t count)
{
    if (fill.len == 1) {
        memset(pos, fill.data[0], count);
        return pos + count;
    }
    for (uint64_t i = 0; i < count; i++) {
        memcpy(pos, fill.data, fill.len);
        pos += fill.len;
    }
    return pos;
}

/* The string padded with `left` and `right` copies of `fill`. */
static bool pad(Render *r, Value owner, Str fill, uint64_t left, uint64_t right, Value *out)
{
    if (left + right > VALUE_STRING_MAX) {
        return render_out_of_memory(r);
    }
    size_t len = owner.len + (left + right) * fill.len;
    char *padded = op_alloc_text(r, len);
    if (padded == NULL) {
        return false;
    }
    char *pos = put_fill(padded, fill, left);
    if (owner.len > 0) {
        memcpy(pos, owner.text, owner.len);
    }
    put_fill(pos + owner.len, fill, right);
    *out = method_text_like(owner, str_from(padded, len));
    return true;
}

static bool fill_arg(Render *r, const Args *args, Str *out)
{
    Value fill;
    *out = STR(" ");
    if (!method_arg_passed(args, 2)) {
        return true;
    }
    if (!method_arg_like(r, args, 2, &fill)) {
        return false;
    }
    if (!value_is_string(fill)) {
        return render_raise(r, FAULT_TYPE, "The fill character must be a unicode character, not %s",
                            op_type_name(fill));
    }
    if (fill.len > UTF8_BYTES_MAX || utf8_count(value_str(fill)) != 1) {
        return render_raise(r, FAULT_TYPE, "The fill character must be exactly one character long");
    }
    *out = value_str(fill);
    return true;
}

/* The number of characters needed to reach the width; 0 if the string is wide enough. */
static bool missing_width(Render *r, const Args *args, int64_t *width, uint64_t *missing)
{
    if (!op_index(r, args->values[1], width) || !op_charge_bytes(r, args->values[0].len)) {
        return false;
    }
    int64_t length = (int64_t)utf8_count(value_str(args->values[0]));
    *missing = *width > length ? (uint64_t)*width - (uint64_t)length : 0;
    return true;
}

static bool str_center(Render *r, const Args *args, Value *out)
{
    Str fill;
    int64_t width;
    uint64_t missing;
    if (!missing_width(r, args, &width, &missing) || !fill_arg(r, args, &fill)) {
        return false;
    }
    /* In fields of odd width Python puts the extra character on the left. */
    uint64_t left = missing / 2 + (missing & (uint64_t)width & 1);
    return pad(r, args->values[0], fill, left, missing - left, out);
}

static bool str_ljust(Render *r, const Args *args, Value *out)
{
    Str fill;
    int64_t width;
    uint64_t missing;
    return missing_width(r, args, &width, &missing) && fill_arg(r, args, &fill) &&
           pad(r, args->values[0], fill, 0, missing, out);
}

static bool str_rjust(Render *r, const Args *args, Value *out)
{
    Str fill;
    int64_t width;
    uint64_t missing;
    return missing_width(r, args, &width, &missing) && fill_arg(r, args, &fill) &&
           pad(r, args->values[0], fill, missing, 0, out);
}

static bool str_zfill(Render *r, const Args *args, Value *out)
{
    Value owner = args->values[0];
    int64_t width;
    uint64_t missing;
    if (!missing_width(r, args, &width, &missing)) {
        return false;
    }
    if (!pad(r, owner, STR("0"), missing, 0, out)) {
        return false;
    }
    /* A sign precedes the zeros. The string was just created, so it is not shared. */
    if (missing > 0 && owner.len > 0 && (owner.text[0] == '+' || owner.text[0] == '-')) {
        char *text = (char *)out->text;
        text[0] = owner.text[0];
        text[missing] = '0';
    }
    return true;
}

static bool str_expandtabs(Render *r, const Args *args, Value *out)
{
    Str text = value_str(args->values[0]);
    int64_t size;
    if (!method_arg_int(r, args, 1, 8, &size) || !render_charge(r, text.len / 16)) {
        return false;
    }
    Buf buf = render_buf(r);
    int64_t column = 0;
    for (size_t pos = 0; pos < text.len && !buf.overflow;) {
        size_t start = pos;
        uint32_t code = utf8_next(text, &pos);
        if (code == '\t') {
            if (size > 0) {
                int64_t spaces = size - column % size;
                buf_put_repeat(&buf, ' ', (size_t)spaces);
                column = 0; /* only the column modulo the tab size matters */
            }
            continue;
        }
        buf_put(&buf, str_slice(text, start, pos));
        column = code == '\n' || code == '\r' ? 0 : column + 1;
    }
    if (!render_take(r, &buf, out)) {
        return false;
    }
    *out = method_text_like(args->values[0], value_str(*out));
    return true;
}

static bool str_format(Render *r, const Args *args, Value *out)
{
    Value owner = args->values[0];
    FormatArgs fields = { .values = args->values + 1,
                          .count = args->count - 1,
                          .named = args->named,
                          .escape = value_is_markup(owner) };
    Buf buf = render_buf(r);
    if (!format_fields(r, value_str(owner), &fields, &buf) || !render_take(r, &buf, out)) {
        return false;
    }
    *out = method_text_like(owner, value_str(*out));
    return true;
}

static bool str_format_map(Render *r, const Args *args, Value *out)
{
    Value mapping = args->values[1];
    if (mapping.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, mapping);
    }
    FormatArgs fields = { .named = mapping.kind == VALUE_MAP ? mapping.map : NULL,
                          .no_positional = true };
    Buf buf = render_buf(r);
    return format_fields(r, value_str(args->values[0]), &fields, &buf) && render_take(r, &buf, out);
}

/* clang-format off */
const Native str_layout_methods[] = {
    { "strip", str_strip, { { "self" }, { "chars", "none" } }, 0,
      "Strips whitespace, or the given characters, from both ends.",
      "{{ '--a-'.strip('-') }}", "a" },
    { "lstrip", str_lstrip, { { "self" }, { "chars", "none" } }, 0,
      "Like strip, at the start only.", "{{ '--a-'.lstrip('-') }}", "a-" },
    { "rstrip", str_rstrip, { { "self" }, { "chars", "none" } }, 0,
      "Like strip, at the end only.", "{{ '--a-'.rstrip('-') }}", "--a" },
    { "format", str_format, { { "self" } }, NATIVE_VARIADIC | NATIVE_KEYWORDS,
      "Replaces the {} fields, each formatted by its specification.",
      "{{ '{:>3}|{n:.1f}'.format(7, n=1.25) }}", "  7|1.2" },
    { "format_map", str_format_map, { { "self" }, { "mapping" } }, 0,
      "Like format, with names from a dict.",
      "{{ '{a}-{b}'.format_map({'a': 1, 'b': 2}) }}", "1-2" },
    { "center", str_center, { { "self" }, { "width" }, { "fillchar", "' '" } }, 0,
      "Centers the string in a field of the given width.", "{{ 'ab'.center(6, '-') }}", "--ab--" },
    { "ljust", str_ljust, { { "self" }, { "width" }, { "fillchar", "' '" } }, 0,
      "Left-aligns the string in a field of the given width.", "{{ 'ab'.ljust(4, '.') }}", "ab.." },
    { "rjust", str_rjust, { { "self" }, { "width" }, { "fillchar", "' '" } }, 0,
      "Right-aligns the string in a field of the given width.", "{{ 'ab'.rjust(4, '.') }}", "..ab" },
    { "zfill", str_zfill, { { "self" }, { "width" } }, 0,
      "Pads with leading zeros, after the sign if there is one.", "{{ '-7'.zfill(4) }}", "-007" },
    { "expandtabs", str_expandtabs, { { "self" }, { "tabsize", "8" } }, 0,
      "Replaces tabs with spaces.", "{{ 'a\\tb'.expandtabs(4) }}", "a   b" },
    { 0 },
};
/* clang-format on */
