#include "lang/template/pprint.h"

#include "base/utf8.h"
#include "lang/template/filter.h"
#include "lang/template/sort.h"

enum {
    WIDTH = 80
};

/* Columns are signed: deep nesting leaves less than nothing. */
typedef struct Position {
    int64_t indent;
    int64_t allowance; /* columns that the closing brackets behind it need */
    unsigned level;
} Position;

static bool is_number(Value v)
{
    return v.kind >= VALUE_BOOL && v.kind <= VALUE_FLOAT;
}

/* The key that a map's key is sorted by: numbers, texts and others apart, in the order of their
 * types' names. */
static Value typed_key(Render *r, Value key)
{
    List *pair = list_new(r->arena, 2);
    Str type = is_number(key) ? STR("int") : str_from_c(op_type_name(key));
    list_push(r->arena, pair, value_string(type));
    list_push(r->arena, pair, key);
    return value_list(pair);
}

static void entries_as_they_are(const Map *map, SortItem *items)
{
    for (uint32_t i = 0; i < map->len; i++) {
        items[i] = (SortItem){ map->entries[i].key, value_int(i) };
    }
}

/* The entries of a map in the order of their keys; `item` is the position. Keys that cannot be
 * compared at all stay as they are. */
static bool sorted_entries(Render *r, const Map *map, SortItem **out)
{
    if (!sort_room(r, map->len)) {
        return false;
    }
    SortItem *items = ARENA_ARRAY(r->arena, SortItem, map->len);
    *out = items;
    entries_as_they_are(map, items);
    bool mixed = false;
    for (uint32_t i = 1; i < map->len; i++) {
        mixed = mixed || (items[i].key.kind != items[0].key.kind &&
                          !(is_number(items[i].key) && is_number(items[0].key)));
    }
    for (uint32_t i = 0; mixed && i < map->len; i++) {
        items[i].key = typed_key(r, items[i].key);
    }
    if (!sort_items(r, items, map->len, SORT_LISTED, false)) {
        if (r->fault.class != FAULT_TYPE) {
            return false;
        }
        r->fault = (Fault){ .class = FAULT_NONE };
        entries_as_they_are(map, items);
    }
    return true;
}

static bool put_repr(Render *r, Value v, unsigned depth, Buf *out);

static bool put_map_repr(Render *r, const Map *map, unsigned depth, Buf *out)
{
    SortItem *items;
    if (!sorted_entries(r, map, &items)) {
        return false;
    }
    buf_put_char(out, '{');
    for (uint32_t i = 0; i < map->len; i++) {
        const MapEntry *entry = &map->entries[items[i].item.integer];
        buf_put_c(out, i == 0 ? "" : ", ");
        if (!put_repr(r, entry->key, depth + 1, out)) {
            return false;
        }
        buf_put(out, STR(": "));
        if (!put_repr(r, entry->value, depth + 1, out)) {
            return false;
        }
    }
    buf_put_char(out, '}');
    return true;
}

static bool put_list_repr(Render *r, Value v, unsigned depth, Buf *out)
{
    bool tuple = v.kind == VALUE_TUPLE;
    buf_put_char(out, tuple ? '(' : '[');
    for (uint32_t i = 0; i < v.list->len; i++) {
        buf_put_c(out, i == 0 ? "" : ", ");
        if (!put_repr(r, v.list->items[i], depth + 1, out)) {
            return false;
        }
    }
    buf_put_c(out, !tuple ? "]" : v.list->len == 1 ? ",)" : ")");
    return true;
}

/* Like repr(), with sorted maps. */
static bool put_repr(Render *r, Value v, unsigned depth, Buf *out)
{
    if (!render_charge(r, 1) || out->overflow) {
        return out->overflow ? render_out_of_memory(r) : false;
    }
    if (depth > VALUE_DEPTH_MAX) {
        return render_raise(r, FAULT_RECURSION, "maximum recursion depth exceeded");
    }
    if (v.kind == VALUE_MAP) {
        return put_map_repr(r, v.map, depth, out);
    }
    if (value_is_sequence(v)) {
        return put_list_repr(r, v, depth, out);
    }
    return op_repr(r, v, out);
}

static bool quote_text(Render *r, Str text, Str *out)
{
    Buf buf = render_buf(r);
    repr_text(text, &buf);
    *out = buf_str(&buf);
    return !buf.overflow || render_out_of_memory(r);
}

static void put_line_start(int64_t indent, Buf *out)
{
    buf_put_char(out, '\n');
    buf_put_repeat(out, ' ', indent > 0 ? (size_t)indent : 0);
}

