/* Builds containers from the values on the stack: keys, duplicates, merge keys. */
#include "base/utf8.h"
#include "lang/yaml_load.h"

enum {
    LARGE_CONTAINER = 1024,
    SHOWN_MAX = 60,
};

Str yaml_load_excerpt(const YamlLoad *load, Value v)
{
    Str text = str_slice(load->text, v.start, (size_t)v.start + v.span);
    size_t len = 0;
    while (len < text.len && text.data[len] != '\n' && text.data[len] != '\r' &&
           (len < SHOWN_MAX || utf8_is_continuation(text.data[len]))) {
        len++;
    }
    return str_slice(text, 0, len);
}

/* --- Keys --------------------------------------------------------------------------------- */

/* Lists become tuples; anything that contains a map cannot be a key. */
static bool convert_key(YamlLoad *load, Value *v)
{
    if (v->kind != VALUE_LIST && v->kind != VALUE_TUPLE) {
        return v->kind != VALUE_MAP;
    }
    List *items = list_new(load->arena, v->list->len);
    for (uint32_t i = 0; i < v->list->len; i++) {
        Value item = v->list->items[i];
        if (!convert_key(load, &item)) {
            return false;
        }
        list_push(load->arena, items, item);
    }
    v->kind = VALUE_TUPLE;
    v->list = items;
    return true;
}

void yaml_build_key(YamlLoad *load, YamlFrame *frame, Value *v)
{
    if (convert_key(load, v)) {
        return;
    }
    Str text = load->text;
    if (frame->flow && v->start == frame->start + 1 && text.data[frame->start] == '{' &&
        text.data[v->start] == '{') {
        frame->template = true; /* reported when both braces are closed */
    } else if (yaml_load_may_report(load)) {
        Problem *problem = problems_add(load->problems, "E0114", load->source, v->start, v->span,
                                        "a map cannot be a key");
        problem->hint = STR("use a string, a number or a list of them");
    }
    Str key = yaml_load_excerpt(load, *v);
    v->kind = VALUE_STRING;
    v->text = key.data;
    v->len = (uint32_t)key.len;
}

/* --- Maps and lists ----------------------------------------------------------------------- */

/* `above` is what precedes the second one: if it has no value, the key may have been meant to be
 * indented below it. */
static void duplicate_problem(YamlLoad *load, const MapEntry *first, const MapEntry *again,
                              const MapEntry *above)
{
    if (!yaml_load_may_report(load)) {
        return;
    }
    Arena *arena = load->problems->arena;
    Str key = yaml_load_excerpt(load, again->key);
    LineColumn location = source_location(load->source, first->key.start);
    Problem *problem = problems_add(load->problems, "E0102", load->source, again->key.start,
                                    again->key.span, "duplicate key '%" STR_FMT "'", STR_ARG(key));
    if (above->value.kind == VALUE_NULL && above->value.span == 0 &&
        above->key.start != first->key.start) {
        problem->hint =
            arena_format(arena,
                         "indent it and what follows below '%" STR_FMT ":'; the other '%" STR_FMT
                         "' is on line %u",
                         STR_ARG(yaml_load_excerpt(load, above->key)), STR_ARG(key), location.line);
        return;
    }
    bool lists = first->value.kind == VALUE_LIST && again->value.kind == VALUE_LIST;
    problem->hint = arena_format(arena, "first at line %u, column %u%s", location.line,
                                 location.column, lists ? "; merge both lists" : "");
}

/* Consumes the pairs between the first child of the frame and `end` on the stack. */
static Map *build_map(YamlLoad *load, const YamlFrame *frame, uint32_t end)
{
    /* Keys and values alternate on the stack, which is the memory layout of entries. */
    _Static_assert(sizeof(MapEntry) == 2 * sizeof(Value), "an entry is two values");
    const MapEntry *entries = (const MapEntry *)(load->stack + frame->first);
    uint32_t count = (end - frame->first) / 2;
    Map *map = map_from_entries(load->arena, entries, count);
    if (LIKELY(map != NULL)) {
        return map;
    }
    map = map_new(load->arena, count);
    for (uint32_t i = 0; i < count; i++) {
        const MapEntry *before = map_add(load->arena, map, entries[i].key, entries[i].value);
        if (before != NULL) {
            duplicate_problem(load, before, &entries[i], &entries[i - 1]);
        }
    }
    return map;
}

static void merge_from(YamlLoad *load, Map *merged, const Map *own, Value from)
{
    for (uint32_t i = 0; i < from.map->len; i++) {
        const MapEntry *entry = &from.map->entries[i];
        const MapEntry *override = map_find(own, entry->key);
        Value v = override != NULL ? override->value : entry->value;
        v.flags |= override != NULL ? 0 : from.flags & VALUE_SECRET;
        map_add(load->arena, merged, override != NULL ? override->key : entry->key, v);
    }
}

static uint32_t merged_size(Value from)
{
    uint32_t size = from.kind == VALUE_MAP ? from.map->len : 0;
    for (uint32_t i = 0; from.kind == VALUE_LIST && i < from.list->len; i++) {
        Value part = from.list->items[i];
        size += part.kind == VALUE_MAP ? part.map->len : 0;
    }
    return size;
}

/* `<<: *a` or `<<: [*a, *b]`: entries of the merged maps come first, earlier maps take precedence
 * over later ones, and the map's own keys over all. */
static Map *merge_maps(YamlLoad *load, Map *own, Value merge_key)
{
    Value from = map_find_str(own, STR("<<"))->value;
    map_remove(own, merge_key);
    Map *merged = map_new(load->arena, own->len + merged_size(from));
    bool fits = from.kind == VALUE_MAP;
    if (fits) {
        merge_from(load, merged, own, from);
    } else if (from.kind == VALUE_LIST) {
        fits = true;
        for (uint32_t i = 0; i < from.list->len; i++) {
            Value part = from.list->items[i];
            part.flags |= from.flags & VALUE_SECRET;
            if (part.kind == VALUE_MAP) {
                merge_from(load, merged, own, part);
            } else {
                fits = false;
            }
        }
    }
    if (!fits && yaml_load_may_report(load)) {
        Problem *problem = problems_add(load->problems, "E0115", load->source, merge_key.start,
                                        merge_key.span, "only maps can be merged");
        problem->hint = STR("write '<<: *anchor' or '<<: [*first, *second]'");
    }
    for (uint32_t i = 0; i < own->len; i++) {
        map_add(load->arena, merged, own->entries[i].key, own->entries[i].value);
    }
    return merged;
}

Value yaml_build_container(YamlLoad *load, const YamlFrame *frame)
{
    uint32_t count = load->stack_len - frame->first;
    if (count > LARGE_CONTAINER &&
        !yaml_load_charge(load, count * sizeof(Value) * (frame->is_map ? 2 : 1))) {
        return value_null();
    }
    if (!frame->is_map) {
        List *list = list_new(load->arena, count);
        if (count > 0) {
            memcpy(list->items, load->stack + frame->first, count * sizeof(Value));
            list->len = count;
        }
        return value_list(list);
    }
    Map *map = build_map(load, frame, load->stack_len);
    if (frame->merge != 0) {
        map = merge_maps(load, map, load->stack[frame->merge - 1]);
    }
    return value_map(map);
}

void yaml_build_check_open(YamlLoad *load)
{
    uint32_t end = load->stack_len;
    for (uint32_t i = load->depth; i > 0; i--) {
        const YamlFrame *frame = &load->frames[i - 1];
        if (frame->is_map && !frame->template) {
            build_map(load, frame, end);
        }
        end = frame->first;
    }
}
