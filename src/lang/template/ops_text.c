/* Converts values to text: Python's str() and repr(), and HTML escaping. */
#include <stdio.h>

#include "base/chunk.h"
#include "base/utf8.h"
#include "lang/number.h"
#include "lang/template/ops.h"
#include "lang/unicode.h"

const char *op_type_name(Value v)
{
    return v.kind == VALUE_OBJECT ? v.object->type->name : value_python_name(v);
}

/* The full escape sequence of a character that repr() does not print verbatim. */
static void escape_put(uint32_t code, Buf *out)
{
    if (code < 0x100) {
        buf_put_format(out, "\\x%02x", (unsigned)code);
    } else if (code < 0x10000) {
        buf_put_format(out, "\\u%04x", (unsigned)code);
    } else {
        buf_put_format(out, "\\U%08x", (unsigned)code);
    }
}

void repr_text(Str text, Buf *out)
{
    char quote = '\'';
    if (text.len > 0 && memchr(text.data, '\'', text.len) != NULL &&
        memchr(text.data, '"', text.len) == NULL) {
        quote = '"';
    }
    buf_put_char(out, quote);
    size_t pos = 0;
    while (pos < text.len) {
        size_t plain = pos;
        while (pos < text.len && text.data[pos] >= ' ' && text.data[pos] < 0x7f &&
               text.data[pos] != '\\' && text.data[pos] != quote) {
            pos++;
        }
        buf_put(out, str_slice(text, plain, pos));
        if (pos == text.len) {
            break;
        }
        char c = text.data[pos];
        uint32_t code;
        size_t bytes = utf8_decode(text.data + pos, text.len - pos, &code);
        if (bytes == 0) {
            /* Not UTF-8: printed as Python prints bytes that it could not decode. */
            escape_put(0xdc00u + (unsigned char)c, out);
            pos++;
            continue;
        }
        switch (c) {
        case '\n': buf_put(out, STR("\\n")); break;
        case '\r': buf_put(out, STR("\\r")); break;
        case '\t': buf_put(out, STR("\\t")); break;
        case '\\':
        case '\'':
        case '"':
            buf_put_char(out, '\\');
            buf_put_char(out, c);
            break;
        default:
            if (unicode_is(code, UNICODE_PRINTABLE)) {
                buf_put(out, str_slice(text, pos, pos + bytes));
            } else {
                escape_put(code, out);
            }
        }
        pos += bytes;
    }
    buf_put_char(out, quote);
}

/* The items of a list or tuple without the brackets. */
static bool repr_items(Render *r, const List *list, Buf *out)
{
    for (uint32_t i = 0; i < list->len && !out->overflow; i++) {
        if (i > 0) {
            buf_put(out, STR(", "));
        }
        if (!render_charge(r, 1) || !op_repr(r, list->items[i], out)) {
            return false;
        }
    }
    return true;
}

static bool repr_sequence(Render *r, Value v, Buf *out)
{
    const List *list = v.list;
    bool tuple = v.kind == VALUE_TUPLE;
    if (render_is_inside(r, list)) {
        buf_put(out, tuple ? STR("(...)") : STR("[...]"));
        return true;
    }
    Nest nest;
    if (!render_enter(r, &nest, list)) {
        return false;
    }
    buf_put_char(out, tuple ? '(' : '[');
    bool done = repr_items(r, list, out);
    buf_put(out, !tuple ? STR("]") : list->len == 1 ? STR(",)") : STR(")"));
    render_leave(r, &nest);
    return done;
}

static bool repr_entries(Render *r, const Map *map, Buf *out)
{
    for (uint32_t i = 0; i < map->len && !out->overflow; i++) {
        if (i > 0) {
            buf_put(out, STR(", "));
        }
        if (!render_charge(r, 1) || !op_repr(r, map->entries[i].key, out)) {
            return false;
        }
        buf_put(out, STR(": "));
        if (!op_repr(r, map->entries[i].value, out)) {
            return false;
        }
    }
    return true;
}

static bool repr_map(Render *r, const Map *map, Buf *out)
{
    if (render_is_inside(r, map)) {
        buf_put(out, STR("{...}"));
        return true;
    }
    Nest nest;
    if (!render_enter(r, &nest, map)) {
        return false;
    }
    buf_put_char(out, '{');
    bool done = repr_entries(r, map, out);
    buf_put_char(out, '}');
    render_leave(r, &nest);
    return done;
}

