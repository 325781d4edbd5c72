/* Implements `format % args`, Python's printf-style formatting. Markup escapes its arguments. */
#include <math.h>
#include <stdio.h>

#include "base/utf8.h"
#include "lang/template/format.h"

typedef struct Printf {
    Render *r;
    Str format;
    size_t pos;
    bool markup;
    Value args;      /* tuple of arguments, or the only argument */
    uint32_t next;   /* next item of the tuple; 0 until the only argument is consumed */
    bool is_mapping; /* the only argument is looked up by key and need not be consumed */
    bool keyed;      /* the current directive has a key ... */
    Value keyed_arg; /* ... this is its value */
    bool keyed_used; /* ... and it was consumed */
    bool has_keys;   /* a directive had a key: no positional arguments from now on */
    Buf *out;
} Printf;

static bool next_arg(Printf *p, Value *out)
{
    if (p->keyed) {
        if (!p->keyed_used) {
            p->keyed_used = true;
            *out = p->keyed_arg;
            return true;
        }
    } else if (p->has_keys) {
        /* the mapping was replaced by the values of its keys */
    } else if (p->args.kind == VALUE_TUPLE) {
        if (p->next < p->args.list->len) {
            *out = p->args.list->items[p->next++];
            return true;
        }
    } else if (p->next == 0) {
        p->next = 1;
        *out = p->args;
        return true;
    }
    return render_raise(p->r, FAULT_TYPE, "not enough arguments for format string");
}

/* Python's args[key], which fails if there is none. */
static bool mapping_get(Render *r, Value mapping, Str key, Value *out)
{
    if (mapping.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, mapping);
    }
    if (mapping.kind == VALUE_MAP) {
        const MapEntry *entry = map_find_str(mapping.map, key);
        if (entry != NULL) {
            *out = entry->value;
            return true;
        }
    } else if (mapping.kind == VALUE_OBJECT && mapping.object->type->mapping) {
        bool found;
        if (!mapping.object->type->get_item(r, mapping.object, value_string(key), out, &found)) {
            return false;
        }
        if (found) {
            return true;
        }
    } else {
        return render_raise(r, FAULT_TYPE, "%s indices must be integers or slices, not str",
                            op_type_name(mapping));
    }
    Buf shown = render_buf(r);
    repr_text(key, &shown);
    return render_raise(r, FAULT_KEY, "%" STR_FMT, STR_ARG(buf_str(&shown)));
}

/* (name) after the percent sign; parentheses in it may nest. */
static bool take_key(Printf *p)
{
    p->keyed = false;
    if (p->pos >= p->format.len || p->format.data[p->pos] != '(') {
        return true;
    }
    if (!p->is_mapping) {
        return render_raise(p->r, FAULT_TYPE, "format requires a mapping");
    }
    size_t start = ++p->pos;
    for (unsigned depth = 1; p->pos < p->format.len; p->pos++) {
        char c = p->format.data[p->pos];
        if (c == '(') {
            depth++;
        } else if (c == ')' && --depth == 0) {
            break;
        }
    }
    if (p->pos >= p->format.len) {
        return render_raise(p->r, FAULT_VALUE, "incomplete format key");
    }
    Str key = str_slice(p->format, start, p->pos++);
    p->keyed = true;
    p->keyed_used = false;
    p->has_keys = true;
    return mapping_get(p->r, p->args, key, &p->keyed_arg);
}

static void take_flags(Printf *p, FormatSpec *spec, bool *zero)
{
    for (; p->pos < p->format.len; p->pos++) {
        switch (p->format.data[p->pos]) {
        case '-': spec->align = '<'; break;
        case '+': spec->sign = '+'; break;
        case ' ':
            if (spec->sign == 0) {
                spec->sign = ' ';
            }
            break;
        case '#': spec->alternate = true; break;
        case '0': *zero = true; break;
        default: return;
        }
    }
}

/* Parses digits, or `*` for an argument; `out` is unchanged if there is neither. */
static bool take_size(Printf *p, int64_t limit, const char *what, int64_t *out)
{
    if (p->pos < p->format.len && p->format.data[p->pos] == '*') {
        p->pos++;
        Value arg;
        if (!next_arg(p, &arg)) {
            return false;
        }
        if (!op_is_int(arg)) {
            return render_raise(p->r, FAULT_TYPE, "* wants int");
        }
        if (op_int(arg) > limit || op_int(arg) < -limit) {
            return render_raise(p->r, FAULT_OVERFLOW, "%s too big", what);
        }
        *out = op_int(arg);
        return true;
    }
    int64_t number = 0;
    for (; p->pos < p->format.len && ascii_is_digit(p->format.data[p->pos]); p->pos++) {
        number = number * 10 + (p->format.data[p->pos] - '0');
        if (number > limit) {
            return render_raise(p->r, FAULT_VALUE, "%s too big", what);
        }
        *out = number;
    }
    return true;
}

