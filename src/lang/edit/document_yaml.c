/* Edits YAML documents: new values are printed in block or flow style, like their surroundings.
 *
 * Each value has its own location, with two exceptions: an alias has the location of its anchor,
 * and a merged value has the location it was merged from. So the text after the key or dash is
 * checked too. document.c parses the result again, so unusual layouts are not handled here: they
 * are rejected. */
#include "base/bug.h"
#include "base/problems.h"
#include "lang/edit/document_format.h"
#include "lang/json.h"
#include "lang/yaml.h"

static bool yaml_read(Document *document, Error *err)
{
    Sources sources;
    Problems problems;
    sources_init(&sources, document->arena);
    problems_init(&problems, document->arena);
    uint16_t source = sources_add(&sources, document->name, document->text);
    return yaml_load(document->arena, &sources, source, NULL, &document->root, &problems) ||
           document_set_error(document->name, &problems, err);
}

static bool yaml_normalize(Arena *arena, Value value, Value *out, Error *err)
{
    Buf text = buf_make_in(arena, DOCUMENT_MAX);
    Document document = { .arena = arena, .name = STR("value") };
    if (!yaml_print(&text, value, NULL, err)) {
        return false;
    }
    document.text = buf_str(&text);
    if (!yaml_read(&document, err)) {
        return false;
    }
    *out = document.root;
    return true;
}

/* --- Scanning ------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static size_t line_start(Str text, size_t pos)
{
    while (pos > 0 && text.data[pos - 1] != '\n') {
        pos--;
    }
    return pos;
}

/* The offset of its '\n', or the end of the text. */
static size_t line_end(Str text, size_t pos)
{
    while (pos < text.len && text.data[pos] != '\n') {
        pos++;
    }
    return pos;
}

static size_t next_line(Str text, size_t pos)
{
    size_t end = line_end(text, pos);
    return end < text.len ? end + 1 : end;
}

static size_t column_of(Str text, size_t pos)
{
    return pos - line_start(text, pos);
}

/* The start of the line that follows the value ending at `end`, not counting trailing blank
 * lines. */
static size_t lines_end(Str text, size_t end)
{
    while (end > 0 && ascii_is_space(text.data[end - 1])) {
        end--;
    }
    return next_line(text, end);
}

static size_t skip_blanks(Str text, size_t pos)
{
    while (pos < text.len && is_blank(text.data[pos])) {
        pos++;
    }
    return pos;
}

/* Skips whitespace, newlines and comments. */
static size_t skip_space(Str text, size_t pos)
{
    while (pos < text.len) {
        if (ascii_is_space(text.data[pos])) {
            pos++;
        } else if (text.data[pos] == '#' && (pos == 0 || ascii_is_space(text.data[pos - 1]))) {
            pos = line_end(text, pos);
        } else {
            break;
        }
    }
    return pos;
}

/* Skips an anchor, alias or tag. */
static size_t skip_name(Str text, size_t pos)
{
    while (pos < text.len && !ascii_is_space(text.data[pos]) &&
           memchr(",[]{}", text.data[pos], 5) == NULL) {
        pos++;
    }
    return pos;
}

static bool is_first_on_line(Str text, size_t pos)
{
    return skip_blanks(text, line_start(text, pos)) == pos;
}

static bool is_container(Value v)
{
    return v.kind == VALUE_MAP || value_is_sequence(v);
}

static bool is_in_brackets(Str text, Value v)
{
    return is_container(v) && text.data[v.start] == (v.kind == VALUE_MAP ? '{' : '[');
}

/* Whether the value at `depth` is inside the brackets of any enclosing container. */
static bool is_inside_brackets(Str text, const TreeLocation *location, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++) {
        if (is_in_brackets(text, location->chain[i])) {
            return true;
        }
    }
    return false;
}

/* Whether the value is in block style: a container without brackets, or a scalar after '|' or
 * '>'. */
static bool is_block(Str text, Value v)
{
    if (v.span == 0 || is_in_brackets(text, v)) {
        return false;
    }
    return is_container(v) || text.data[v.start] == '|' || text.data[v.start] == '>';
}

static bool is_inside(Value container, Value v)
{
    return v.start >= container.start && node_end(v) <= node_end(container);
}

/* --- Slots: the location of a value and its key --------------------------------------------- */

