/* Path lookup and copy-on-write changes for values. A Spot holds the chain of values from the root
 * to a location; a change copies the containers on this chain and shares everything else, so the
 * original stays valid. */
#include "lang/edit/tree.h"

#include <math.h>

#include "base/buf.h"
#include "base/bug.h"

/* --- Lookup --------------------------------------------------------------------------------- */

static const MapEntry *find_entry(Arena *arena, const Map *map, const DataSegment *step)
{
    const MapEntry *entry = map_find(map, step->key);
    uint32_t index;
    if (entry != NULL || !step->guessed) {
        return entry;
    }
    if (step->key.kind == VALUE_INT) {
        return map_find_str(map, arena_format(arena, "%lld", (long long)step->key.integer));
    }
    return data_segment_index(step, &index) ? map_find(map, value_int(index)) : NULL;
}

static bool refuse(Arena *arena, const DataPath *path, uint32_t len, const char *what, Error *err)
{
    Str place = data_path_text(arena, path, len);
    Str next = data_path_text(arena, &(DataPath){ path->steps + len, 1 }, 1);
    return error_set(err, ERROR_CONFLICT,
                     "%s%" STR_FMT "%s is %s, which cannot contain '%" STR_FMT "'",
                     len > 0 ? "'" : "", STR_ARG(place), len > 0 ? "'" : "", what, STR_ARG(next));
}

static bool find_item(Arena *arena, const DataPath *path, Spot *spot, bool *found, Error *err)
{
    const DataSegment *step = &path->steps[spot->depth];
    const List *list = spot->chain[spot->depth].list;
    uint32_t index;
    *found = false;
    if (data_segment_is_end(step)) {
        return true;
    }
    if (!data_segment_index(step, &index)) {
        return refuse(arena, path, spot->depth, "a list", err);
    }
    if (index > list->len) {
        Str what = arena_format(arena, "a list of %u", list->len);
        return refuse(arena, path, spot->depth, arena_copy_c(arena, what), err);
    }
    spot->at[spot->depth] = index;
    *found = index < list->len;
    return true;
}

static bool find_next(Arena *arena, const DataPath *path, Spot *spot, bool *found, Error *err)
{
    Value here = spot->chain[spot->depth];
    *found = false;
    if (here.kind == VALUE_NULL || value_is_missing(here)) {
        return true;
    }
    if (value_is_sequence(here)) {
        if (!find_item(arena, path, spot, found, err)) {
            return false;
        }
        if (*found) {
            spot->chain[spot->depth + 1] = here.list->items[spot->at[spot->depth]];
        }
        return true;
    }
    if (here.kind != VALUE_MAP || data_segment_is_end(&path->steps[spot->depth])) {
        Str what = arena_format(arena, "%s %s", here.kind == VALUE_INT ? "an" : "a",
                                value_kind_name(here.kind));
        return refuse(arena, path, spot->depth, arena_copy_c(arena, what), err);
    }
    const MapEntry *entry = find_entry(arena, here.map, &path->steps[spot->depth]);
    if (entry != NULL) {
        *found = true;
        spot->at[spot->depth] = (uint32_t)(entry - here.map->entries);
        spot->chain[spot->depth + 1] = entry->value;
    }
    return true;
}

bool tree_find(Arena *arena, Value root, const DataPath *path, Spot *out, Error *err)
{
    out->chain[0] = root;
    for (out->depth = 0; out->depth < path->len; out->depth++) {
        bool found;
        if (!find_next(arena, path, out, &found, err)) {
            return false;
        }
        if (!found) {
            return true;
        }
    }
    return true;
}

/* --- Creating ------------------------------------------------------------------------------- */