static bool put_text(Printf *p, const FormatSpec *spec, Value v)
{
    Render *r = p->r;
    Buf buf = render_buf(r);
    Value text;
    if (spec->type == 's' && value_is_string(v) && !p->markup) {
        text = v;
    } else {
        bool ok = spec->type == 'a'   ? format_ascii(r, v, &buf)
                  : spec->type == 'r' ? op_repr(r, v, &buf)
                  : p->markup         ? op_print_escaped(r, v, &buf)
                                      : op_print(r, v, &buf);
        if (!ok || !render_take(r, &buf, &text)) {
            return false;
        }
        if (p->markup && spec->type != 's' && !op_escape(r, text, &text)) {
            return false;
        }
    }
    format_put_text(spec, format_cut(value_str(text), spec->precision), '>', p->out);
    return op_charge_bytes(r, text.len);
}

/* Pads with leading zeros to `precision` digits. */
static bool put_digits(Printf *p, const FormatSpec *spec, FormatNumber number)
{
    if (spec->precision > (int64_t)number.digits.len) {
        char *padded = op_alloc_text(p->r, (size_t)spec->precision);
        if (padded == NULL) {
            return false;
        }
        size_t zeros = (size_t)spec->precision - number.digits.len;
        memset(padded, '0', zeros);
        memcpy(padded + zeros, number.digits.data, number.digits.len);
        number.digits = str_from(padded, (size_t)spec->precision);
    }
    format_put_number(spec, &number, '>', p->out);
    return true;
}

static bool put_float_as_int(Printf *p, const FormatSpec *spec, double x)
{
    if (isnan(x)) {
        return render_raise(p->r, FAULT_VALUE, "cannot convert float NaN to integer");
    }
    if (isinf(x)) {
        return render_raise(p->r, FAULT_OVERFLOW, "cannot convert float infinity to integer");
    }
    char digits[320];
    int len = snprintf(digits, sizeof digits, "%.0f", trunc(fabs(x)));
    return put_digits(p, spec,
                      (FormatNumber){ .negative = x <= -1,
                                      .prefix = STR_EMPTY,
                                      .digits = str_from(digits, (size_t)len),
                                      .suffix = STR_EMPTY });
}

static bool put_int(Printf *p, const FormatSpec *spec, Value v)
{
    bool decimal = spec->type == 'd' || spec->type == 'i' || spec->type == 'u';
    if (decimal && v.kind == VALUE_UNDEFINED) {
        return undefined_raise(p->r, v);
    }
    if (decimal && v.kind == VALUE_FLOAT) {
        return put_float_as_int(p, spec, v.number);
    }
    if (!op_is_int(v)) {
        return render_raise(p->r, FAULT_TYPE, "%%%c format: %s is required, not %s", spec->type,
                            decimal ? "a real number" : "an integer", op_type_name(v));
    }
    int64_t integer = op_int(v);
    char buffer[FORMAT_DIGITS_MAX];
    uint64_t magnitude = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
    unsigned base = decimal ? 10 : spec->type == 'o' ? 8 : 16;
    Str prefix = decimal || !spec->alternate ? STR_EMPTY
                 : spec->type == 'o'         ? STR("0o")
                 : spec->type == 'x'         ? STR("0x")
                                             : STR("0X");
    return put_digits(
        p, spec,
        (FormatNumber){ .negative = integer < 0,
                        .prefix = prefix,
                        .digits = format_digits(magnitude, base, spec->type == 'X', buffer),
                        .suffix = STR_EMPTY });
}

static bool put_float(Printf *p, const FormatSpec *spec, Value v)
{
    if (v.kind == VALUE_UNDEFINED) {
        return undefined_raise(p->r, v);
    }
    if (v.kind != VALUE_FLOAT && !op_is_int(v)) {
        return render_raise(p->r, FAULT_TYPE, "must be real number, not %s", op_type_name(v));
    }
    double x = v.kind == VALUE_FLOAT ? v.number : (double)op_int(v);
    Buf buf = render_buf(p->r);
    Value text;
    if (!format_put_float(p->r, x, spec, spec->precision < 0 ? 6 : spec->precision, &buf) ||
        !render_take(p->r, &buf, &text)) {
        return false;
    }
    FormatNumber number = format_split_float(value_str(text));
    format_put_number(spec, &number, '>', p->out);
    return true;
}