typedef struct Slot {
    size_t lead;  /* start of its key or dash, or of the value in a flow list */
    size_t point; /* directly after the colon or dash */
    /* range of the value; if it is empty, both are `point` or the position after the whitespace */
    size_t start, end;
    bool is_alias; /* the slot holds an alias, not a value */
} Slot;

static void locate_value(Str text, Value v, Slot *slot)
{
    size_t pos = skip_space(text, slot->point);
    slot->is_alias = pos < text.len && text.data[pos] == '*';
    if (slot->is_alias) {
        slot->start = pos;
        slot->end = skip_name(text, pos);
    } else {
        slot->start = v.start;
        slot->end = node_end(v);
    }
}

static bool find_entry_slot(Str text, Value container, uint32_t pos, Slot *slot)
{
    const MapEntry *entry = &container.map->entries[pos];
    size_t colon = skip_blanks(text, node_end(entry->key));
    if (!is_inside(container, entry->key) || colon >= text.len || text.data[colon] != ':') {
        return false;
    }
    slot->lead = entry->key.start;
    slot->point = colon + 1;
    locate_value(text, entry->value, slot);
    return slot->start >= slot->point;
}

static bool find_item_slot(Str text, Value container, uint32_t pos, Slot *slot)
{
    size_t dash = container.start, column = column_of(text, container.start);
    for (uint32_t i = 0; i < pos; i++) {
        do {
            size_t next = next_line(text, dash);
            if (next >= text.len || next == dash) {
                return false;
            }
            dash = next + column;
        } while (dash >= text.len || text.data[dash] != '-' || !is_first_on_line(text, dash));
    }
    slot->lead = dash;
    slot->point = dash + 1;
    locate_value(text, container.list->items[pos], slot);
    return slot->start >= slot->point;
}

static bool find_bracketed_slot(Str text, Value container, uint32_t pos, Slot *slot)
{
    slot->point = container.start + 1;
    for (uint32_t i = 0;; i++) {
        locate_value(text, container.list->items[i], slot);
        if (slot->start < slot->point) {
            return false;
        }
        slot->lead = skip_space(text, slot->point);
        if (i == pos) {
            return true;
        }
        size_t comma = skip_space(text, slot->end);
        if (comma >= text.len || text.data[comma] != ',') {
            return false;
        }
        slot->point = comma + 1;
    }
}

static bool is_block_at(Str text, const Slot *slot, Value v)
{
    return !slot->is_alias && is_block(text, v);
}

static bool find_slot(const Document *document, const TreeLocation *location, Slot *slot)
{
    Str text = document->text;
    Value container = location->chain[location->depth - 1];
    uint32_t pos = location->pos[location->depth - 1];
    if (container.kind == VALUE_MAP) {
        return find_entry_slot(text, container, pos, slot);
    }
    return is_in_brackets(text, container) ? find_bracketed_slot(text, container, pos, slot)
                                           : find_item_slot(text, container, pos, slot);
}

/* --- Printing ------------------------------------------------------------------------------- */

/* Detects the style of the text from the first map in a map and the first list in a map. */
static void detect_style(Str text, Value v, YamlStyle *style, bool *list_seen)
{
    bool is_map = v.kind == VALUE_MAP;
    uint32_t count = is_map ? v.map->len : value_is_sequence(v) ? v.list->len : 0;
    for (uint32_t i = 0; i < count && (style->indent == 0 || !*list_seen); i++) {
        Value inner = is_map ? v.map->entries[i].value : v.list->items[i];
        if (!is_inside(v, inner) || !is_block(text, inner) || !is_container(inner)) {
            continue;
        }
        size_t outer_column = column_of(text, v.start);
        size_t column = column_of(text, inner.start);
        if (is_map && inner.kind == VALUE_MAP && style->indent == 0 && column > outer_column + 1 &&
            column <= outer_column + 8) {
            style->indent = (uint8_t)(column - outer_column);
        }
        if (is_map && value_is_sequence(inner) && !*list_seen) {
            *list_seen = true;
            style->flush_lists = column == outer_column;
        }
        detect_style(text, inner, style, list_seen);
    }
}

