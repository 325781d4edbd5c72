/* Reads JSON objects into structs and prints them, driven by tables of fields. The entire object is
 * checked first (record_fields.c); only a valid object is converted, into a temporary struct that
 * is copied to `out` at the end, so that `out` is unchanged on failure. */
#include "lang/record.h"

#include <limits.h>

#include "base/bug.h"
#include "base/enum_names.h"
#include "base/json_out.h"
#include "base/utf8.h"
#include "lang/json.h"

enum {
    DEPTH_MAX = 8,
    NAME_SHOWN = 64, /* in bytes */
};

/* --- Reading into a struct ------------------------------------------------------------------- */

static bool read_fields(Arena *arena, const RecordField *fields, Value map, char *base, Error *err);

static Value empty_value(Arena *arena, RecordShape shape, RecordType type)
{
    if (shape == RECORD_MAP || (shape == RECORD_ONE && type == RECORD_OBJECT)) {
        return value_map(map_new(arena, 0));
    }
    return shape == RECORD_LIST ? value_list(list_new(arena, 0)) : value_missing();
}

static bool copy_chars(Str text, char *out, size_t size, Error *err)
{
    if (text.len >= size) {
        return error_set(err, ERROR_INVALID, "longer than the limit of %zu bytes", size - 1);
    }
    if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL) {
        return error_set(err, ERROR_INVALID, "must not contain control characters");
    }
    memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return true;
}

static bool read_int(const RecordField *field, int64_t number, char *member, Error *err)
{
    bool is_signed = field->storage == RECORD_AS_INT;
    int64_t min = !is_signed ? 0 : field->size == sizeof(int) ? INT_MIN : INT64_MIN;
    int64_t max = field->size == sizeof(int64_t)    ? INT64_MAX
                  : field->size == sizeof(uint16_t) ? UINT16_MAX
                  : is_signed                       ? INT_MAX
                                                    : UINT32_MAX;
    if (number < min || number > max) {
        return error_set(err, ERROR_INVALID, "must be from %lld to %lld", (long long)min,
                         (long long)max);
    }
    switch (field->size) {
    case sizeof(uint16_t): *(uint16_t *)member = (uint16_t)number; break;
    case sizeof(uint32_t): *(uint32_t *)member = (uint32_t)number; break;
    default: *(int64_t *)member = number; break;
    }
    return true;
}

/* `member` is the address of the member. The type of the value was already checked. */
static bool read_one(Arena *arena, const RecordField *field, Value value, char *member, Error *err)
{
    size_t number = 0;
    switch (field->storage) {
    case RECORD_AS_CHARS: return copy_chars(value_str(value), member, field->size, err);
    case RECORD_AS_STR: *(Str *)member = value_str(value); return true;
    case RECORD_AS_INT:
    case RECORD_AS_UINT: return read_int(field, value.integer, member, err);
    case RECORD_AS_BOOL: *(bool *)member = value.boolean; return true;
    case RECORD_AS_ENUM:
        enum_names_find(field->names, field->name_count, value_str(value), &number);
        *(unsigned *)member = (unsigned)number;
        return true;
    case RECORD_AS_CODED: return field->codec->read(arena, value, member, err);
    case RECORD_AS_POINTER:
        if (field->fields == NULL) {
            *(Str *)member = value_str(value);
            return true;
        }
        return read_fields(arena, field->fields, value, member, err);
    case RECORD_AS_STRUCT: return read_fields(arena, field->fields, value, member, err);
    default: BUG("field without storage");
    }
}

static bool read_array(Arena *arena, const RecordField *field, Value list, char *base, Error *err)
{
    if (list.list->len > field->capacity) {
        return error_set(err, ERROR_INVALID, "has %u items; at most %u are allowed", list.list->len,
                         field->capacity);
    }
    char *items = base + field->offset;
    if (field->storage == RECORD_AS_POINTER) {
        items = arena_alloc_array(arena, list.list->len, field->size);
        memset(items, 0, list.list->len * field->size);
        *(void **)(base + field->offset) = items;
    }
    for (uint32_t i = 0; i < list.list->len; i++) {
        if (!read_one(arena, field, list.list->items[i], items + i * field->size, err)) {
            return error_wrap(err, "item %u", i + 1);
        }
    }
    *(uint32_t *)(base + field->count_offset) = list.list->len;
    return true;
}

