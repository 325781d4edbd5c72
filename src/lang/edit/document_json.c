/* Edits JSON documents: new values are formatted like their neighbors. */
#include "base/bug.h"
#include "base/problems.h"
#include "lang/edit/document_format.h"
#include "lang/json.h"

#define BOM STR("\xef\xbb\xbf")

/* The formatting of the text. */
typedef struct Layout {
    Str line_end;
    Str unit;          /* one level of indentation */
    Str colon;         /* between a key and its value */
    bool is_multiline; /* one entry or item per line */
} Layout;

static const JsonOptions read_options = {
    .limits = { .size = DOCUMENT_MAX * 2, .depth = 128, .nodes = 4000000 },
    .wide_integers = true,
};

static bool json_load(Document *document, Error *err)
{
    Sources sources;
    Problems problems;
    Str text = document->text;
    text = str_starts(text, BOM) ? str_from_offset(text, BOM.len) : text;
    if (str_trim(text).len == 0) {
        document->root = value_missing();
        return true;
    }
    sources_init(&sources, document->arena);
    problems_init(&problems, document->arena);
    uint16_t source = sources_add(&sources, document->name, document->text);
    return json_parse(document->arena, &sources, source, &read_options, &document->root,
                      &problems) ||
           document_set_error(document->name, &problems, err);
}

static bool json_normalize(Arena *arena, Value value, Value *out, Error *err)
{
    Buf text = buf_make_in(arena, DOCUMENT_MAX);
    return json_print(&text, value, &(JsonStyle){ .distinct = true }, err) &&
           json_parse_text(arena, buf_str(&text), &read_options, out, err);
}

/* --- Detecting the formatting --------------------------------------------------------------- */

/* The first non-empty map in `v`, depth first. */
static const Map *find_map(Value v)
{
    if (v.kind == VALUE_MAP) {
        return v.map->len > 0 ? v.map : NULL;
    }
    for (uint32_t i = 0; v.kind == VALUE_LIST && i < v.list->len; i++) {
        const Map *map = find_map(v.list->items[i]);
        if (map != NULL) {
            return map;
        }
    }
    return NULL;
}

static bool contains_newline(Str text)
{
    return str_find(text, STR("\n"), 0) != STR_NOT_FOUND;
}

static Str first_indentation(Str text)
{
    for (size_t pos = 0; (pos = str_find(text, STR("\n"), pos)) != STR_NOT_FOUND;) {
        size_t end = ++pos;
        while (end < text.len && (text.data[end] == ' ' || text.data[end] == '\t')) {
            end++;
        }
        if (end > pos && end < text.len && !ascii_is_space(text.data[end])) {
            return str_slice(text, pos, end);
        }
    }
    return STR("  ");
}

static bool is_empty(Value v)
{
    return v.kind == VALUE_NULL || (v.kind == VALUE_MAP && v.map->len == 0) ||
           (v.kind == VALUE_LIST && v.list->len == 0);
}

static Layout detect_layout(const Document *document)
{
    Str text = document->text;
    Layout layout = { .line_end = document_line_end(text),
                      .unit = first_indentation(text),
                      .colon = STR(": "),
                      .is_multiline = true };
    if (value_is_missing(document->root)) {
        return layout;
    }
    Value root = document->root;
    const Map *map = find_map(root);
    layout.is_multiline =
        contains_newline(str_slice(text, root.start, node_end(root))) || is_empty(root);
    if (map != NULL) {
        Str colon = str_slice(text, node_end(map->entries[0].key), map->entries[0].value.start);
        layout.colon = contains_newline(colon) ? layout.colon : colon;
    }
    return layout;
}

/* The leading whitespace of the line at `pos`. */
static Str indentation_at(Str text, size_t pos)
{
    size_t start = pos, end;
    while (start > 0 && text.data[start - 1] != '\n') {
        start--;
    }
    for (end = start; end < pos && (text.data[end] == ' ' || text.data[end] == '\t'); end++) {
    }
    return str_slice(text, start, end);
}

static bool is_spaced(const Layout *layout)
{
    return str_ends(layout->colon, STR(" "));
}

/* --- Printing ------------------------------------------------------------------------------- */

static void put_value(Buf *out, const Layout *layout, Value v, Str indent);

static void put_scalar(Buf *out, Value v)
{
    Error err;
    BUG_IF(!json_print(out, v, NULL, &err)); /* it was normalized */
}

static void put_line(Buf *out, const Layout *layout, Str indent)
{
    buf_put(out, layout->line_end);
    buf_put(out, indent);
}

