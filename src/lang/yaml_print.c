#include "lang/yaml_print.h"

#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "lang/number.h"

enum {
    INDENT_DEFAULT = 2,
    INDENT_MAX = 8,
    SIMPLE_KEY_MAX = 1000, /* readers look for the ':' of a key within 1,024 characters */
};

void yaml_print_line(YamlPrint *print, uint32_t indent)
{
    buf_put_char(print->out, '\n');
    print->line = print->out->len;
    buf_put_repeat(print->out, ' ', indent);
}

bool yaml_print_is_wide(const YamlPrint *print)
{
    if (print->style.width == 0 || print->out->len - print->line <= print->style.width) {
        return false;
    }
    return utf8_count(str_from_offset(buf_str(print->out), print->line)) > print->style.width;
}

/* --- Scalars ------------------------------------------------------------------------------ */

/* Always with a point: readers of YAML 1.1 take 1e+16 for a string. */
static void put_float(Buf *out, double number)
{
    if (isnan(number)) {
        buf_put_c(out, ".nan");
        return;
    }
    if (isinf(number)) {
        buf_put_c(out, number < 0 ? "-.inf" : ".inf");
        return;
    }
    char text[NUMBER_TEXT_MAX];
    Str digits = str_from(text, number_format_repr(number, text));
    size_t exponent = str_find(digits, STR("e"), 0);
    if (exponent == STR_NOT_FOUND || str_find(digits, STR("."), 0) != STR_NOT_FOUND) {
        buf_put(out, digits);
        return;
    }
    buf_put(out, str_slice(digits, 0, exponent));
    buf_put_c(out, ".0");
    buf_put(out, str_from_offset(digits, exponent));
}

static void put_scalar(YamlPrint *print, Value v, YamlPosition position)
{
    switch (v.kind) {
    case VALUE_NULL: buf_put_c(print->out, "null"); break;
    case VALUE_BOOL: buf_put_c(print->out, v.boolean ? "true" : "false"); break;
    case VALUE_INT: number_put_int(print->out, v.integer); break;
    case VALUE_FLOAT: put_float(print->out, v.number); break;
    case VALUE_STRING: yaml_print_string(print, value_str(v), position); break;
    default: BUG("a %s is no scalar", value_kind_name(v.kind));
    }
}

/* --- Order of keys ------------------------------------------------------------------------ */

static int key_rank(Value v)
{
    return v.kind == VALUE_INT ? VALUE_FLOAT : v.kind;
}

static int compare_numbers(Value a, Value b)
{
    if (a.kind == VALUE_INT && b.kind == VALUE_INT) {
        return (a.integer > b.integer) - (a.integer < b.integer);
    }
    double x = a.kind == VALUE_INT ? (double)a.integer : a.number;
    double y = b.kind == VALUE_INT ? (double)b.integer : b.number;
    if (isnan(x) || isnan(y)) {
        return (isnan(x) != 0) - (isnan(y) != 0); /* last, or the order would be none */
    }
    int order = (x > y) - (x < y);
    return order != 0 ? order : a.kind - b.kind; /* alike only for want of digits */
}

static int compare_keys(Value a, Value b)
{
    if (key_rank(a) != key_rank(b)) {
        return key_rank(a) - key_rank(b);
    }
    switch (a.kind) {
    case VALUE_BOOL: return a.boolean - b.boolean;
    case VALUE_INT:
    case VALUE_FLOAT: return compare_numbers(a, b);
    case VALUE_STRING: return str_compare(value_str(a), value_str(b));
    case VALUE_TUPLE:
        for (uint32_t i = 0; i < a.list->len && i < b.list->len; i++) {
            int order = compare_keys(a.list->items[i], b.list->items[i]);
            if (order != 0) {
                return order;
            }
        }
        return (a.list->len > b.list->len) - (a.list->len < b.list->len);
    default: return 0;
    }
}

static int compare_entries(const void *a, const void *b)
{
    const MapEntry *left = *(const MapEntry *const *)a, *right = *(const MapEntry *const *)b;
    int order = compare_keys(left->key, right->key);
    return order != 0 ? order : (left > right) - (left < right); /* stable */
}

/* The entries in the order of printing; the caller frees the array. */
static const MapEntry **entries_of(const YamlPrint *print, const Map *map)
{
    const MapEntry **entries = malloc(map->len * sizeof *entries + 1);
    if (entries == NULL) {
        memory_exhausted(map->len * sizeof *entries);
    }
    for (uint32_t i = 0; i < map->len; i++) {
        entries[i] = &map->entries[i];
    }
    if (print->style.sort_keys) {
        qsort(entries, map->len, sizeof *entries, compare_entries);
    }
    return entries;
}

