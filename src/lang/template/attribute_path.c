#include "lang/template/attribute_path.h"

static Value part_value(Str part)
{
    int64_t number;
    bool digits = part.len > 0;
    for (size_t i = 0; i < part.len && digits; i++) {
        digits = ascii_is_digit(part.data[i]);
    }
    return digits && str_to_i64(part, &number) ? value_int(number) : value_string(part);
}

AttributePath attribute_path_make(Render *r, Value attribute)
{
    if (attribute.kind == VALUE_NULL || value_is_missing(attribute)) {
        return (AttributePath){ NULL, 0 };
    }
    if (attribute.kind != VALUE_STRING) {
        PathPart *part = ARENA_ARRAY(r->arena, PathPart, 1);
        *part = (PathPart){ .key = attribute };
        return (AttributePath){ part, 1 };
    }
    Str rest = value_str(attribute);
    uint32_t count = 1;
    for (size_t i = 0; i < rest.len; i++) {
        count += rest.data[i] == '.';
    }
    AttributePath path = { ARENA_ARRAY(r->arena, PathPart, count), 0 };
    Str part;
    if (rest.data == NULL) {
        rest = STR_EMPTY;
    }
    while (str_split_next(&rest, '.', &part)) {
        PathPart *made = &path.parts[path.count++];
        *made = (PathPart){ .key = part_value(part) };
        made->key.flags |= attribute.flags & VALUE_SECRET;
    }
    return path;
}

AttributePath *attribute_path_make_list(Render *r, Value attribute, uint32_t *count)
{
    *count = 1;
    if (attribute.kind == VALUE_STRING) {
        for (uint32_t i = 0; i < attribute.len; i++) {
            *count += attribute.text[i] == ',';
        }
    }
    AttributePath *paths = ARENA_ARRAY(r->arena, AttributePath, *count);
    if (*count == 1) {
        paths[0] = attribute_path_make(r, attribute);
        return paths;
    }
    Str rest = value_str(attribute);
    Str part;
    for (uint32_t i = 0; str_split_next(&rest, ',', &part); i++) {
        Value path = value_string(part);
        path.flags |= attribute.flags & VALUE_SECRET;
        paths[i] = attribute_path_make(r, path);
    }
    return paths;
}

bool attribute_path_get(Render *r, const AttributePath *path, const Value *item, Value fallback,
                        Value *out)
{
    bool replace = fallback.kind != VALUE_NULL && !value_is_missing(fallback);
    Value made; /* what `item` points to where it is no value of a map */
    for (uint32_t i = 0; i < path->count; i++) {
        PathPart *part = &path->parts[i];
        const MapEntry *entry = NULL;
        /* Nearly all paths lead through maps by name. */
        if (LIKELY(item->kind == VALUE_MAP && part->key.kind == VALUE_STRING)) {
            entry = map_find_near(item->map, value_str(part->key), &part->hint);
        }
        if (LIKELY(entry != NULL && !value_is_secret(*item))) {
            item = &entry->value;
        } else if (entry != NULL) {
            made = value_with_secret(entry->value);
            item = &made;
        } else {
            Value owner = *item;
            if (!op_get_item(r, owner, part->key, &made)) {
                return false;
            }
            item = &made;
        }
        if (replace && item->kind == VALUE_UNDEFINED) {
            item = &fallback;
        }
    }
    *out = *item;
    return true;
}