/* Indents printed text by `indent` more spaces, with the document's newlines. */
static Str indent_printed(const Document *document, Str printed, size_t indent)
{
    Buf out = buf_make_in(document->arena, BUF_UNLIMITED);
    Str end = document_line_end(document->text), line;
    while (printed.len > 0 && str_split_next(&printed, '\n', &line)) {
        if (line.len > 0) {
            buf_put_repeat(&out, ' ', indent);
            buf_put(&out, line);
        }
        buf_put(&out, end);
    }
    return buf_str(&out);
}

static Str print_block(const Document *document, Value v)
{
    Buf out = buf_make_in(document->arena, BUF_UNLIMITED);
    YamlStyle style = { 0 };
    bool list_seen = false;
    Error err;
    detect_style(document->text, document->root, &style, &list_seen);
    if (value_is_sequence(v)) {
        style.indent = 2; /* width of a dash and a space */
    }
    BUG_IF(!yaml_print(&out, v, &style, &err)); /* it was normalized */
    return buf_str(&out);
}

/* Prints the content of a container on one line, without its brackets. */
static Str print_bracketed(const Document *document, Value container)
{
    Buf out = buf_make_in(document->arena, BUF_UNLIMITED);
    Error err;
    BUG_IF(!yaml_print(&out, container, &(YamlStyle){ .flow = YAML_FLOW_ALL }, &err));
    Str text = str_trim(buf_str(&out));
    return str_slice(text, 1, text.len - 1);
}

static Value list_of(Arena *arena, Value item)
{
    List *list = list_new(arena, 1);
    list_push(arena, list, item);
    return value_list(list);
}

static Value map_of(Arena *arena, Value key, Value value)
{
    Map *map = map_new(arena, 1);
    map_set(arena, map, key, value);
    return value_map(map);
}

/* Prints a value as it follows a colon or dash: `head` on the same line, `body` on the lines
 * below. */
static void print_after(const Document *document, bool is_map, Value value, size_t indent,
                        Str *head, Str *body)
{
    Arena *arena = document->arena;
    Str printed = print_block(document, is_map ? map_of(arena, value_string(STR("k")), value)
                                               : list_of(arena, value));
    size_t first = str_find(printed, STR("\n"), 0);
    *head = str_trim(str_slice(printed, is_map ? strlen("k:") : strlen("-"), first));
    *body = indent_printed(document, str_from_offset(printed, first + 1), indent);
}

/* Prints a string in the given kind of quotes; returns false if that is impossible. */
static bool print_quoted(const Document *document, Value value, char quote, Str *out)
{
    Buf text = buf_make_in(document->arena, BUF_UNLIMITED);
    Str string = value_str(value);
    if (!value_is_string(value) || (quote != '"' && quote != '\'')) {
        return false;
    }
    if (quote == '"') {
        json_print_string(&text, string, NULL);
        *out = buf_str(&text);
        return true;
    }
    buf_put_char(&text, '\'');
    for (size_t i = 0; i < string.len; i++) {
        if ((unsigned char)string.data[i] < ' ') {
            return false;
        }
        buf_put_c(&text, string.data[i] == '\'' ? "'" : "");
        buf_put_char(&text, string.data[i]);
    }
    buf_put_char(&text, '\'');
    *out = buf_str(&text);
    return true;
}

/* --- Replacing ------------------------------------------------------------------------------ */

enum {
    VARIANT_QUOTED, /* quoted like the old value */
    VARIANT_PLAIN,
    VARIANT_BARE, /* drops the anchor and tag of the old value */
    VARIANT_COUNT,
};

static bool replace_root(const Document *document, Value value, Splices *out)
{
    Str text = document->text;
    Value root = document->root;
    Str printed = indent_printed(document, print_block(document, value), 0);
    if (root.span == 0) {
        bool open = text.len > 0 && text.data[text.len - 1] != '\n';
        Str end = open ? document_line_end(text) : STR_EMPTY;
        splices_add(out, text.len, text.len, arena_join(document->arena, end, printed, STR_EMPTY));
        return true;
    }
    size_t end = node_end(root);
    bool whole = end == text.len || text.data[end - 1] == '\n';
    splices_add(out, root.start, end, whole ? printed : str_trim(printed));
    return true;
}

