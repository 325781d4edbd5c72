#include "lang/edit/data_path.h"

#include "base/buf.h"

static bool add_step(DataPath *path, Value key, bool guessed, Error *err)
{
    if (path->len == DATA_PATH_MAX) {
        return error_set(err, ERROR_LIMIT, "'path' has more than %d segments", DATA_PATH_MAX);
    }
    path->steps[path->len++] = (DataSegment){ key, guessed };
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
    bool more = true;
    while (more) {
        size_t slash = str_find(rest, STR("/"), 0);
        more = slash != STR_NOT_FOUND;
        part = str_slice(rest, 0, slash);
        rest = more ? str_from_offset(rest, slash + 1) : rest;
        if (!unescape(arena, part, &key, err) || !add_step(path, value_string(key), true, err)) {
            return false;
        }
    }
    return true;
}

static bool parse_dotted(Str rest, DataPath *path, Error *err)
{
    bool more = rest.len > 0;
    while (more) {
        size_t dot = str_find(rest, STR("."), 0);
        Str part = str_slice(rest, 0, dot);
        more = dot != STR_NOT_FOUND;
        rest = more ? str_from_offset(rest, dot + 1) : rest;
        if (part.len == 0) {
            return error_set(err, ERROR_INVALID,
                             "'path' has an empty segment; use a list of keys for empty keys");
        }
        if (!add_step(path, value_string(part), true, err)) {
            return false;
        }
    }
    return true;
}

bool data_path_parse(Arena *arena, Value given, DataPath *out, Error *err)
{
    *out = (DataPath){ .steps = ARENA_ARRAY(arena, DataSegment, DATA_PATH_MAX) };
    if (given.kind == VALUE_INT) {
        return add_step(out, given, true, err);
    }
    if (value_is_string(given)) {
        Str text = value_str(given);
        return str_starts(text, STR("/")) ? parse_pointer(arena, text, out, err)
                                          : parse_dotted(text, out, err);
    }
    if (!value_is_sequence(given)) {
        return error_set(err, ERROR_INVALID,
                         "'path' must be a string such as 'server.port', or a list of keys");
    }
    for (uint32_t i = 0; i < given.list->len; i++) {
        Value key = given.list->items[i];
        if (!value_is_string(key) && key.kind != VALUE_INT) {
            return error_set(err, ERROR_INVALID,
                             "a segment of 'path' must be a key or a number, not a %s",
                             value_kind_name(key.kind));
        }
        if (!add_step(out, key, false, err)) {
            return false;
        }
    }
    return true;
}

static void put_step(Buf *out, Value key)
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
        put_step(&out, path->steps[i].key);
    }
    return len == 0 ? STR("the document") : buf_str(&out);
}

bool data_segment_is_end(const DataSegment *step)
{
    return value_is_string(step->key) && str_eq(value_str(step->key), STR("-"));
}

bool data_segment_index(const DataSegment *step, uint32_t *out)
{
    int64_t index = step->key.integer;
    if (value_is_string(step->key)) {
        Str text = value_str(step->key);
        bool plain =
            text.len > 0 && ascii_is_digit(text.data[0]) && (text.data[0] != '0' || text.len == 1);
        if (!step->guessed || !plain || !str_to_i64(text, &index)) {
            return false;
        }
    }
    if (index < 0 || index >= UINT32_MAX) {
        return false;
    }
    *out = (uint32_t)index;
    return true;
}
