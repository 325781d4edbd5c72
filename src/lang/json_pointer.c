#include "lang/json_pointer.h"

/* Whether a segment of a pointer denotes this name: "~1" is "/", "~0" is "~". */
static bool part_is(Str part, Str name)
{
    size_t n = 0;
    for (size_t i = 0; i < part.len; i++, n++) {
        char c = part.data[i];
        if (c == '~' && i + 1 < part.len && (part.data[i + 1] == '0' || part.data[i + 1] == '1')) {
            c = part.data[++i] == '0' ? '~' : '/';
        }
        if (n >= name.len || name.data[n] != c) {
            return false;
        }
    }
    return n == name.len;
}

static bool step(JsonMatch *place, Str part)
{
    if (place->value.kind == VALUE_LIST) {
        int64_t index;
        const List *list = place->value.list;
        bool is_index = str_to_i64(part, &index) && index >= 0 && index < (int64_t)list->len;
        if (is_index) {
            place->value = list->items[index];
            place->name = value_null();
        }
        return is_index;
    }
    const Map *map = place->value.kind == VALUE_MAP ? place->value.map : NULL;
    for (uint32_t i = 0; map != NULL && i < map->len; i++) {
        const MapEntry *entry = &map->entries[i];
        if (value_is_string(entry->key) && part_is(part, value_str(entry->key))) {
            place->name = entry->key;
            place->value = entry->value;
            return true;
        }
    }
    return false;
}

JsonMatch json_pointer_find(Value document, Str pointer)
{
    JsonMatch place = { .whole = true, .value = document, .name = value_null() };
    Str rest = pointer.len > 0 ? str_from_offset(pointer, 1) : pointer, part;
    if (pointer.len == 0) {
        return place;
    }
    place.whole = pointer.data[0] == '/';
    bool more = place.whole;
    while (more) {
        size_t end = str_find(rest, STR("/"), 0);
        part = str_slice(rest, 0, end);
        more = end != STR_NOT_FOUND;
        if (!step(&place, part)) {
            place.whole = false;
            return place;
        }
        rest = more ? str_from_offset(rest, end + 1) : STR_EMPTY;
    }
    return place;
}
