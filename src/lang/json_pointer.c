#include "lang/json_pointer.h"

/* Whether the segment, in which "~1" means "/" and "~0" means "~", equals the name. */
static bool segment_matches(Str segment, Str name)
{
    size_t n = 0;
    for (size_t i = 0; i < segment.len; i++, n++) {
        char c = segment.data[i];
        if (c == '~' && i + 1 < segment.len &&
            (segment.data[i + 1] == '0' || segment.data[i + 1] == '1')) {
            c = segment.data[++i] == '0' ? '~' : '/';
        }
        if (n >= name.len || name.data[n] != c) {
            return false;
        }
    }
    return n == name.len;
}

static bool follow_segment(JsonMatch *match, Str segment)
{
    if (match->value.kind == VALUE_LIST) {
        int64_t index;
        const List *list = match->value.list;
        bool is_index = str_to_i64(segment, &index) && index >= 0 && index < (int64_t)list->len;
        if (is_index) {
            match->value = list->items[index];
            match->name = value_null();
        }
        return is_index;
    }
    const Map *map = match->value.kind == VALUE_MAP ? match->value.map : NULL;
    for (uint32_t i = 0; map != NULL && i < map->len; i++) {
        const MapEntry *entry = &map->entries[i];
        if (value_is_string(entry->key) && segment_matches(segment, value_str(entry->key))) {
            match->name = entry->key;
            match->value = entry->value;
            return true;
        }
    }
    return false;
}

JsonMatch json_pointer_find(Value document, Str pointer)
{
    JsonMatch match = { .is_found = true, .value = document, .name = value_null() };
    Str rest = pointer.len > 0 ? str_from_offset(pointer, 1) : pointer, segment;
    if (pointer.len == 0) {
        return match;
    }
    match.is_found = pointer.data[0] == '/';
    bool has_more = match.is_found;
    while (has_more) {
        size_t end = str_find(rest, STR("/"), 0);
        segment = str_slice(rest, 0, end);
        has_more = end != STR_NOT_FOUND;
        if (!follow_segment(&match, segment)) {
            match.is_found = false;
            return match;
        }
        rest = has_more ? str_from_offset(rest, end + 1) : STR_EMPTY;
    }
    return match;
}
