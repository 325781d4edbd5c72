#include "lang/template/attribute_path.h"

static Value segment_key(Str segment)
{
    int64_t number;
    bool digits = segment.len > 0;
    for (size_t i = 0; i < segment.len && digits; i++) {
        digits = ascii_is_digit(segment.data[i]);
    }
    return digits && str_to_i64(segment, &number) ? value_int(number) : value_string(segment);
}

/* A segment takes far more memory than the character that separates it. */
static bool check_length(Render *r, Value attribute)
{
    return attribute.kind != VALUE_STRING ||
           render_reserve(r, (size_t)attribute.len * (sizeof(PathSegment) + sizeof(AttributePath)));
}

/* `flags` are set on every key: a lookup by a secret key yields a secret. */
static AttributePath parse_path(Render *r, Str text, unsigned flags)
{
    uint32_t count = 1;
    for (size_t i = 0; i < text.len; i++) {
        count += text.data[i] == '.';
    }
    AttributePath path = { ARENA_ARRAY(r->arena, PathSegment, count), 0 };
    Str rest = text.data == NULL ? STR_EMPTY : text;
    Str segment;
    while (str_split_next(&rest, '.', &segment)) {
        PathSegment *added = &path.segments[path.count++];
        *added = (PathSegment){ .key = segment_key(segment) };
        added->key.flags |= (uint8_t)flags;
    }
    return path;
}

bool attribute_path_make(Render *r, Value attribute, AttributePath *out)
{
    *out = (AttributePath){ NULL, 0 };
    if (attribute.kind == VALUE_NULL || value_is_missing(attribute)) {
        return true;
    }
    if (attribute.kind == VALUE_STRING) {
        if (!check_length(r, attribute)) {
            return false;
        }
        *out = parse_path(r, value_str(attribute), attribute.flags & VALUE_SECRET);
        return true;
    }
    *out = (AttributePath){ ARENA_ARRAY(r->arena, PathSegment, 1), 1 };
    out->segments[0] = (PathSegment){ .key = attribute };
    return true;
}

bool attribute_path_make_list(Render *r, Value attribute, AttributePath **out, uint32_t *count)
{
    *count = 1;
    if (!check_length(r, attribute)) {
        return false;
    }
    if (attribute.kind == VALUE_STRING) {
        for (uint32_t i = 0; i < attribute.len; i++) {
            *count += attribute.text[i] == ',';
        }
    }
    AttributePath *paths = ARENA_ARRAY(r->arena, AttributePath, *count);
    *out = paths;
    if (*count == 1) {
        return attribute_path_make(r, attribute, &paths[0]);
    }
    Str rest = value_str(attribute);
    Str segment;
    for (uint32_t i = 0; str_split_next(&rest, ',', &segment); i++) {
        paths[i] = parse_path(r, segment, attribute.flags & VALUE_SECRET);
    }
    return true;
}

bool attribute_path_get(Render *r, const AttributePath *path, const Value *item, Value fallback,
                        Value *out)
{
    bool replace = fallback.kind != VALUE_NULL && !value_is_missing(fallback);
    Value temporary; /* storage for `item` if it is not a value in a map */
    for (uint32_t i = 0; i < path->count; i++) {
        PathSegment *segment = &path->segments[i];
        const MapEntry *entry = NULL;
        /* Nearly all paths look up names in maps. */
        if (LIKELY(item->kind == VALUE_MAP && segment->key.kind == VALUE_STRING)) {
            entry = map_find_near(item->map, value_str(segment->key), &segment->hint);
        }
        if (LIKELY(entry != NULL && !value_is_secret(*item))) {
            item = &entry->value;
        } else if (entry != NULL) {
            temporary = value_with_secret(entry->value);
            item = &temporary;
        } else {
            Value owner = *item;
            if (!op_get_item(r, owner, segment->key, &temporary)) {
                return false;
            }
            item = &temporary;
        }
        if (replace && item->kind == VALUE_UNDEFINED) {
            item = &fallback;
        }
    }
    *out = *item;
    return true;
}
