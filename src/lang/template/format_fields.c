/* Implements str.format: "{0} {name!r:>10} {user[name].upper}". */
#include "base/utf8.h"
#include "lang/template/format.h"

enum {
    SPEC_DEPTH_MAX = 2 /* nesting of fields in format specifications */
};

typedef enum Numbering {
    NUMBERING_UNKNOWN,
    NUMBERING_AUTOMATIC, /* {} {} */
    NUMBERING_MANUAL,    /* {0} {1} */
} Numbering;

typedef struct Fields {
    Render *r;
    const FormatArgs *args;
    Numbering numbering;
    uint32_t next;
} Fields;

/* A replacement field: {name!conversion:spec} */
typedef struct Field {
    Str name;
    uint32_t conversion; /* 0 if absent */
    Str spec;
    bool spec_has_fields;
} Field;

static bool raise_value(Render *r, const char *message)
{
    return render_raise(r, FAULT_VALUE, "%s", message);
}

static bool raise_key(Render *r, Value key)
{
    Buf repr = render_buf(r);
    if (!op_repr(r, key, &repr)) {
        return false;
    }
    return render_raise(r, FAULT_KEY, "%" STR_FMT, STR_ARG(buf_str(&repr)));
}

/* Parses a field of `text`; `*pos` is moved from after its opening brace to after its closing brace.
 * Braces inside [] belong to a key. */
static bool field_parse(Render *r, Str text, size_t *pos, Field *out)
{
    *out = (Field){ .spec = STR_EMPTY };
    size_t start = *pos;
    bool in_key = false;
    for (; *pos < text.len; ++*pos) {
        char c = text.data[*pos];
        if (c == '[') {
            in_key = true;
        } else if (c == ']') {
            in_key = false;
        } else if (c == '{') {
            return raise_value(r, "unexpected '{' in field name");
        } else if (!in_key && (c == '}' || c == ':' || c == '!')) {
            break;
        }
    }
    if (*pos >= text.len) {
        return raise_value(r, "expected '}' before end of string");
    }
    out->name = str_slice(text, start, *pos);
    char end = text.data[(*pos)++];
    if (end == '!') {
        if (*pos >= text.len) {
            return raise_value(r, "end of string while looking for conversion specifier");
        }
        out->conversion = utf8_next(text, pos);
        if (*pos >= text.len) {
            return raise_value(r, "unmatched '{' in format spec");
        }
        end = text.data[(*pos)++];
        if (end != ':' && end != '}') {
            return raise_value(r, "expected ':' after conversion specifier");
        }
    }
    if (end == '}') {
        return true;
    }
    start = *pos;
    unsigned depth = 0;
    for (; *pos < text.len; ++*pos) {
        char c = text.data[*pos];
        if (c == '{') {
            depth++;
            out->spec_has_fields = true;
        } else if (c == '}' && depth-- == 0) {
            out->spec = str_slice(text, start, (*pos)++);
            return true;
        }
    }
    return raise_value(r, "unmatched '{' in format spec");
}

static bool to_index(Str name, int64_t *out)
{
    if (name.len == 0 || !ascii_is_digit(name.data[0])) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        if (!ascii_is_digit(name.data[i])) {
            return false;
        }
    }
    return str_to_i64(name, out);
}

static bool positional(Fields *f, bool automatic, int64_t index, Value *out)
{
    if (f->args->no_positional) {
        return raise_value(f->r, "Format string contains positional fields");
    }
    Numbering requested = automatic ? NUMBERING_AUTOMATIC : NUMBERING_MANUAL;
    if (f->numbering == NUMBERING_UNKNOWN) {
        f->numbering = requested;
    }
    if (f->numbering != requested) {
        return raise_value(f->r, automatic ? "cannot switch from manual field specification to "
                                             "automatic field numbering"
                                           : "cannot switch from automatic field numbering to "
                                             "manual field specification");
    }
    if (automatic) {
        index = f->next++;
    }
    if (index >= f->args->count) {
        return render_raise(f->r, FAULT_INDEX,
                            "Replacement index %lld out of range for positional args tuple",
                            (long long)index);
    }
    *out = f->args->values[index];
    return true;
}

static bool get_first(Fields *f, Str name, Value *out)
{
    int64_t index = 0;
    if (name.len == 0 || to_index(name, &index)) {
        return positional(f, name.len == 0, index, out);
    }
    const MapEntry *entry = f->args->named == NULL ? NULL : map_find_str(f->args->named, name);
    if (entry == NULL) {
        return raise_key(f->r, value_string(name));
    }
    *out = entry->value;
    return true;
}

/* Python's owner[key], which fails instead of returning an undefined value. */
static bool get_element(Render *r, Value owner, Value key, Value *out)
{
    if (owner.kind == VALUE_UNDEFINED) {
        return op_get_item(r, owner, key, out);
    }
    if (value_is_string(key) && owner.kind != VALUE_MAP &&
        !(owner.kind == VALUE_OBJECT && owner.object->type->mapping)) {
        if (value_is_string(owner)) {
            return render_raise(r, FAULT_TYPE, "string indices must be integers, not 'str'");
        }
        if (value_is_sequence(owner) ||
            (owner.kind == VALUE_OBJECT && owner.object->type->sequence)) {
            return render_raise(r, FAULT_TYPE, "%s indices must be integers or slices, not str",
                                op_type_name(owner));
        }
    }
    bool found;
    if (!op_find_item(r, owner, key, out, &found)) {
        return false;
    }
    if (found) {
        return true;
    }
    if (owner.kind == VALUE_MAP || (owner.kind == VALUE_OBJECT && owner.object->type->mapping)) {
        return raise_key(r, key);
    }
    if (value_is_string(owner)) {
        return render_raise(r, FAULT_INDEX, "string index out of range");
    }
    if (value_is_sequence(owner)) {
        return render_raise(r, FAULT_INDEX, "%s index out of range", op_type_name(owner));
    }
    if (owner.kind == VALUE_OBJECT && owner.object->type->get_item != NULL) {
        return render_raise(r, FAULT_INDEX, "%s object index out of range", op_type_name(owner));
    }
    return render_raise(r, FAULT_TYPE, "'%s' object is not subscriptable", op_type_name(owner));
}

