/* Out-of-line helpers for filters, tests and globals; see filter.h. */
#include "lang/template/filter.h"

#include "base/ascii_case.h"
#include "base/bug.h"
#include "base/utf8.h"
#include "lang/number.h"
#include "lang/unicode.h"

bool value_to_index(Render *r, Value v, int64_t *out)
{
    if (v.kind == VALUE_INT) {
        *out = v.integer;
        return true;
    }
    if (v.kind == VALUE_BOOL) {
        *out = v.boolean;
        return true;
    }
    return render_raise(r, FAULT_TYPE, "'%s' object cannot be interpreted as an integer",
                        op_type_name(v));
}

bool text_method(Render *r, const char *name, Str text, Value *out)
{
    const Native *method = method_find(VALUE_STRING, str_from_c(name));
    BUG_IF(method == NULL);
    Value values[NATIVE_PARAMS_MAX] = { value_string(text) };
    uint32_t count = native_param_count(method);
    for (uint32_t i = 1; i < count; i++) {
        values[i] = value_missing();
    }
    return method->call(r, &(Args){ .values = values, .count = count }, out);
}

/* The callers handle only ASCII; the str methods implement the Unicode rules. */
static bool text_case(Render *r, const char *method, Str text, Str *out)
{
    Value v = value_null();
    bool ok = text_method(r, method, text, &v);
    *out = value_str(v);
    return ok;
}

bool text_lower(Render *r, Str text, Str *out)
{
    char *lower = arena_alloc(r->arena, chunk_capacity(text.len));
    if (UNLIKELY(!ascii_copy_lower(text, lower))) {
        return text_case(r, "lower", text, out);
    }
    *out = str_from(lower, text.len);
    return true;
}

bool text_upper(Render *r, Str text, Str *out)
{
    char *upper = arena_alloc(r->arena, chunk_capacity(text.len));
    if (UNLIKELY(!ascii_copy_upper(text, upper))) {
        return text_case(r, "upper", text, out);
    }
    *out = str_from(upper, text.len);
    return true;
}

bool take_text(Render *r, Buf *buf, bool markup, Value *out)
{
    if (!render_take(r, buf, out)) {
        return false;
    }
    if (markup) {
        out->flags |= VALUE_MARKUP;
    }
    return true;
}

Str repr_for_message(Render *r, Value v)
{
    enum {
        SHOWN_MAX = 200
    };
    if (v.kind == VALUE_STRING) {
        v.len = (uint32_t)utf8_index_to_offset(value_str(v), SHOWN_MAX);
    } else if (v.kind > VALUE_STRING && v.kind != VALUE_UNDEFINED) {
        return arena_format(r->arena, "<%s>", op_type_name(v));
    }
    Buf text = render_buf(r);
    return op_repr(r, v, &text) ? buf_str(&text) : STR("...");
}

bool raise_no_attribute(Render *r, Value v, const char *name)
{
    if (v.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, v);
    }
    return render_raise(r, FAULT_ATTRIBUTE, "'%s' object has no attribute '%s'", op_type_name(v),
                        name);
}

bool unpack_pair(Render *r, Value v, Value *first, Value *second)
{
    if (v.kind <= VALUE_FLOAT) {
        return render_raise(r, FAULT_TYPE, "cannot unpack non-iterable %s object", op_type_name(v));
    }
    Iter iter;
    if (!iter_start(r, v, &iter)) {
        return false;
    }
    Value *targets[] = { first, second };
    for (uint32_t i = 0; i < 2; i++) {
        if (!iter_next(r, &iter, targets[i])) {
            return render_raise(r, FAULT_VALUE, "not enough values to unpack (expected 2, got %u)",
                                i);
        }
    }
    Value rest;
    if (iter_next(r, &iter, &rest)) {
        return render_raise(r, FAULT_VALUE, "too many values to unpack (expected 2)");
    }
    return !render_failed(r);
}

static size_t line_end_bytes(Str text, size_t pos)
{
    const unsigned char *p = (const unsigned char *)text.data + pos;
    size_t remaining = text.len - pos;
    if (*p < 0x20) {
        if (*p == '\r') {
            return remaining > 1 && p[1] == '\n' ? 2 : 1;
        }
        return (*p >= '\n' && *p <= '\f') || (*p >= 0x1c && *p <= 0x1e) ? 1 : 0;
    }
    if (*p == 0xc2) {
        return remaining > 1 && p[1] == 0x85 ? 2 : 0;
    }
    if (*p == 0xe2) {
        return remaining > 2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9) ? 3 : 0;
    }
    return 0;
}

bool text_next_line(Str text, size_t *pos, Str *line, Str *line_with_end)
{
    size_t start = *pos;
    if (start >= text.len) {
        return false;
    }
    size_t end = start;
    size_t bytes = 0;
    while (end < text.len && (bytes = line_end_bytes(text, end)) == 0) {
        end++;
    }
    *line = str_slice(text, start, end);
    *pos = end + bytes;
    if (line_with_end != NULL) {
        *line_with_end = str_slice(text, start, end + bytes);
    }
    return true;
}

bool code_is_wide_space(uint32_t code)
{
    return unicode_is(code, UNICODE_SPACE);
}

bool code_is_word(uint32_t code)
{
    if (code < 0x80) {
        return ascii_is_name((char)code);
    }
    return unicode_is(code, UNICODE_ALPHA | UNICODE_DECIMAL | UNICODE_DIGIT | UNICODE_NUMERIC);
}

size_t text_skip_spaces(Str text, size_t pos)
{
    while (pos < text.len) {
        size_t next = pos;
        if (!code_is_space(utf8_next(text, &next))) {
            break;
        }
        pos = next;
    }
    return pos;
}

size_t text_skip_word(Str text, size_t pos)
{
    while (pos < text.len) {
        size_t next = pos;
        if (code_is_space(utf8_next(text, &next))) {
            break;
        }
        pos = next;
    }
    return pos;
}

static COLD Str strip_wide(Str text)
{
    size_t start = 0, end = text.len;
    while (start < end) {
        size_t next = start;
        if (!code_is_space(utf8_next(text, &next))) {
            break;
        }
        start = next;
    }
    while (end > start) {
        size_t previous = end;
        if (!code_is_space(utf8_previous(text, &previous))) {
            break;
        }
        end = previous;
    }
    return str_slice(text, start, end);
}

Str text_strip(Str text)
{
    const unsigned char *start = (const unsigned char *)text.data;
    const unsigned char *end = start + text.len;
    while (start < end && *start <= ' ' && code_is_space(*start)) {
        start++;
    }
    while (start < end && end[-1] <= ' ' && code_is_space(end[-1])) {
        end--;
    }
    text = str_from((const char *)start, (size_t)(end - start));
    if (UNLIKELY(text.len > 0 && (*start | end[-1]) >= 0x80)) {
        return strip_wide(text);
    }
    return text;
}

bool value_to_float(Render *r, Value v, double *out)
{
    switch (v.kind) {
    case VALUE_BOOL: *out = v.boolean; return true;
    case VALUE_INT: *out = (double)v.integer; return true;
    case VALUE_FLOAT: *out = v.number; return true;
    case VALUE_STRING:
        if (number_parse_python_float(value_str(v), out)) {
            return true;
        }
        return render_raise(r, FAULT_VALUE, "could not convert string to float: %" STR_FMT,
                            STR_ARG(repr_for_message(r, v)));
    case VALUE_UNDEFINED: return undefined_raise(r, v);
    default:
        return render_raise(r, FAULT_TYPE,
                            "float() argument must be a string or a real number, not '%s'",
                            op_type_name(v));
    }
}