/* Replaces a single token with a single line. */
static void replace_inline(const Document *document, const Slot *slot, Str head, unsigned variant,
                           Splices *out)
{
    size_t start = variant == VARIANT_BARE ? slot->point : slot->start;
    bool needs_space = start > slot->lead && (start == slot->point || start == slot->end);
    splices_add(out, start, slot->end,
                needs_space ? arena_join(document->arena, STR(" "), head, STR_EMPTY) : head);
}

/* Skips the anchor and tag on the line after the colon or dash. */
static size_t skip_properties(Str text, size_t pos)
{
    size_t end = pos;
    while (pos < text.len &&
           (is_blank(text.data[pos]) || text.data[pos] == '&' || text.data[pos] == '!')) {
        pos = is_blank(text.data[pos]) ? pos + 1 : skip_name(text, pos);
        end = is_blank(text.data[pos - 1]) ? end : pos;
    }
    return end;
}

/* The part of the first line to replace: after anchor and tag, up to a comment. */
static void find_head(Str text, const Slot *slot, Value old, unsigned variant, size_t *start,
                      size_t *end)
{
    size_t line = line_end(text, slot->point);
    *start = *end = skip_properties(text, slot->point);
    if (slot->start < line && slot->end > slot->start) {
        bool block = is_block_at(text, slot, old);
        bool header = block && !is_container(old);
        bool whole = block || slot->end > line;
        *start = slot->start;
        *end = header ? skip_name(text, slot->start) : whole ? line : slot->end;
    }
    if (variant == VARIANT_BARE) {
        *start = slot->point;
    }
    if (*end == line && *end > *start && text.data[*end - 1] == '\r') {
        (*end)--;
    }
}

/* Replaces the remainder of the first line, and the lines below it. */
static void replace_lines(const Document *document, const Slot *slot, Value old, Str head, Str body,
                          unsigned variant, Splices *out)
{
    Str text = document->text;
    size_t start, end, line = line_end(text, slot->point);
    find_head(text, slot, old, variant, &start, &end);
    if (head.len > 0 && (start == slot->point || !is_blank(text.data[start - 1]))) {
        head = arena_join(document->arena, STR(" "), head, STR_EMPTY);
    }
    while (head.len == 0 && start > slot->point && is_blank(text.data[start - 1])) {
        start--;
    }
    splices_add(out, start, end, head);
    size_t below = next_line(text, slot->point);
    size_t rest = slot->end > line ? lines_end(text, slot->end) : below;
    if (line == text.len && body.len > 0) {
        body = arena_join(document->arena, document_line_end(text), body, STR_EMPTY);
    }
    splices_add(out, below > end ? below : end, rest > below ? rest : below, body);
}

static bool yaml_insert(const Document *document, const TreeLocation *location, Value key,
                        Value value, unsigned variant, Splices *out);

static bool yaml_replace(const Document *document, const TreeLocation *location, Value value,
                         unsigned variant, Splices *out)
{
    Str text = document->text, head, body;
    Arena *arena = document->arena;
    Slot slot;
    if (location->depth == 0) {
        return variant == 0 && replace_root(document, value, out);
    }
    Value container = location->chain[location->depth - 1], old = location->chain[location->depth];
    bool is_map = container.kind == VALUE_MAP;
    if (is_map &&
        !is_inside(container, container.map->entries[location->pos[location->depth - 1]].key)) {
        /* The value comes from a merge key: add a key that overrides it. */
        TreeLocation outer = *location;
        outer.depth--;
        return yaml_insert(document, &outer, container.map->entries[location->pos[outer.depth]].key,
                           value, variant, out);
    }
    if (variant >= VARIANT_COUNT || !find_slot(document, location, &slot)) {
        return false;
    }
    bool bracketed = is_inside_brackets(text, location, location->depth);
    bool quoted = variant == VARIANT_QUOTED && slot.end > slot.start &&
                  print_quoted(document, value, text.data[slot.start], &head);
    if (quoted || bracketed) {
        head = quoted ? head : print_bracketed(document, list_of(arena, value));
        body = STR_EMPTY;
    } else {
        print_after(document, is_map, value, column_of(text, slot.lead), &head, &body);
    }
    if (bracketed && !is_map) {
        slot.point = slot.lead;
    }
    if (bracketed || (body.len == 0 && !is_block_at(text, &slot, old))) {
        replace_inline(document, &slot, head, variant, out);
    } else {
        replace_lines(document, &slot, old, head, body, variant, out);
    }
    return true;
}