static bool put_char(Printf *p, const FormatSpec *spec, Value v)
{
    char bytes[UTF8_BYTES_MAX];
    Str text;
    if (op_is_int(v)) {
        if (op_int(v) < 0 || op_int(v) > 0x10ffff) {
            return render_raise(p->r, FAULT_OVERFLOW, "%%c arg not in range(0x110000)");
        }
        text = str_from(bytes, utf8_encode((uint32_t)op_int(v), bytes));
    } else if (value_is_string(v) && v.len > 0 && v.len <= UTF8_BYTES_MAX &&
               utf8_count(value_str(v)) == 1) {
        text = value_str(v);
    } else {
        return render_raise(p->r, FAULT_TYPE, "%%c requires int or char");
    }
    format_put_text(spec, text, '>', p->out);
    return true;
}

static bool put_arg(Printf *p, const FormatSpec *spec, Value v)
{
    switch (spec->type) {
    case 's':
    case 'r':
    case 'a': return put_text(p, spec, v);
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X': return put_int(p, spec, v);
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': return put_float(p, spec, v);
    default: return put_char(p, spec, v);
    }
}

/* Formats one directive; `pos` is after its percent sign. */
static bool directive(Printf *p)
{
    if (p->pos < p->format.len && p->format.data[p->pos] == '%') {
        p->pos++;
        buf_put_char(p->out, '%');
        return true;
    }
    FormatSpec spec = { .fill = ' ', .width = -1, .precision = -1 };
    bool zero = false;
    if (!take_key(p)) {
        return false;
    }
    take_flags(p, &spec, &zero);
    if (!take_size(p, INT64_MAX / 16, "width", &spec.width)) {
        return false;
    }
    if (spec.width < -1) {
        spec.align = '<';
        spec.width = -spec.width;
    }
    if (p->pos < p->format.len && p->format.data[p->pos] == '.') {
        p->pos++;
        spec.precision = 0;
        if (!take_size(p, INT32_MAX, "precision", &spec.precision)) {
            return false;
        }
        spec.precision = spec.precision < 0 ? 0 : spec.precision;
    }
    char c = p->pos < p->format.len ? p->format.data[p->pos] : 0;
    if (c == 'h' || c == 'l' || c == 'L') {
        p->pos++; /* C's length modifiers are ignored */
    }
    if (p->pos >= p->format.len) {
        return render_raise(p->r, FAULT_VALUE, "incomplete format");
    }
    Value arg;
    if (!next_arg(p, &arg)) {
        return false;
    }
    size_t start = p->pos;
    uint32_t type = utf8_next(p->format, &p->pos);
    if (type >= 0x80 || type == 0 || strchr("sradiuoxXeEfFgGc", (int)type) == NULL) {
        return render_raise(p->r, FAULT_VALUE,
                            "unsupported format character '%c' (0x%x) at index %zu",
                            type >= 0x20 && type < 0x7f ? (int)type : '?', (unsigned)type,
                            utf8_count(str_slice(p->format, 0, start)));
    }
    spec.type = (char)type;
    if (zero && spec.align == 0 && strchr("srac", spec.type) == NULL) {
        spec.fill = '0';
        spec.align = '=';
    }
    return put_arg(p, &spec, arg);
}

/* Whether Python treats the value as a mapping here: anything that supports [] except strings and
 * tuples. */
static bool is_mapping(Value v)
{
    return v.kind == VALUE_MAP || v.kind == VALUE_LIST || v.kind == VALUE_UNDEFINED ||
           (v.kind == VALUE_OBJECT && v.object->type->get_item != NULL);
}

bool op_printf(Render *r, Value format, Value args, Value *out)
{
    Buf buf = render_buf(r);
    Printf p = { .r = r,
                 .format = value_str(format),
                 .markup = value_is_markup(format),
                 .args = args,
                 .is_mapping = is_mapping(args),
                 .out = &buf };
    if (!op_charge_bytes(r, format.len)) {
        return false;
    }
    while (p.pos < p.format.len) {
        const char *found = memchr(p.format.data + p.pos, '%', p.format.len - p.pos);
        size_t end = found == NULL ? p.format.len : (size_t)(found - p.format.data);
        buf_put(&buf, str_slice(p.format, p.pos, end));
        p.pos = end + 1;
        if (found != NULL && (!render_charge(r, 1) || !directive(&p))) {
            return false;
        }
    }
    uint32_t count = args.kind == VALUE_TUPLE ? args.list->len : 1;
    if (!p.is_mapping && p.next < count) {
        return render_raise(r, FAULT_TYPE, "not all arguments converted during string formatting");
    }
    if (!render_take(r, &buf, out)) {
        return false;
    }
    out->flags |= format.flags & VALUE_MARKUP;
    return true;
}