static bool object_put(Render *r, Value v, Buf *out, bool repr)
{
    Object *object = v.object;
    const ObjectType *type = object->type;
    if (op_is_lazy(v)) {
        return op_force(r, v, &v) && (repr ? op_repr(r, v, out) : op_print(r, v, out));
    }
    bool (*put)(Render *, Object *, Buf *) = repr && type->repr != NULL ? type->repr : type->print;
    if (put != NULL) {
        if (render_is_inside(r, object)) {
            buf_put(out, STR("..."));
            return true;
        }
        Nest nest;
        if (!render_enter(r, &nest, object)) {
            return false;
        }
        bool done = put(r, object, out);
        render_leave(r, &nest);
        return done;
    }
    if (type->module != NULL) {
        buf_put_format(out, "<%s.%s object at " OBJECT_ADDRESS ">", type->module, type->name);
    } else {
        buf_put_format(out, "<%s object at " OBJECT_ADDRESS ">", type->name);
    }
    return true;
}

static void float_put(double number, Buf *out)
{
    char text[NUMBER_TEXT_MAX];
    size_t len = number_format_repr(number, text);
    buf_put(out, str_from(text, len));
}

typedef bool (*PutFunction)(Render *r, Value v, Buf *out);

/* A secret inside a secret needs no separate range, so recording is suspended. */
static bool secret_put(Render *r, Value v, Buf *out, PutFunction put)
{
    Rendered *ranges = r->ranges;
    size_t start = out->len;
    r->ranges = NULL;
    v.flags &= (uint8_t)~VALUE_SECRET;
    bool done = put(r, v, out);
    r->ranges = ranges;
    render_mark_secret(r, out, start);
    return done;
}

bool op_repr(Render *r, Value v, Buf *out)
{
    if (UNLIKELY(value_is_secret(v) && r->ranges != NULL)) {
        return secret_put(r, v, out, op_repr);
    }
    switch ((ValueKind)v.kind) {
    case VALUE_STRING:
        if (value_is_markup(v)) {
            buf_put(out, STR("Markup("));
            repr_text(value_str(v), out);
            buf_put_char(out, ')');
        } else {
            repr_text(value_str(v), out);
        }
        return op_charge_bytes(r, v.len);
    case VALUE_UNDEFINED: buf_put(out, STR("Undefined")); return true;
    case VALUE_OBJECT: return object_put(r, v, out, true);
    default: return op_print(r, v, out);
    }
}

bool op_print(Render *r, Value v, Buf *out)
{
    if (UNLIKELY(value_is_secret(v) && r->ranges != NULL)) {
        return secret_put(r, v, out, op_print);
    }
    switch ((ValueKind)v.kind) {
    case VALUE_STRING: buf_put(out, value_str(v)); return true;
    case VALUE_INT: buf_put_i64(out, v.integer); return true;
    case VALUE_NULL: buf_put(out, STR("None")); return true;
    case VALUE_BOOL: buf_put(out, v.boolean ? STR("True") : STR("False")); return true;
    case VALUE_FLOAT: float_put(v.number, out); return true;
    case VALUE_LIST:
    case VALUE_TUPLE: return repr_sequence(r, v, out);
    case VALUE_MAP: return repr_map(r, v.map, out);
    case VALUE_OBJECT: return object_put(r, v, out, false);
    case VALUE_UNDEFINED: return undefined_print(r, v, out);
    }
    return true;
}

/* The replacement for a byte that is special in HTML, and its length. */
typedef struct Entity {
    char text[6];
    char byte;
    uint8_t len;
} Entity;

/* Indexed by the lower bits, in which the five characters differ. */
static inline const Entity *entity_of(char c)
{
    enum {
        BITS = 31
    };
    static const Entity entities[BITS + 1] = {
        ['&' & BITS] = { "&amp;", '&', 5 }, ['<' & BITS] = { "&lt;", '<', 4 },
        ['>' & BITS] = { "&gt;", '>', 4 },  ['\'' & BITS] = { "&#39;", '\'', 5 },
        ['"' & BITS] = { "&#34;", '"', 5 },
    };
    return &entities[c & BITS];
}