/* --- Inserting ------------------------------------------------------------------------------ */

static bool insert_bracketed(const Document *document, Value container, Value entry, Splices *out)
{
    Str text = document->text;
    size_t first = skip_space(text, container.start + 1), end = node_end(container) - 1;
    Str gap = str_slice(text, container.start + 1, first);
    bool is_multiline = str_find(gap, STR("\n"), 0) != STR_NOT_FOUND;
    size_t indent = line_start(text, first);
    gap = is_multiline ? arena_join(document->arena, document_line_end(text),
                                    str_slice(text, indent, first), STR_EMPTY)
                       : STR(" ");
    while (end > container.start && ascii_is_space(text.data[end - 1])) {
        end--;
    }
    Str comma = text.data[end - 1] == ',' ? STR_EMPTY : STR(",");
    splices_add(out, end, end,
                arena_join(document->arena, comma, gap, print_bracketed(document, entry)));
    return true;
}

static bool yaml_insert(const Document *document, const TreeLocation *location, Value key,
                        Value value, unsigned variant, Splices *out)
{
    Str text = document->text;
    Value container = location->chain[location->depth];
    bool is_map = container.kind == VALUE_MAP;
    Value entry = is_map ? map_of(document->arena, key, value) : list_of(document->arena, value);
    if (is_in_brackets(text, container)) {
        return variant == 0 && insert_bracketed(document, container, entry, out);
    }
    if (variant > 1 || is_inside_brackets(text, location, location->depth)) {
        return false;
    }
    /* Trailing blank lines of a block scalar may belong to it. */
    size_t end = variant == 0 ? lines_end(text, node_end(container)) : node_end(container);
    end = end > 0 && text.data[end - 1] == '\n' ? end : next_line(text, end);
    Str new_text =
        indent_printed(document, print_block(document, entry), column_of(text, container.start));
    if (text.data[end - 1] != '\n') {
        new_text = arena_join(document->arena, document_line_end(text), new_text, STR_EMPTY);
    }
    splices_add(out, end, end, new_text);
    return true;
}

/* --- Removing ------------------------------------------------------------------------------- */

static bool remove_bracketed(Str text, const Slot *slot, Splices *out)
{
    size_t start = slot->lead, end = slot->end;
    size_t comma = skip_space(text, end);
    if (comma < text.len && text.data[comma] == ',') {
        splices_add(out, start, skip_blanks(text, comma + 1), STR_EMPTY);
        return true;
    }
    while (start > 0 && ascii_is_space(text.data[start - 1])) {
        start--;
    }
    if (start == 0 || text.data[start - 1] != ',') {
        return false;
    }
    splices_add(out, start - 1, end, STR_EMPTY);
    return true;
}

static bool yaml_remove(const Document *document, const TreeLocation *location, unsigned variant,
                        Splices *out)
{
    Str text = document->text;
    Slot slot;
    if (variant > 0 || !find_slot(document, location, &slot)) {
        return false;
    }
    if (is_inside_brackets(text, location, location->depth)) {
        return remove_bracketed(text, &slot, out);
    }
    size_t end = lines_end(text, slot.end > slot.point ? slot.end : slot.point);
    if (is_first_on_line(text, slot.lead)) {
        splices_add(out, line_start(text, slot.lead), end, STR_EMPTY);
        return true;
    }
    /* The dash now belongs to the next entry, which moves up to its line unless a comment comes
     * first. */
    size_t next = skip_blanks(text, end);
    if (next < text.len && text.data[next] != '#' &&
        column_of(text, next) == column_of(text, slot.lead)) {
        splices_add(out, slot.lead, next, STR_EMPTY);
        return true;
    }
    size_t start = slot.lead;
    while (start > 0 && is_blank(text.data[start - 1])) {
        start--;
    }
    splices_add(out, start, end > 0 && text.data[end - 1] == '\n' ? end - 1 : end, STR_EMPTY);
    return true;
}

const DocumentFormat document_yaml = {
    .name = "YAML",
    .load = yaml_read,
    .normalize = yaml_normalize,
    .replace = yaml_replace,
    .insert = yaml_insert,
    .remove = yaml_remove,
};