static bool get_attribute(Render *r, Value owner, Str name, Value *out)
{
    if (owner.kind == VALUE_UNDEFINED) {
        return op_get_attr(r, owner, name, out);
    }
    bool found;
    if (!op_find_attribute(r, owner, name, out, &found)) {
        return false;
    }
    if (!found) {
        return render_raise(r, FAULT_ATTRIBUTE, "'%s' object has no attribute '%" STR_FMT "'",
                            op_type_name(owner), STR_ARG(name));
    }
    return true;
}

/* first.attribute[key]... */
static bool get_value(Fields *f, Str name, Value *out)
{
    size_t pos = 0;
    while (pos < name.len && name.data[pos] != '.' && name.data[pos] != '[') {
        pos++;
    }
    if (!get_first(f, str_slice(name, 0, pos), out)) {
        return false;
    }
    while (pos < name.len) {
        char c = name.data[pos++];
        size_t start = pos;
        bool element = c == '[';
        if (!element && c != '.') {
            return raise_value(f->r, "Only '.' or '[' may follow ']' in format field specifier");
        }
        while (pos < name.len &&
               (element ? name.data[pos] != ']' : name.data[pos] != '.' && name.data[pos] != '[')) {
            pos++;
        }
        if (element && pos >= name.len) {
            return raise_value(f->r, "Missing ']' in format string");
        }
        Str part = str_slice(name, start, pos);
        if (part.len == 0) {
            return raise_value(f->r, "Empty attribute in format string");
        }
        pos += element;
        int64_t index;
        bool secret = value_is_secret(*out);
        if (!render_charge(f->r, 1) ||
            !(!element                 ? get_attribute(f->r, *out, part, out)
              : to_index(part, &index) ? get_element(f->r, *out, value_int(index), out)
                                       : get_element(f->r, *out, value_string(part), out))) {
            return false;
        }
        out->flags |= secret ? VALUE_SECRET : 0;
    }
    return true;
}

static bool convert(Render *r, uint32_t conversion, Value *v)
{
    Buf buf = render_buf(r);
    bool ok;
    switch (conversion) {
    case 0: return true;
    case 's':
        if (value_is_string(*v)) {
            return true;
        }
        ok = op_print(r, *v, &buf);
        break;
    case 'r': ok = op_repr(r, *v, &buf); break;
    case 'a': ok = format_ascii(r, *v, &buf); break;
    default: {
        char bytes[UTF8_BYTES_MAX];
        int len = (int)utf8_encode(conversion, bytes);
        return render_raise(r, FAULT_VALUE, "Unknown conversion specifier %.*s", len, bytes);
    }
    }
    return ok && render_take(r, &buf, v);
}

static bool put_field(Render *r, bool escape, Value v, Str spec, Buf *out)
{
    if (!escape) {
        return format_value(r, v, spec, out);
    }
    if (value_is_markup(v)) {
        if (spec.len > 0) {
            return raise_value(r, "Unsupported format specification for Markup.");
        }
        buf_put(out, value_str(v));
        return true;
    }
    Buf buf = render_buf(r);
    Value text;
    if (!format_value(r, v, spec, &buf) || !render_take(r, &buf, &text)) {
        return false;
    }
    escape_html(value_str(text), out);
    return true;
}

static bool put_all(Fields *f, Str text, unsigned depth, bool escape, Buf *out)
{
    Render *r = f->r;
    if (depth == 0) {
        return raise_value(r, "Max string recursion exceeded");
    }
    for (size_t pos = 0; pos < text.len;) {
        size_t start = pos;
        while (pos < text.len && text.data[pos] != '{' && text.data[pos] != '}') {
            pos++;
        }
        buf_put(out, str_slice(text, start, pos));
        if (pos == text.len) {
            break;
        }
        char brace = text.data[pos++];
        if (pos < text.len && text.data[pos] == brace) {
            buf_put_char(out, brace);
            pos++;
            continue;
        }
        if (brace == '}' || pos == text.len) {
            return render_raise(r, FAULT_VALUE, "Single '%c' encountered in format string", brace);
        }
        Field field;
        Value v;
        if (!render_charge(r, 1) || !field_parse(r, text, &pos, &field) ||
            !get_value(f, field.name, &v) || !convert(r, field.conversion, &v)) {
            return false;
        }
        if (field.spec_has_fields) {
            Buf spec = render_buf(r);
            Value expanded;
            if (!put_all(f, field.spec, depth - 1, false, &spec) ||
                !render_take(r, &spec, &expanded)) {
                return false;
            }
            field.spec = value_str(expanded);
        }
        if (!put_field(r, escape, v, field.spec, out)) {
            return false;
        }
    }
    return true;
}

bool format_fields(Render *r, Str format, const FormatArgs *args, Buf *out)
{
    Fields f = { .r = r, .args = args };
    return op_charge_bytes(r, format.len) && put_all(&f, format, SPEC_DEPTH_MAX, args->escape, out);
}