bool tree_wrap(Arena *arena, const DataPath *path, uint32_t from, Value value, Value *out,
               Error *err)
{
    for (uint32_t i = path->len; i > from; i--) {
        const DataSegment *step = &path->steps[i - 1];
        uint32_t index;
        bool is_place = data_segment_index(step, &index);
        if (is_place && step->guessed) {
            Str place = data_path_text(arena, path, i - 1);
            return error_set(err, ERROR_INVALID,
                             "'path': %" STR_FMT
                             " does not exist, and '%u' may be a key or an index; "
                             "write a list of keys, with the number or a quoted string",
                             STR_ARG(place), index);
        }
        if (is_place && index > 0) {
            return error_set(err, ERROR_CONFLICT, "'path': a new list starts at index 0, not %u",
                             index);
        }
        if (is_place || data_segment_is_end(step)) {
            List *list = list_new(arena, 1);
            list_push(arena, list, value);
            value = value_list(list);
        } else {
            Map *map = map_new(arena, 1);
            map_set(arena, map, step->key, value);
            value = value_map(map);
        }
    }
    *out = value;
    return true;
}

static Map *copy_map(Arena *arena, const Map *map)
{
    Map *copy = map_new(arena, map->len + 1);
    for (uint32_t i = 0; i < map->len; i++) {
        map_append(arena, copy, map->entries[i].key, map->entries[i].value);
    }
    return copy;
}

static List *copy_list(Arena *arena, const List *list)
{
    List *copy = list_new(arena, list->len + 1);
    for (uint32_t i = 0; i < list->len; i++) {
        list_push(arena, copy, list->items[i]);
    }
    return copy;
}

static Value replace_up(Arena *arena, const Spot *spot, uint32_t depth, Value value)
{
    for (uint32_t i = depth; i > 0; i--) {
        Value around = spot->chain[i - 1];
        if (around.kind == VALUE_MAP) {
            around.map = copy_map(arena, around.map);
            around.map->entries[spot->at[i - 1]].value = value;
        } else {
            around.list = copy_list(arena, around.list);
            around.list->items[spot->at[i - 1]] = value;
        }
        value = around;
    }
    return value;
}

Value tree_replace(Arena *arena, const Spot *spot, Value value)
{
    return replace_up(arena, spot, spot->depth, value);
}

Value tree_insert(Arena *arena, const Spot *spot, Value key, Value value)
{
    Value around = spot->chain[spot->depth];
    if (around.kind == VALUE_MAP) {
        around.map = copy_map(arena, around.map);
        map_set(arena, around.map, key, value);
    } else {
        around.list = copy_list(arena, around.list);
        list_push(arena, around.list, value);
    }
    return replace_up(arena, spot, spot->depth, around);
}

Value tree_remove(Arena *arena, const Spot *spot)
{
    BUG_IF(spot->depth == 0);
    Value around = spot->chain[spot->depth - 1];
    uint32_t at = spot->at[spot->depth - 1];
    if (around.kind == VALUE_MAP) {
        Value key = around.map->entries[at].key;
        around.map = copy_map(arena, around.map);
        map_remove(around.map, key);
    } else {
        around.list = copy_list(arena, around.list);
        around.list->len--;
        memmove(&around.list->items[at], &around.list->items[at + 1],
                (around.list->len - at) * sizeof(Value));
    }
    return replace_up(arena, spot, spot->depth - 1, around);
}

/* --- Comparing ------------------------------------------------------------------------------ */

static bool same_lists(const List *a, const List *b)
{
    bool same = a->len == b->len;
    for (uint32_t i = 0; same && i < a->len; i++) {
        same = tree_same(a->items[i], b->items[i]);
    }
    return same;
}

static bool same_maps(const Map *a, const Map *b)
{
    bool same = a->len == b->len;
    for (uint32_t i = 0; same && i < a->len; i++) {
        const MapEntry *entry = map_find(b, a->entries[i].key);
        same = entry != NULL && entry->key.kind == a->entries[i].key.kind &&
               tree_same(a->entries[i].value, entry->value);
    }
    return same;
}

bool tree_same(Value a, Value b)
{
    if (value_is_sequence(a) && value_is_sequence(b)) {
        return a.list == b.list || same_lists(a.list, b.list);
    }
    if (a.kind != b.kind) {
        return false;
    }
    switch (a.kind) {
    case VALUE_MAP: return a.map == b.map || same_maps(a.map, b.map);
    case VALUE_FLOAT: return a.number == b.number || (isnan(a.number) && isnan(b.number));
    case VALUE_UNDEFINED: return true;
    default: return value_key_equal(a, b);
    }
}