/* --- Containers --------------------------------------------------------------------------- */

static bool too_deep(YamlPrint *print)
{
    return error_set(print->err, ERROR_LIMIT, "the value is nested too deep to print (limit %d)",
                     VALUE_DEPTH_MAX);
}

static bool has_room(YamlPrint *print)
{
    if (print->out->overflow) {
        return error_set(print->err, ERROR_LIMIT, "the text is longer than %zu bytes",
                         print->out->max);
    }
    return true;
}

/* A value in the place of an object or undefined. */
static bool plain_value(YamlPrint *print, Value *v)
{
    if (v->kind < VALUE_OBJECT) {
        return true;
    }
    if (print->style.replace == NULL) {
        return error_set(print->err, ERROR_INVALID, "YAML cannot hold a value of type %s",
                         value_kind_name(v->kind));
    }
    if (!print->style.replace(print->style.context, *v, v, print->err)) {
        return false;
    }
    BUG_IF(v->kind >= VALUE_OBJECT);
    return true;
}

static bool is_container(Value v)
{
    return v.kind == VALUE_MAP || value_is_sequence(v);
}

static uint32_t size_of(Value v)
{
    return v.kind == VALUE_MAP ? v.map->len : v.list->len;
}

static bool holds_scalars_only(Value v)
{
    for (uint32_t i = 0; i < size_of(v); i++) {
        Value item = v.kind == VALUE_MAP ? v.map->entries[i].value : v.list->items[i];
        if (item.kind > VALUE_STRING) {
            return false;
        }
    }
    return true;
}

static bool wants_flow(const YamlPrint *print, Value v)
{
    return size_of(v) == 0 || print->style.flow == YAML_FLOW_ALL ||
           (print->style.flow == YAML_FLOW_LEAVES && holds_scalars_only(v));
}

/* The tag of a secret holds for all that is in it. */
static bool wants_tag(const YamlPrint *print, Value v)
{
    return print->style.tag_secrets && !print->secret && value_is_secret(v);
}

static bool put_flow(YamlPrint *print, Value v, YamlPosition position, unsigned depth);

static void put_comma(YamlPrint *print, uint32_t index, YamlPosition position)
{
    if (index == 0) {
        return;
    }
    buf_put_char(print->out, ',');
    if (!position.key && yaml_print_is_wide(print)) {
        yaml_print_line(print, position.indent + print->style.indent);
    } else {
        buf_put_char(print->out, ' ');
    }
}

/* Puts a key that must stand on one line; a very long one gets the `?` form. */
static bool put_key(YamlPrint *print, Value key, YamlPosition position, unsigned depth)
{
    size_t start = print->out->len;
    position.key = true;
    if (!put_flow(print, key, position, depth)) {
        return false;
    }
    size_t len = print->out->len - start;
    if (len <= SIMPLE_KEY_MAX) {
        buf_put_char(print->out, ':');
        return true;
    }
    print->out->len = start;
    buf_put_c(print->out, "? ");
    if (!put_flow(print, key, position, depth)) {
        return false;
    }
    yaml_print_line(print, position.indent + (position.flow ? print->style.indent : 0));
    buf_put_char(print->out, ':');
    return true;
}

static bool put_flow_map(YamlPrint *print, const Map *map, YamlPosition position, unsigned depth)
{
    const MapEntry **entries = entries_of(print, map);
    bool ok = true;
    buf_put_char(print->out, '{');
    for (uint32_t i = 0; i < map->len && ok; i++) {
        put_comma(print, i, position);
        ok = put_key(print, entries[i]->key, position, depth + 1);
        buf_put_char(print->out, ' ');
        ok = ok && put_flow(print, entries[i]->value, position, depth + 1);
    }
    buf_put_char(print->out, '}');
    free(entries);
    return ok;
}

static bool put_flow_list(YamlPrint *print, const List *list, YamlPosition position, unsigned depth)
{
    buf_put_char(print->out, '[');
    for (uint32_t i = 0; i < list->len; i++) {
        put_comma(print, i, position);
        if (!put_flow(print, list->items[i], position, depth + 1)) {
            return false;
        }
    }
    buf_put_char(print->out, ']');
    return true;
}

/* Everything that does not start lines of its own. */
static bool put_flow(YamlPrint *print, Value v, YamlPosition position, unsigned depth)
{
    if (depth > VALUE_DEPTH_MAX) {
        return too_deep(print);
    }
    if (!has_room(print) || !plain_value(print, &v)) {
        return false;
    }
    bool tagged = wants_tag(print, v);
    if (tagged) {
        buf_put_c(print->out, "!secret ");
        print->secret = true;
    }
    bool ok = true;
    if (!is_container(v)) {
        put_scalar(print, v, position);
    } else {
        position.flow = true;
        ok = v.kind == VALUE_MAP ? put_flow_map(print, v.map, position, depth)
                                 : put_flow_list(print, v.list, position, depth);
    }
    print->secret = print->secret && !tagged;
    return ok;
}