static bool is_array(const RecordField *field)
{
    return field->shape == RECORD_LIST && field->storage != RECORD_AS_VALUE &&
           (field->storage != RECORD_AS_CODED || field->capacity > 0);
}

static void collect_unknown(Arena *arena, const RecordField *fields, Value map, Value *out)
{
    Map *unknown = map_new(arena, 0);
    for (uint32_t i = 0; i < map.map->len; i++) {
        const MapEntry *entry = &map.map->entries[i];
        if (fields_find(fields, value_str(entry->key)) == NULL &&
            !str_eq(value_str(entry->key), STR("format"))) {
            map_set_str(arena, unknown, value_str(entry->key), entry->value);
        }
    }
    *out = value_map(unknown);
}

static bool read_fields(Arena *arena, const RecordField *fields, Value map, char *base, Error *err)
{
    for (const RecordField *field = fields; field->name != NULL; field++) {
        const Value *value = value_get(map, str_from_c(field->name));
        bool ok = true, is_present = value != NULL && value->kind != VALUE_NULL;
        if (field->storage == RECORD_AS_UNKNOWN) {
            collect_unknown(arena, fields, map, (Value *)(base + field->offset));
        } else if (field->storage == RECORD_AS_VALUE) {
            *(Value *)(base + field->offset) =
                is_present ? *value : empty_value(arena, field->shape, field->type);
        } else if (is_present && is_array(field)) {
            ok = read_array(arena, field, *value, base, err);
        } else if (is_present) {
            ok = read_one(arena, field, *value, base + field->offset, err);
        }
        if (!ok) {
            return error_wrap(err, "'%s'", field->name);
        }
    }
    return true;
}

/* The line of the field at a pointer, in the text that the object was parsed from; 0 if not
 * found. */
static uint32_t find_line(Value object, Str text, Str pointer)
{
    Str rest = str_from_offset(pointer, 1), name;
    uint32_t start = 0, line = 1;
    while (str_split_next(&rest, '/', &name)) {
        const MapEntry *entry =
            object.kind == VALUE_MAP ? map_find(object.map, value_string(name)) : NULL;
        if (entry == NULL) {
            break; /* an item of a list is reported at the start of its list */
        }
        start = entry->key.start;
        object = entry->value;
    }
    for (uint32_t i = 0; i < start; i++) {
        line += text.data[i] == '\n';
    }
    return start == 0 || object.kind == VALUE_MAP ? 0 : line;
}

/* Quotes only names that cannot inject terminal escapes. */
static bool fail_problem(const FieldProblem *problem, uint32_t line, Error *err)
{
    Str pointer = str_from_offset(problem->pointer, 1);
    bool shown = pointer.len <= NAME_SHOWN && utf8_is_plain(pointer);
    error_set(err, ERROR_INVALID, "'%" STR_FMT "': %" STR_FMT, STR_ARG(shown ? pointer : STR("?")),
              STR_ARG(problem->text));
    return line == 0 ? false : error_wrap(err, "line %u", line);
}

static bool check_format(const RecordFormat *format, Value object, Error *err)
{
    const Value *format_value = value_get(object, STR("format"));
    if (format->format == NULL) {
        return true;
    }
    if (format_value == NULL || !value_is_string(*format_value)) {
        return error_set(err, ERROR_INVALID, "'format' is missing; expected '%s'", format->format);
    }
    Str text = value_str(*format_value);
    if (str_eq_c(text, format->format)) {
        return true;
    }
    bool shown = text.len <= NAME_SHOWN && utf8_is_plain(text);
    return error_set(err, ERROR_INVALID, "format '%" STR_FMT "' is not supported; expected '%s'",
                     STR_ARG(shown ? text : STR("?")), format->format);
}