/* One bit for each byte that needs escaping. `&` and `'` differ in one bit, as do `<` and `>`, so
 * three comparisons find five characters. */
static uint32_t escape_bits(Chunk chunk)
{
    return chunk_bits((chunk == chunk_splat('"')) |
                      ((chunk | chunk_splat(1)) == chunk_splat('\'')) |
                      ((chunk | chunk_splat(2)) == chunk_splat('>')));
}

/* The offset of the first chunk with a byte that needs escaping, or the length. */
static size_t find_escape(Str text)
{
    size_t pos = 0;
    for (; text.len - pos >= CHUNK_BYTES; pos += CHUNK_BYTES) {
        if (escape_bits(chunk_load(text.data + pos)) != 0) {
            return pos;
        }
    }
    if (pos < text.len && escape_bits(chunk_load_part(text.data + pos, text.len - pos)) != 0) {
        return pos;
    }
    return text.len;
}

/* Writes `text` to `to`, which must have ESCAPE_SPACE(text.len) bytes: chunks and entities are
 * stored at full width, and the excess at the end goes into the slack. Returns the end. */
#define ESCAPE_SPACE(len) (5 * (len) + BUF_SLACK)
static char *escape_to(char *to, Str text)
{
    for (size_t pos = 0; pos < text.len; pos += CHUNK_BYTES) {
        const char *from = text.data + pos;
        size_t count = text.len - pos < CHUNK_BYTES ? text.len - pos : CHUNK_BYTES;
        Chunk chunk = count == CHUNK_BYTES ? chunk_load(from) : chunk_load_part(from, count);
        chunk_store(to, chunk);
        size_t done = 0;
        /* unread part of the chunk: shifted, because reading past its end is not possible */
        unsigned __int128 rest;
        memcpy(&rest, &chunk, sizeof rest);
        for (uint32_t bits = escape_bits(chunk); bits != 0; bits &= bits - 1) {
            size_t hit = (size_t)__builtin_ctz(bits);
            const Entity *entity = entity_of(from[hit]);
            to += hit - done;
            memcpy(to, entity, sizeof *entity);
            to += entity->len;
            rest = rest >> 8 * (hit - done) >> 8;
            memcpy(to, &rest, sizeof rest);
            done = hit + 1;
        }
        to += count - done;
    }
    return to;
}

/* Escapes byte by byte, reserving space for each; used close to the limit of a buffer. */
static void escape_bytes(Str text, Buf *out)
{
    for (size_t pos = 0; pos < text.len; pos++) {
        const Entity *entity = entity_of(text.data[pos]);
        bool hit = entity->len > 0 && entity->byte == text.data[pos];
        buf_put(out, hit ? str_from(entity->text, entity->len) : str_slice(text, pos, pos + 1));
    }
}

void escape_html(Str text, Buf *out)
{
    enum {
        PIECE = 256 /* so that little more space is reserved than needed */
    };
    while (text.len > 0) {
        Str piece = str_slice(text, 0, PIECE);
        if (UNLIKELY(out->max - out->len < 5 * piece.len || !buf_reserve(out, 5 * piece.len))) {
            escape_bytes(text, out);
            return;
        }
        out->len = (size_t)(escape_to(out->data + out->len, piece) - out->data);
        text = str_from_offset(text, piece.len);
    }
}

static bool print_escaped_slow(Render *r, Value v, Buf *out)
{
    Buf plain = render_buf(r);
    if (!op_print(r, v, &plain)) {
        return false;
    }
    Value text;
    if (!render_take(r, &plain, &text)) {
        return false;
    }
    escape_html(value_str(text), out);
    return true;
}

