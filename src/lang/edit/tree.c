/* Path lookup and copy-on-write changes for values. A Spot holds the chain of values from the root
 * to a location; a change copies the containers on this chain and shares everything else, so the
 * original stays valid. */
#include "lang/edit/tree.h"

#include <math.h>

#include "base/buf.h"
#include "base/bug.h"

/* --- Lookup --------------------------------------------------------------------------------- */

static const MapEntry *find_entry(Arena *arena, const Map *map, const DataSegment *segment)
{
    const MapEntry *entry = map_find(map, segment->key);
    uint32_t index;
    if (entry != NULL || !segment->is_ambiguous) {
        return entry;
    }
    if (segment->key.kind == VALUE_INT) {
        return map_find_str(map, arena_format(arena, "%lld", (long long)segment->key.integer));
    }
    return data_segment_index(segment, &index) ? map_find(map, value_int(index)) : NULL;
}

static bool set_conflict(Arena *arena, const DataPath *path, uint32_t len, const char *what,
                         Error *err)
{
    Str location = data_path_text(arena, path, len);
    Str next = data_path_text(arena, &(DataPath){ path->segments + len, 1 }, 1);
    return error_set(
        err, ERROR_CONFLICT, "%s%" STR_FMT "%s is %s, which cannot contain '%" STR_FMT "'",
        len > 0 ? "'" : "", STR_ARG(location), len > 0 ? "'" : "", what, STR_ARG(next));
}

static bool find_item(Arena *arena, const DataPath *path, TreeLocation *location, bool *found,
                      Error *err)
{
    const DataSegment *segment = &path->segments[location->depth];
    const List *list = location->chain[location->depth].list;
    uint32_t index;
    *found = false;
    if (data_segment_is_end(segment)) {
        return true;
    }
    if (!data_segment_index(segment, &index)) {
        return set_conflict(arena, path, location->depth, "a list", err);
    }
    if (index > list->len) {
        Str what = arena_format(arena, "a list of %u", list->len);
        return set_conflict(arena, path, location->depth, arena_copy_c(arena, what), err);
    }
    location->pos[location->depth] = index;
    *found = index < list->len;
    return true;
}

static bool find_next(Arena *arena, const DataPath *path, TreeLocation *location, bool *found,
                      Error *err)
{
    Value current = location->chain[location->depth];
    *found = false;
    if (current.kind == VALUE_NULL || value_is_missing(current)) {
        return true;
    }
    if (value_is_sequence(current)) {
        if (!find_item(arena, path, location, found, err)) {
            return false;
        }
        if (*found) {
            location->chain[location->depth + 1] =
                current.list->items[location->pos[location->depth]];
        }
        return true;
    }
    if (current.kind != VALUE_MAP || data_segment_is_end(&path->segments[location->depth])) {
        Str what = arena_format(arena, "%s %s", current.kind == VALUE_INT ? "an" : "a",
                                value_kind_name(current.kind));
        return set_conflict(arena, path, location->depth, arena_copy_c(arena, what), err);
    }
    const MapEntry *entry = find_entry(arena, current.map, &path->segments[location->depth]);
    if (entry != NULL) {
        *found = true;
        location->pos[location->depth] = (uint32_t)(entry - current.map->entries);
        location->chain[location->depth + 1] = entry->value;
    }
    return true;
}

bool tree_find(Arena *arena, Value root, const DataPath *path, TreeLocation *out, Error *err)
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
        const DataSegment *segment = &path->segments[i - 1];
        uint32_t index;
        bool is_index = data_segment_index(segment, &index);
        if (is_index && segment->is_ambiguous) {
            Str location = data_path_text(arena, path, i - 1);
            return error_set(err, ERROR_INVALID,
                             "'path': %" STR_FMT
                             " does not exist, and '%u' may be a key or an index; "
                             "write a list of keys, with the number or a quoted string",
                             STR_ARG(location), index);
        }
        if (is_index && index > 0) {
            return error_set(err, ERROR_CONFLICT, "'path': a new list starts at index 0, not %u",
                             index);
        }
        if (is_index || data_segment_is_end(segment)) {
            List *list = list_new(arena, 1);
            list_push(arena, list, value);
            value = value_list(list);
        } else {
            Map *map = map_new(arena, 1);
            map_set(arena, map, segment->key, value);
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

/* Returns a copy of the root in which chain[depth] is `value`. */
static Value replace_up(Arena *arena, const TreeLocation *location, uint32_t depth, Value value)
{
    for (uint32_t i = depth; i > 0; i--) {
        Value parent = location->chain[i - 1];
        if (parent.kind == VALUE_MAP) {
            parent.map = copy_map(arena, parent.map);
            parent.map->entries[location->pos[i - 1]].value = value;
        } else {
            parent.list = copy_list(arena, parent.list);
            parent.list->items[location->pos[i - 1]] = value;
        }
        value = parent;
    }
    return value;
}

Value tree_replace(Arena *arena, const TreeLocation *location, Value value)
{
    return replace_up(arena, location, location->depth, value);
}

Value tree_insert(Arena *arena, const TreeLocation *location, Value key, Value value)
{
    Value parent = location->chain[location->depth];
    if (parent.kind == VALUE_MAP) {
        parent.map = copy_map(arena, parent.map);
        map_set(arena, parent.map, key, value);
    } else {
        parent.list = copy_list(arena, parent.list);
        list_push(arena, parent.list, value);
    }
    return replace_up(arena, location, location->depth, parent);
}

Value tree_remove(Arena *arena, const TreeLocation *location)
{
    BUG_IF(location->depth == 0);
    Value parent = location->chain[location->depth - 1];
    uint32_t pos = location->pos[location->depth - 1];
    if (parent.kind == VALUE_MAP) {
        Value key = parent.map->entries[pos].key;
        parent.map = copy_map(arena, parent.map);
        map_remove(parent.map, key);
    } else {
        parent.list = copy_list(arena, parent.list);
        parent.list->len--;
        memmove(&parent.list->items[pos], &parent.list->items[pos + 1],
                (parent.list->len - pos) * sizeof(Value));
    }
    return replace_up(arena, location, location->depth - 1, parent);
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