/* `text` is what the object was parsed from; empty if it is unknown or a single line. */
static bool read_object(const RecordFormat *format, Arena *arena, Value object, Str text,
                        RecordOrigin origin, void *out, Error *err)
{
    FieldProblems problems = { .count = 0 };
    void *record = arena_alloc(arena, format->size);
    memset(record, 0, format->size);
    if (object.kind != VALUE_MAP) {
        error_set(err, ERROR_INVALID, "must be an object");
        return error_wrap(err, "%s", format->what);
    }
    record_check(arena, format, object, origin, &problems);
    bool ok = check_format(format, object, err) &&
              (problems.count == 0 ||
               fail_problem(&problems.items[0],
                            text.len == 0 ? 0 : find_line(object, text, problems.items[0].pointer),
                            err)) &&
              read_fields(arena, format->fields, object, record, err) &&
              (format->check == NULL || format->check(record, err));
    if (!ok) {
        return error_wrap(err, "%s", format->what);
    }
    memcpy(out, record, format->size);
    return true;
}

bool record_from_value(const RecordFormat *format, Arena *arena, Value object, RecordOrigin origin,
                       void *out, Error *err)
{
    return read_object(format, arena, object, STR_EMPTY, origin, out, err);
}

bool record_read(const RecordFormat *format, Arena *arena, Str text, RecordOrigin origin, void *out,
                 Error *err)
{
    const JsonOptions options = {
        .limits = { .size = format->text_max,
                    .depth = DEPTH_MAX,
                    .nodes = format->values_max > 0 ? format->values_max : format->text_max }
    };
    Value object;
    if (!json_parse_text(arena, text, &options, &object, err)) {
        return error_wrap(err, "%s", format->what);
    }
    bool has_lines = origin == RECORD_EXTERNAL && str_find(text, STR("\n"), 0) != STR_NOT_FOUND;
    return read_object(format, arena, object, has_lines ? text : STR_EMPTY, origin, out, err);
}

/* --- Printing -------------------------------------------------------------------------------- */

static void print_fields(const RecordField *fields, const char *base, Buf *out);

static void print_value(Buf *out, const RecordField *field, Value value)
{
    Error err;
    if (value.kind == VALUE_UNDEFINED) {
        bool is_map = field->shape == RECORD_MAP || field->type == RECORD_OBJECT;
        buf_put_c(out, field->shape == RECORD_LIST ? "[]" : is_map ? "{}" : "null");
        return;
    }
    bool printed = json_print(out, value, NULL, &err);
    BUG_IF(!printed); /* parsed from JSON, or created for printing */
}

static int64_t int_at(const RecordField *field, const char *member)
{
    switch (field->size) {
    case sizeof(uint16_t): return *(const uint16_t *)member;
    case sizeof(uint32_t):
        return field->storage == RECORD_AS_INT ? *(const int *)member
                                               : (int64_t) * (const uint32_t *)member;
    default: return *(const int64_t *)member;
    }
}

static void print_one(const RecordField *field, const char *member, Buf *out)
{
    const char *name;
    switch (field->storage) {
    case RECORD_AS_CHARS: json_text_put(out, str_from_c(member)); break;
    case RECORD_AS_STR: json_text_put(out, *(const Str *)member); break;
    case RECORD_AS_INT:
    case RECORD_AS_UINT: buf_put_i64(out, int_at(field, member)); break;
    case RECORD_AS_BOOL: buf_put_c(out, *(const bool *)member ? "true" : "false"); break;
    case RECORD_AS_VALUE: print_value(out, field, *(const Value *)member); break;
    case RECORD_AS_ENUM:
        name =
            enum_names_get(field->names, field->name_count, *(const unsigned *)member, field->name);
        json_text_put(out, str_from_c(name));
        break;
    case RECORD_AS_CODED: field->codec->print(member, out); break;
    case RECORD_AS_STRUCT:
    case RECORD_AS_POINTER:
        if (field->fields == NULL) {
            json_text_put(out, *(const Str *)member);
            break;
        }
        buf_put_char(out, '{');
        print_fields(field->fields, member, out);
        buf_put_char(out, '}');
        break;
    default: BUG("field without storage");
    }
}