static bool put_block(YamlPrint *print, Value v, uint32_t indent, unsigned depth);

/* A container that is not empty, with its tag on the line before. */
static bool put_tagged_block(YamlPrint *print, Value v, uint32_t indent, unsigned depth)
{
    buf_put_c(print->out, "!secret");
    print->secret = true;
    yaml_print_line(print, indent);
    bool ok = put_block(print, v, indent, depth);
    print->secret = false;
    return ok;
}

/* What stands behind `key:`. */
static bool put_entry_value(YamlPrint *print, Value v, uint32_t indent, unsigned depth)
{
    if (!plain_value(print, &v)) {
        return false;
    }
    if (!is_container(v) || wants_flow(print, v)) {
        buf_put_char(print->out, ' ');
        return put_flow(print, v, (YamlPosition){ .indent = indent }, depth);
    }
    bool flush = v.kind != VALUE_MAP && print->style.flush_lists;
    uint32_t inner = flush ? indent : indent + print->style.indent;
    if (wants_tag(print, v)) {
        buf_put_char(print->out, ' ');
        return put_tagged_block(print, v, inner, depth);
    }
    yaml_print_line(print, inner);
    return put_block(print, v, inner, depth);
}

static bool put_block_map(YamlPrint *print, const Map *map, uint32_t indent, unsigned depth)
{
    const MapEntry **entries = entries_of(print, map);
    bool ok = true;
    for (uint32_t i = 0; i < map->len && ok; i++) {
        if (i > 0) {
            yaml_print_line(print, indent);
        }
        ok = put_key(print, entries[i]->key, (YamlPosition){ .indent = indent }, depth + 1) &&
             put_entry_value(print, entries[i]->value, indent, depth + 1);
    }
    free(entries);
    return ok;
}

static bool put_item(YamlPrint *print, Value v, uint32_t indent, unsigned depth)
{
    if (!plain_value(print, &v)) {
        return false;
    }
    buf_put_char(print->out, '-');
    if (!is_container(v) || wants_flow(print, v)) {
        buf_put_char(print->out, ' ');
        return put_flow(print, v, (YamlPosition){ .indent = indent }, depth);
    }
    if (wants_tag(print, v)) {
        buf_put_char(print->out, ' ');
        return put_tagged_block(print, v, indent + print->style.indent, depth);
    }
    buf_put_repeat(print->out, ' ', print->style.indent - 1u);
    return put_block(print, v, indent + print->style.indent, depth);
}

/* A container that is not empty, in lines that start at `indent`; the first line is there. */
static bool put_block(YamlPrint *print, Value v, uint32_t indent, unsigned depth)
{
    if (depth > VALUE_DEPTH_MAX) {
        return too_deep(print);
    }
    if (!has_room(print)) {
        return false;
    }
    if (v.kind == VALUE_MAP) {
        return put_block_map(print, v.map, indent, depth);
    }
    for (uint32_t i = 0; i < v.list->len; i++) {
        if (i > 0) {
            yaml_print_line(print, indent);
        }
        if (!put_item(print, v.list->items[i], indent, depth + 1)) {
            return false;
        }
    }
    return true;
}

bool yaml_print(Buf *out, Value v, const YamlStyle *style, Error *err)
{
    YamlPrint print = { .out = out, .err = err, .line = out->len };
    if (style != NULL) {
        print.style = *style;
    }
    if (print.style.indent < INDENT_DEFAULT) {
        print.style.indent = INDENT_DEFAULT;
    } else if (print.style.indent > INDENT_MAX) {
        print.style.indent = INDENT_MAX;
    }
    if (!plain_value(&print, &v)) {
        return false;
    }
    bool ok;
    if (!is_container(v) || wants_flow(&print, v)) {
        ok = put_flow(&print, v, (YamlPosition){ 0 }, 0);
    } else {
        ok = wants_tag(&print, v) ? put_tagged_block(&print, v, 0, 0) : put_block(&print, v, 0, 0);
    }
    if (!ok) {
        return false;
    }
    buf_put_char(out, '\n');
    return has_room(&print);
}

bool yaml_print_all(Buf *out, const List *documents, const YamlStyle *style, Error *err)
{
    for (uint32_t i = 0; i < documents->len; i++) {
        if (i > 0) {
            buf_put_c(out, "---\n");
        }
        if (!yaml_print(out, documents->items[i], style, err)) {
            return false;
        }
    }
    return true;
}