/* Splits one line of a string behind white space into pieces that fit. */
static bool push_words(Render *r, Str line, int64_t width, int64_t last_width, List *chunks)
{
    size_t start = 0;
    Str shown;
    for (size_t at = 0; at < line.len;) {
        size_t end = text_skip_spaces(line, text_skip_word(line, at));
        int64_t room = end == line.len ? last_width : width;
        if (!quote_text(r, str_slice(line, start, end), &shown) || !op_charge_bytes(r, shown.len)) {
            return false;
        }
        if ((int64_t)utf8_count(shown) > room && at > start) {
            if (!quote_text(r, str_slice(line, start, at), &shown)) {
                return false;
            }
            list_push(r->arena, chunks, value_string(shown));
            start = at;
        }
        at = end;
    }
    if (start < line.len) {
        if (!quote_text(r, str_from_offset(line, start), &shown)) {
            return false;
        }
        list_push(r->arena, chunks, value_string(shown));
    }
    return true;
}

static bool put_text(Render *r, Str text, Position at, Buf *out)
{
    List *chunks = list_new(r->arena, 4);
    if (at.level == 1) {
        at.indent++;
        at.allowance++;
    }
    int64_t width = WIDTH - at.indent;
    Str line, whole, shown;
    for (size_t from = 0; text_next_line(text, &from, &line, &whole);) {
        int64_t last_width = from == text.len ? width - at.allowance : width;
        if (!quote_text(r, whole, &shown)) {
            return false;
        }
        if ((int64_t)utf8_count(shown) <= last_width) {
            list_push(r->arena, chunks, value_string(shown));
        } else if (!push_words(r, whole, width, last_width, chunks)) {
            return false;
        }
    }
    bool brackets = at.level == 1 && chunks->len > 1;
    buf_put_c(out, brackets ? "(" : "");
    for (uint32_t i = 0; i < chunks->len; i++) {
        if (i > 0) {
            put_line_start(at.indent, out);
        }
        buf_put(out, value_str(chunks->items[i]));
    }
    buf_put_c(out, brackets ? ")" : "");
    return true;
}

static bool put_value(Render *r, Value v, Position at, Buf *out);

static bool put_map(Render *r, const Map *map, Position at, Buf *out)
{
    SortItem *items;
    if (!sorted_entries(r, map, &items)) {
        return false;
    }
    buf_put_char(out, '{');
    for (uint32_t i = 0; i < map->len; i++) {
        const MapEntry *entry = &map->entries[items[i].item.integer];
        if (i > 0) {
            buf_put_char(out, ',');
            put_line_start(at.indent + 1, out);
        }
        size_t before = out->len;
        if (!put_repr(r, entry->key, at.level, out)) {
            return false;
        }
        int64_t columns = (int64_t)utf8_count(str_from_offset(buf_str(out), before));
        buf_put(out, STR(": "));
        Position next = { at.indent + 1 + columns + 2, i + 1 == map->len ? at.allowance + 1 : 1,
                          at.level };
        if (!put_value(r, entry->value, next, out)) {
            return false;
        }
    }
    buf_put_char(out, '}');
    return true;
}

static bool put_list(Render *r, Value v, Position at, Buf *out)
{
    bool tuple = v.kind == VALUE_TUPLE;
    const char *end = !tuple ? "]" : v.list->len == 1 ? ",)" : ")";
    buf_put_char(out, tuple ? '(' : '[');
    for (uint32_t i = 0; i < v.list->len; i++) {
        if (i > 0) {
            buf_put_char(out, ',');
            put_line_start(at.indent + 1, out);
        }
        bool last = i + 1 == v.list->len;
        Position next = { at.indent + 1, last ? at.allowance + (int64_t)strlen(end) : 1, at.level };
        if (!put_value(r, v.list->items[i], next, out)) {
            return false;
        }
    }
    buf_put_c(out, end);
    return true;
}

/* On one line if it fits there, else split. Every level measures all below it, hence the charge
 * for the text. */
static bool put_value(Render *r, Value v, Position at, Buf *out)
{
    Buf line = render_buf(r);
    if (!put_repr(r, v, at.level, &line) || !op_charge_bytes(r, line.len)) {
        return false;
    }
    Str shown = buf_str(&line);
    at.level++;
    if ((int64_t)utf8_count(shown) > WIDTH - at.indent - at.allowance) {
        if (v.kind == VALUE_MAP) {
            return put_map(r, v.map, at, out);
        }
        if (value_is_sequence(v)) {
            return put_list(r, v, at, out);
        }
        if (v.kind == VALUE_STRING && !value_is_markup(v) && v.len > 0) {
            return put_text(r, value_str(v), at, out);
        }
    }
    buf_put(out, shown);
    return true;
}

bool pprint_put(Render *r, Value v, Buf *out)
{
    return put_value(r, v, (Position){ 0, 0, 0 }, out);
}