static bool is_empty_value(Value value)
{
    switch (value.kind) {
    case VALUE_MAP: return value.map->len == 0;
    case VALUE_LIST: return value.list->len == 0;
    case VALUE_STRING: return value.len == 0;
    default: return value.kind == VALUE_UNDEFINED || value.kind == VALUE_NULL;
    }
}

/* A struct is empty if all its fields are. */
static bool is_empty(const RecordField *field, const char *base)
{
    const char *member = base + field->offset;
    bool empty = true;
    if (is_array(field)) {
        return *(const uint32_t *)(base + field->count_offset) == 0;
    }
    switch (field->storage) {
    case RECORD_AS_CHARS: return member[0] == '\0';
    case RECORD_AS_STR: return ((const Str *)member)->len == 0;
    case RECORD_AS_INT:
    case RECORD_AS_UINT: return int_at(field, member) == 0;
    case RECORD_AS_BOOL: return !*(const bool *)member;
    case RECORD_AS_ENUM: return *(const unsigned *)member == 0;
    case RECORD_AS_VALUE: return is_empty_value(*(const Value *)member);
    case RECORD_AS_CODED: return field->codec->is_empty != NULL && field->codec->is_empty(member);
    case RECORD_AS_UNKNOWN: return is_empty_value(*(const Value *)member);
    case RECORD_AS_STRUCT:
        for (const RecordField *one = field->fields; empty && one->name != NULL; one++) {
            empty = is_empty(one, member);
        }
        return empty;
    default: return false;
    }
}

static void print_array(const RecordField *field, const char *base, Buf *out)
{
    uint32_t count = *(const uint32_t *)(base + field->count_offset);
    const char *items = base + field->offset;
    if (field->storage == RECORD_AS_POINTER) {
        items = *(const char *const *)items;
    }
    BUG_IF(count > field->capacity);
    buf_put_char(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        buf_put_c(out, i > 0 ? "," : "");
        print_one(field, items + i * field->size, out);
    }
    buf_put_char(out, ']');
}

static void print_unknown(Value unknown, Buf *out)
{
    for (uint32_t i = 0; unknown.kind == VALUE_MAP && i < unknown.map->len; i++) {
        const MapEntry *entry = &unknown.map->entries[i];
        json_out_item(out, value_str(entry->key));
        buf_put_char(out, ':');
        print_value(out, NULL, entry->value);
    }
}

static void print_fields(const RecordField *fields, const char *base, Buf *out)
{
    for (const RecordField *field = fields; field->name != NULL; field++) {
        if (field->storage == RECORD_AS_UNKNOWN) {
            print_unknown(*(const Value *)(base + field->offset), out);
            continue;
        }
        if (!field->is_required && !field->is_printed && is_empty(field, base)) {
            continue;
        }
        json_out_name(out, field->name);
        if (is_array(field)) {
            print_array(field, base, out);
        } else {
            print_one(field, base + field->offset, out);
        }
    }
}

void record_print(const RecordFormat *format, const void *record, Buf *out)
{
    buf_put_char(out, '{');
    if (format->format != NULL) {
        json_out_text(out, "format", str_from_c(format->format));
    }
    print_fields(format->fields, record, out);
    buf_put_char(out, '}');
}

void record_print_file(const RecordFormat *format, const void *record, Buf *out)
{
    const JsonStyle style = { .lines = true, .indent = 2 };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Buf text = buf_make_in(&arena, BUF_UNLIMITED);
    Value value;
    Error err;
    record_print(format, record, &text);
    bool printed = json_parse_text(&arena, buf_str(&text), NULL, &value, &err) &&
                   (json_print(out, value, &style, &err) || out->overflow);
    BUG_IF(!printed);
    buf_put_char(out, '\n');
}