static void put_items(Buf *out, const Layout *layout, Value v, Str indent)
{
    bool is_map = v.kind == VALUE_MAP;
    uint32_t count = is_map ? v.map->len : v.list->len;
    Str inner = arena_join(out->arena, indent, layout->unit, STR_EMPTY);
    for (uint32_t i = 0; i < count; i++) {
        if (layout->is_multiline) {
            buf_put_c(out, i > 0 ? "," : "");
            put_line(out, layout, inner);
        } else if (i > 0) {
            buf_put_c(out, is_spaced(layout) ? ", " : ",");
        }
        if (is_map) {
            put_scalar(out, v.map->entries[i].key);
            buf_put(out, layout->colon);
        }
        put_value(out, layout, is_map ? v.map->entries[i].value : v.list->items[i], inner);
    }
    if (layout->is_multiline && count > 0) {
        put_line(out, layout, indent);
    }
}

/* Recursion is bounded: values are not nested deeper than the parser allows. */
static void put_value(Buf *out, const Layout *layout, Value v, Str indent)
{
    if (v.kind != VALUE_MAP && !value_is_sequence(v)) {
        put_scalar(out, v);
        return;
    }
    buf_put_char(out, v.kind == VALUE_MAP ? '{' : '[');
    put_items(out, layout, v, indent);
    buf_put_char(out, v.kind == VALUE_MAP ? '}' : ']');
}

/* --- Changes -------------------------------------------------------------------------------- */

static bool json_replace(const Document *document, const TreeLocation *location, Value value,
                         unsigned variant, Splices *out)
{
    Layout layout = detect_layout(document);
    Value old = location->chain[location->depth];
    Str text = document->text;
    Buf new_text = buf_make_in(document->arena, BUF_UNLIMITED);
    if (variant > 0) {
        return false;
    }
    if (value_is_missing(old)) {
        put_value(&new_text, &layout, value, STR_EMPTY);
        buf_put(&new_text, layout.line_end);
        splices_add(out, str_starts(text, BOM) ? BOM.len : 0, text.len, buf_str(&new_text));
        return true;
    }
    if (location->depth > 0) {
        Value container = location->chain[location->depth - 1];
        layout.is_multiline =
            contains_newline(str_slice(text, container.start, node_end(container)));
    }
    put_value(&new_text, &layout, value, indentation_at(text, old.start));
    splices_add(out, old.start, node_end(old), buf_str(&new_text));
    return true;
}

/* The range of the entry or item. */
static void find_extent(Value container, uint32_t pos, size_t *start, size_t *end)
{
    if (container.kind == VALUE_MAP) {
        *start = container.map->entries[pos].key.start;
        *end = node_end(container.map->entries[pos].value);
    } else {
        *start = container.list->items[pos].start;
        *end = node_end(container.list->items[pos]);
    }
}

static uint32_t container_len(Value container)
{
    return container.kind == VALUE_MAP ? container.map->len : container.list->len;
}

static bool json_insert(const Document *document, const TreeLocation *location, Value key,
                        Value value, unsigned variant, Splices *out)
{
    Layout layout = detect_layout(document);
    Value container = location->chain[location->depth];
    Str text = document->text;
    uint32_t last = container_len(container) - 1;
    size_t start, end, prev_start, prev_end;
    if (variant > 0) {
        return false;
    }
    find_extent(container, last, &start, &end);
    Buf new_text = buf_make_in(document->arena, BUF_UNLIMITED);
    buf_put_char(&new_text, ',');
    /* Copy the whitespace between the last entry and the comma before it. */
    Str gap = str_slice(text, container.start + 1, start);
    if (last > 0) {
        find_extent(container, last - 1, &prev_start, &prev_end);
        gap = str_slice(text, prev_end, start);
        size_t comma = str_find(gap, STR(","), 0);
        gap = str_from_offset(gap, comma + 1);
    } else if (!contains_newline(gap)) {
        gap = is_spaced(&layout) ? STR(" ") : STR_EMPTY;
    }
    buf_put(&new_text, gap);
    layout.is_multiline = contains_newline(gap);
    if (container.kind == VALUE_MAP) {
        put_scalar(&new_text, key);
        buf_put(&new_text, layout.colon);
    }
    put_value(&new_text, &layout, value, indentation_at(text, start));
    splices_add(out, end, end, buf_str(&new_text));
    return true;
}

static bool json_remove(const Document *document, const TreeLocation *location, unsigned variant,
                        Splices *out)
{
    Value container = location->chain[location->depth - 1];
    uint32_t pos = location->pos[location->depth - 1];
    size_t start, end, other_start, other_end;
    if (variant > 0) {
        return false;
    }
    find_extent(container, pos, &start, &end);
    if (pos > 0) {
        find_extent(container, pos - 1, &other_start, &other_end);
        splices_add(out, other_end, end, STR_EMPTY);
    } else {
        find_extent(container, 1, &other_start, &other_end);
        splices_add(out, start, other_start, STR_EMPTY);
    }
    return true;
}

const DocumentFormat document_json = {
    .name = "JSON",
    .string_keys = true,
    .load = json_load,
    .normalize = json_normalize,
    .replace = json_replace,
    .insert = json_insert,
    .remove = json_remove,
};