bool op_print_escaped(Render *r, Value v, Buf *out)
{
    switch ((ValueKind)v.kind) {
    case VALUE_STRING:
        if (UNLIKELY(value_is_secret(v) && r->ranges != NULL)) {
            return secret_put(r, v, out, op_print_escaped);
        }
        if (value_is_markup(v)) {
            buf_put(out, value_str(v));
        } else {
            escape_html(value_str(v), out);
        }
        return true;
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_FLOAT: return op_print(r, v, out);
    case VALUE_OBJECT:
        if (op_is_lazy(v)) {
            return op_force(r, v, &v) && op_print_escaped(r, v, out);
        }
        if (v.object->type->markup) {
            return op_print(r, v, out);
        }
        break;
    default: break;
    }
    /* Ranges in a string that is escaped afterwards would be wrong, so one range covers all of
     * it. */
    if (r->ranges != NULL && op_holds_secret(r, v)) {
        return secret_put(r, v, out, print_escaped_slow);
    }
    return print_escaped_slow(r, v, out);
}

char *op_alloc_text(Render *r, size_t len)
{
    if (len > VALUE_STRING_MAX) {
        render_out_of_memory(r);
        return NULL;
    }
    if (!render_reserve(r, len) || !op_charge_bytes(r, len)) {
        return NULL;
    }
    return arena_alloc(r->arena, len == 0 ? 1 : len);
}

bool op_text(Render *r, Value v, Str *out)
{
    if (LIKELY(value_is_string(v))) {
        *out = value_str(v);
        return true;
    }
    if (v.kind == VALUE_INT) {
        char digits[NUMBER_TEXT_MAX];
        size_t len = number_format_int(v.integer, digits);
        *out = arena_copy(r->arena, str_from(digits, len));
        return true;
    }
    Buf buf = render_buf(r);
    Value text;
    if (!op_print(r, v, &buf) || !render_take(r, &buf, &text)) {
        return false;
    }
    *out = value_str(text);
    return true;
}

static COLD bool escape_slow(Render *r, Value v, Value *out)
{
    Buf buf = render_buf(r);
    bool secret = r->secrets && op_holds_secret(r, v);
    if (!op_print_escaped(r, v, &buf) || !render_take(r, &buf, out)) {
        return false;
    }
    *out = value_markup(value_str(*out));
    if (secret) {
        out->flags |= VALUE_SECRET;
    }
    return true;
}

bool op_escape(Render *r, Value v, Value *out)
{
    enum {
        SHORT = 512
    };
    if (value_is_markup(v)) {
        *out = v;
        return true;
    }
    if (UNLIKELY(v.kind != VALUE_STRING)) {
        return escape_slow(r, v, out);
    }
    uint64_t head = VALUE_HEAD(VALUE_STRING, VALUE_MARKUP | (v.flags & VALUE_SECRET), 0);
    if (UNLIKELY(v.len > SHORT)) {
        if (find_escape(value_str(v)) < v.len) {
            return escape_slow(r, v, out);
        }
        /* Nothing to escape, nothing to copy. */
        *out = (Value){ .head = head | VALUE_HEAD(0, 0, v.len), .text = v.text, .location = 0 };
        return true;
    }
    size_t room = ESCAPE_SPACE((size_t)v.len);
    char *copy = arena_alloc(r->arena, room);
    size_t len = (size_t)(escape_to(copy, value_str(v)) - copy);
    arena_shrink(r->arena, copy, room, len);
    *out = (Value){ .head = head | VALUE_HEAD(0, 0, len), .text = copy, .location = 0 };
    return true;
}

/* Text without any markup stays plain even under autoescape: it is escaped when printed. */
static bool concat_needs_escape(const Render *r, const Value *parts, uint32_t count)
{
    if (!r->autoescape) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (value_is_markup(parts[i]) ||
            (parts[i].kind == VALUE_OBJECT && parts[i].object->type->markup)) {
            return true;
        }
    }
    return false;
}

bool op_concat(Render *r, const Value *parts, uint32_t count, Value *out)
{
    bool escape = concat_needs_escape(r, parts, count);
    Buf buf = render_buf(r);
    for (uint32_t i = 0; i < count; i++) {
        if (!(escape ? op_print_escaped(r, parts[i], &buf) : op_print(r, parts[i], &buf))) {
            return false;
        }
    }
    if (!render_take(r, &buf, out)) {
        return false;
    }
    if (escape) {
        out->flags |= VALUE_MARKUP;
    }
    for (uint32_t i = 0; r->secrets && i < count; i++) {
        if (op_holds_secret(r, parts[i])) {
            out->flags |= VALUE_SECRET;
        }
    }
    return true;
}
