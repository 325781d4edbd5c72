#include "lang/edit/data_path.h"

#include "base/buf.h"

static bool add_segment(DataPath *path, Value key, bool is_ambiguous, Error *err)
{
    if (path->len == DATA_PATH_MAX) {
        return error_set(err, ERROR_LIMIT, "'path' has more than %d segments", DATA_PATH_MAX);
    }
    path->segments[path->len++] = (DataSegment){ key, is_ambiguous };
    return true;
}

/* Decodes `~1` to '/' and `~0` to '~'. */
static bool unescape(Arena *arena, Str part, Str *out, Error *err)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; i < part.len; i++) {
        if (part.data[i] != '~') {
            buf_put_char(&text, part.data[i]);
        } else if (++i < part.len && (part.data[i] == '0' || part.data[i] == '1')) {
            buf_put_char(&text, part.data[i] == '0' ? '~' : '/');
        } else {
            return error_set(err, ERROR_INVALID, "'path': write '~0' for '~' in a JSON pointer");
        }
    }
    *out = buf_str(&text);
    return true;
}

static bool parse_pointer(Arena *arena, Str rest, DataPath *path, Error *err)
{
    Str part, key = STR_EMPTY;
    rest = str_from_offset(rest, 1);
    bool has_more = true;
    while (has_more) {
        size_t slash = str_find(rest, STR("/"), 0);
        has_more = slash != STR_NOT_FOUND;
        part = str_slice(rest, 0, slash);
        rest = has_more ? str_from_offset(rest, slash + 1) : rest;
        if (!unescape(arena, part, &key, err) || !add_segment(path, value_string(key), true, err)) {
            return false;
        }
    }
    return true;
}

static bool parse_dotted(Str rest, DataPath *path, Error *err)
{
    bool has_more = rest.len > 0;
    while (has_more) {
        size_t dot = str_find(rest, STR("."), 0);
        Str part = str_slice(rest, 0, dot);
        has_more = dot != STR_NOT_FOUND;
        rest = has_more ? str_from_offset(rest, dot + 1) : rest;
        if (part.len == 0) {
            return error_set(err, ERROR_INVALID,
                             "'path' has an empty segment; use a list of keys for empty keys");
        }
        if (!add_segment(path, value_string(part), true, err)) {
            return false;
        }
    }
    return true;
}

bool data_path_parse(Arena *arena, Value path_value, DataPath *out, Error *err)
{
    *out = (DataPath){ .segments = ARENA_ARRAY(arena, DataSegment, DATA_PATH_MAX) };
    if (path_value.kind == VALUE_INT) {
        return add_segment(out, path_value, true, err);
    }
    if (value_is_string(path_value)) {
        Str text = value_str(path_value);
        return str_starts(text, STR("/")) ? parse_pointer(arena, text, out, err)
                                          : parse_dotted(text, out, err);
    }
    if (!value_is_sequence(path_value)) {
        return error_set(err, ERROR_INVALID,
                         "'path' must be a string such as 'server.port', or a list of keys");
    }
    for (uint32_t i = 0; i < path_value.list->len; i++) {
        Value key = path_value.list->items[i];
        if (!value_is_string(key) && key.kind != VALUE_INT) {
            return error_set(err, ERROR_INVALID,
                             "a segment of 'path' must be a key or a number, not a %s",
                             value_kind_name(key.kind));
        }
        if (!add_segment(out, key, false, err)) {
            return false;
        }
    }
    return true;
}

static void put_segment(Buf *out, Value key)
{
    if (key.kind == VALUE_INT) {
        buf_put_format(out, "[%lld]", (long long)key.integer);
        return;
    }
    buf_put_c(out, out->len > 0 ? "." : "");
    buf_put(out, value_str(key));
}

Str data_path_text(Arena *arena, const DataPath *path, uint32_t len)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < len; i++) {
        put_segment(&out, path->segments[i].key);
    }
    return len == 0 ? STR("the document") : buf_str(&out);
}

bool data_segment_is_end(const DataSegment *segment)
{
    return value_is_string(segment->key) && str_eq(value_str(segment->key), STR("-"));
}

bool data_segment_index(const DataSegment *segment, uint32_t *out)
{
    int64_t index = segment->key.integer;
    if (value_is_string(segment->key)) {
        Str text = value_str(segment->key);
        bool plain =
            text.len > 0 && ascii_is_digit(text.data[0]) && (text.data[0] != '0' || text.len == 1);
        if (!segment->is_ambiguous || !plain || !str_to_i64(text, &index)) {
            return false;
        }
    }
    if (index < 0 || index >= UINT32_MAX) {
        return false;
    }
    *out = (uint32_t)index;
    return true;
}
