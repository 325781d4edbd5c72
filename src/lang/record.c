#include "lang/record.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/bug.h"
#include "base/enum_names.h"
#include "base/json_out.h"
#include "base/json_text.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "lang/duration.h"
#include "lang/json.h"

enum {
    DEPTH_MAX = 8,
    NAME_SHOWN = 64, /* bytes */
};

/* --- Checking -------------------------------------------------------------------------------- */

FieldProblem *field_problem(Arena *arena, FieldProblems *problems, Str pointer, const char *format,
                            ...)
{
    FieldProblem *problem = problems->count < FIELD_PROBLEMS_MAX
                                ? &problems->items[problems->count++]
                                : &problems->scratch;
    va_list args;
    va_start(args, format);
    *problem = (FieldProblem){ .pointer = pointer, .text = arena_format_v(arena, format, args) };
    va_end(args);
    return problem;
}

bool field_is_told(const FieldProblems *problems, Str pointer)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        Str other = problems->items[i].pointer;
        if (str_starts(other, pointer) &&
            (other.len == pointer.len || other.data[pointer.len] == '/')) {
            return true;
        }
    }
    return false;
}

/* RFC 6901: "~" and "/" in a name are written "~0" and "~1". */
Str field_below(Arena *arena, Str pointer, Str name)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    buf_put(&text, pointer);
    buf_put_char(&text, '/');
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] == '~' || name.data[i] == '/') {
            buf_put_c(&text, name.data[i] == '~' ? "~0" : "~1");
        } else {
            buf_put_char(&text, name.data[i]);
        }
    }
    return buf_str(&text);
}

static bool is_choice(const char *choices, Str text)
{
    Str rest = str_from_c(choices), word;
    while (str_split_next(&rest, '|', &word)) {
        if (str_eq(word, text)) {
            return true;
        }
    }
    return false;
}

/* What the choices are, with '|' between them. */
static const char *choices_of(Arena *arena, const RecordField *field)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; i < field->name_count; i++) {
        buf_put_c(&text, i > 0 ? "|" : "");
        buf_put_c(&text, field->names[i]);
    }
    buf_put_char(&text, '\0');
    return field->names == NULL ? field->choices : buf_str(&text).data;
}

static bool is_one(const RecordField *field, Str text)
{
    size_t value;
    return field->names == NULL ? is_choice(field->choices, text)
                                : enum_names_find(field->names, field->name_count, text, &value);
}

static Str nearest_choice(Arena *arena, const char *choices, Str text)
{
    Suggest suggest = suggest_make(text);
    Str rest = str_from_c(choices), word;
    while (str_split_next(&rest, '|', &word)) {
        suggest_offer(&suggest, word);
    }
    return suggest_found(&suggest, &word)
               ? arena_format(arena, "; did you mean '%" STR_FMT "'?", STR_ARG(word))
               : STR_EMPTY;
}

/* Where a check is: the pointer is written only when something is wrong. */
typedef struct Path {
    const struct Path *parent; /* NULL: `name` is a whole pointer */
    Str name;
} Path;

typedef struct Check {
    Arena *arena;
    bool is_strict;  /* unknown fields are problems */
    bool has_format; /* a field "format" beside the others, at the top */
    FieldProblems *problems;
} Check;

static Str path_pointer(Arena *arena, const Path *path)
{
    return path->parent == NULL ? path->name
                                : field_below(arena, path_pointer(arena, path->parent), path->name);
}

#define TELL(check, path, ...)                                                           \
    field_problem((check)->arena, (check)->problems, path_pointer((check)->arena, path), \
                  __VA_ARGS__)

static void check_duration(const Check *check, const RecordField *field, Str text, const Path *path)
{
    int64_t ms;
    if (!duration_parse(text, &ms)) {
        TELL(check, path, "must be a span of time as '90m' or '7d'");
    } else if (field->max > 0 && (ms < field->min || ms > field->max)) {
        Buf bounds = buf_make_in(check->arena, BUF_UNLIMITED);
        duration_put(&bounds, field->min);
        buf_put_c(&bounds, " to ");
        duration_put(&bounds, field->max);
        TELL(check, path, "must be from %" STR_FMT, STR_ARG(buf_str(&bounds)));
    }
}

static void check_text(const Check *check, const RecordField *field, Str text, const Path *path)
{
    Error err;
    if (field->type == RECORD_DURATION) {
        check_duration(check, field, text, path);
    } else if (field->max > 0 && (int64_t)text.len > field->max) {
        TELL(check, path, "longer than the %lld bytes that it may have", (long long)field->max);
    } else if ((int64_t)text.len < field->min) {
        TELL(check, path, "must not be empty");
    } else if (field->type == RECORD_CHOICE && !is_one(field, text)) {
        const char *choices = choices_of(check->arena, field);
        Str near = nearest_choice(check->arena, choices, text);
        TELL(check, path, "must be one of %s%" STR_FMT, choices, STR_ARG(near));
    } else if (field->is_plain && !utf8_is_plain(text)) {
        TELL(check, path, "must have no control characters");
    } else if (field->check_text != NULL && !field->check_text(text, &err)) {
        TELL(check, path, "%s", err.text);
    }
}

static const char *type_text(const RecordField *field)
{
    static const char *const texts[] = {
        [RECORD_TEXT] = "a text",
        [RECORD_CHOICE] = "a text",
        [RECORD_DURATION] = "a span of time as '90m'",
        [RECORD_TIME] = "a moment as '2026-01-31T08:15:30Z'",
        [RECORD_INT] = "a whole number",
        [RECORD_BOOL] = "true or false",
        [RECORD_SELECTOR] = "a selector as 'role=web'",
        [RECORD_OBJECT] = "an object",
        [RECORD_ANY] = "anything",
    };
    return texts[field->type];
}

static bool fits_type(const RecordField *field, Value value)
{
    switch (field->type) {
    case RECORD_INT: return value.kind == VALUE_INT;
    case RECORD_BOOL: return value.kind == VALUE_BOOL;
    case RECORD_OBJECT: return value.kind == VALUE_MAP;
    case RECORD_ANY: return true;
    default: return value_is_string(value);
    }
}

static void check_fields(const Check *check, const RecordField *fields, Value map,
                         const Path *path);

static void check_one(const Check *check, const RecordField *field, Value value, const Path *path)
{
    if (!fits_type(field, value)) {
        TELL(check, path, "must be %s", type_text(field));
    } else if (value_is_string(value)) {
        check_text(check, field, value_str(value), path);
    } else if (field->type == RECORD_INT && (field->min != 0 || field->max != 0) &&
               (value.integer < field->min || value.integer > field->max)) {
        TELL(check, path, "must be from %lld to %lld", (long long)field->min,
             (long long)field->max);
    } else if (field->type == RECORD_OBJECT && field->fields != NULL) {
        check_fields(check, field->fields, value, path);
    }
}

static void check_list(const Check *check, const RecordField *field, Value value, const Path *path)
{
    char number[16];
    if (value.kind != VALUE_LIST) {
        TELL(check, path, "must be a list, of %s each", type_text(field));
        return;
    }
    for (uint32_t i = 0; i < value.list->len; i++) {
        snprintf(number, sizeof number, "%u", i);
        check_one(check, field, value.list->items[i], &(Path){ path, str_from_c(number) });
    }
}

static void check_map(const Check *check, const RecordField *field, Value value, const Path *path)
{
    if (value.kind != VALUE_MAP) {
        TELL(check, path, "must be an object, of %s each", type_text(field));
        return;
    }
    for (uint32_t i = 0; i < value.map->len; i++) {
        const MapEntry *entry = &value.map->entries[i];
        check_one(check, field, entry->value, &(Path){ path, value_str(entry->key) });
    }
}

const RecordField *fields_find(const RecordField *fields, Str name)
{
    for (; fields != NULL && fields->name != NULL; fields++) {
        if (fields->place != RECORD_AS_UNKNOWN && str_eq_c(name, fields->name)) {
            return fields;
        }
    }
    return NULL;
}

void fields_tell_unknown(Arena *arena, const RecordField *fields, Str name, Str pointer,
                         FieldProblems *problems)
{
    Suggest suggest = suggest_make(name);
    Str near;
    for (; fields != NULL && fields->name != NULL; fields++) {
        suggest_offer(&suggest, str_from_c(fields->name));
    }
    if (suggest_found(&suggest, &near)) {
        field_problem(arena, problems, pointer,
                      "there is no such field; did you mean '%" STR_FMT "'?", STR_ARG(near))
            ->is_name = true;
    } else {
        field_problem(arena, problems, pointer, "there is no such field")->is_name = true;
    }
}

static void check_present(const Check *check, const RecordField *field, Value value,
                          const Path *path)
{
    if (field->shape == RECORD_LIST) {
        check_list(check, field, value, path);
    } else if (field->shape == RECORD_MAP) {
        check_map(check, field, value, path);
    } else {
        check_one(check, field, value, path);
    }
}

static bool is_format(const Check *check, const Path *path)
{
    return check->has_format && path->parent->parent == NULL && str_eq_c(path->name, "format");
}

static void check_fields(const Check *check, const RecordField *fields, Value map, const Path *path)
{
    for (uint32_t i = 0; i < map.map->len; i++) {
        const MapEntry *entry = &map.map->entries[i];
        Str name = value_str(entry->key);
        const RecordField *field = fields_find(fields, name);
        Path below = { path, name };
        if (field != NULL && entry->value.kind != VALUE_NULL) {
            check_present(check, field, entry->value, &below);
        } else if (field == NULL && check->is_strict && !is_format(check, &below)) {
            fields_tell_unknown(check->arena, fields, name, path_pointer(check->arena, &below),
                                check->problems);
        }
    }
    for (const RecordField *field = fields; field != NULL && field->name != NULL; field++) {
        const Value *value = value_get(map, str_from_c(field->name));
        if (field->is_required && (value == NULL || value->kind == VALUE_NULL)) {
            TELL(check, (&(Path){ path, str_from_c(field->name) }), "is missing");
        }
    }
}

void fields_check(Arena *arena, const RecordField *fields, Value map, Str pointer,
                  FieldProblems *problems)
{
    Check check = { .arena = arena, .is_strict = true, .problems = problems };
    check_fields(&check, fields, map, &(Path){ NULL, pointer });
}

/* --- Describing ------------------------------------------------------------------------------ */

static void put_choices(Buf *out, const RecordField *field)
{
    Str rest = field->names == NULL ? str_from_c(field->choices) : STR_EMPTY, word;
    json_out_open(out, "enum", '[');
    for (size_t i = 0; i < field->name_count; i++) {
        json_out_item(out, str_from_c(field->names[i]));
    }
    while (str_split_next(&rest, '|', &word)) {
        json_out_item(out, word);
    }
    json_out_close(out, ']');
}

static void put_text_schema(Buf *out, const RecordField *field)
{
    json_out_text(out, "type", STR("string"));
    if (field->type == RECORD_CHOICE) {
        put_choices(out, field);
    }
    if (field->type == RECORD_TIME) {
        json_out_text(out, "format", STR("date-time"));
    }
    if (field->min > 0 && field->type != RECORD_DURATION) {
        json_out_int(out, "minLength", field->min);
    }
    if (field->max > 0 && field->type != RECORD_DURATION) {
        json_out_int(out, "maxLength", field->max);
    }
    if (field->is_plain) {
        json_out_text(out, "pattern", STR("^[^\\x00-\\x1f\\x7f]*$"));
    }
}

/* What it is, without the bracket around it. */
static void put_one_schema(Buf *out, const RecordField *field)
{
    switch (field->type) {
    case RECORD_INT:
        json_out_text(out, "type", STR("integer"));
        json_out_text(out, "format", STR("int64"));
        if (field->max > 0) {
            json_out_int(out, "minimum", field->min);
            json_out_int(out, "maximum", field->max);
        }
        break;
    case RECORD_BOOL: json_out_text(out, "type", STR("boolean")); break;
    case RECORD_OBJECT: fields_schema(out, field->fields); break;
    case RECORD_ANY: break;
    default: put_text_schema(out, field); break;
    }
}

static void put_schema(Buf *out, const RecordField *field)
{
    if (field->shape == RECORD_LIST) {
        json_out_text(out, "type", STR("array"));
        json_out_open(out, "items", '{');
        put_one_schema(out, field);
        json_out_close(out, '}');
    } else if (field->shape == RECORD_MAP) {
        json_out_text(out, "type", STR("object"));
        json_out_open(out, "additionalProperties", '{');
        put_one_schema(out, field);
        json_out_close(out, '}');
    } else {
        put_one_schema(out, field);
    }
    if (field->is_nullable) {
        json_out_bool(out, "nullable", true);
    }
    json_out_text(out, "description", str_from_c(field->help));
}

static void put_required(Buf *out, const RecordField *fields)
{
    bool any = false;
    for (const RecordField *field = fields; field->name != NULL; field++) {
        any = any || field->is_required;
    }
    if (!any) {
        return;
    }
    json_out_open(out, "required", '[');
    for (const RecordField *field = fields; field->name != NULL; field++) {
        if (field->is_required) {
            json_out_item(out, str_from_c(field->name));
        }
    }
    json_out_close(out, ']');
}

void fields_schema(Buf *out, const RecordField *fields)
{
    json_out_text(out, "type", STR("object"));
    if (fields == NULL) {
        return;
    }
    json_out_open(out, "properties", '{');
    for (const RecordField *field = fields; field->name != NULL; field++) {
        if (field->place != RECORD_AS_UNKNOWN) {
            json_out_open(out, field->name, '{');
            put_schema(out, field);
            json_out_close(out, '}');
        }
    }
    json_out_close(out, '}');
    put_required(out, fields);
}

/* --- Into a struct --------------------------------------------------------------------------- */

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
        return error_set(err, ERROR_INVALID, "longer than the %zu bytes that it may have",
                         size - 1);
    }
    if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL) {
        return error_set(err, ERROR_INVALID, "must have no control characters");
    }
    memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return true;
}

static bool read_int(const RecordField *field, int64_t number, char *at, Error *err)
{
    bool is_signed = field->place == RECORD_AS_INT;
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
    case sizeof(uint16_t): *(uint16_t *)at = (uint16_t)number; break;
    case sizeof(uint32_t): *(uint32_t *)at = (uint32_t)number; break;
    default: *(int64_t *)at = number; break;
    }
    return true;
}

/* `at` is where the member lies. That the value is of the type was checked. */
static bool read_one(Arena *arena, const RecordField *field, Value value, char *at, Error *err)
{
    size_t number = 0;
    switch (field->place) {
    case RECORD_AS_CHARS: return copy_chars(value_str(value), at, field->size, err);
    case RECORD_AS_STR: *(Str *)at = value_str(value); return true;
    case RECORD_AS_INT:
    case RECORD_AS_UINT: return read_int(field, value.integer, at, err);
    case RECORD_AS_BOOL: *(bool *)at = value.boolean; return true;
    case RECORD_AS_ENUM:
        enum_names_find(field->names, field->name_count, value_str(value), &number);
        *(unsigned *)at = (unsigned)number;
        return true;
    case RECORD_AS_CODED: return field->codec->read(arena, value, at, err);
    case RECORD_AS_STRUCT:
    case RECORD_AS_POINTER: return read_fields(arena, field->fields, value, at, err);
    default: BUG("a field without a place");
    }
}

static bool read_array(Arena *arena, const RecordField *field, Value list, char *base, Error *err)
{
    if (list.list->len > field->capacity) {
        return error_set(err, ERROR_INVALID, "has %u items; at most %u are allowed", list.list->len,
                         field->capacity);
    }
    char *items = base + field->offset;
    if (field->place == RECORD_AS_POINTER) {
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
    return field->shape == RECORD_LIST && field->place != RECORD_AS_VALUE &&
           field->place != RECORD_AS_CODED;
}

static void keep_unknown(Arena *arena, const RecordField *fields, Value map, Value *out)
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
        bool ok = true;
        if (field->place == RECORD_AS_UNKNOWN) {
            keep_unknown(arena, fields, map, (Value *)(base + field->offset));
        } else if (field->place == RECORD_AS_VALUE) {
            *(Value *)(base + field->offset) =
                value != NULL ? *value : empty_value(arena, field->shape, field->type);
        } else if (value != NULL && value->kind != VALUE_NULL && is_array(field)) {
            ok = read_array(arena, field, *value, base, err);
        } else if (value != NULL && value->kind != VALUE_NULL) {
            ok = read_one(arena, field, *value, base + field->offset, err);
        }
        if (!ok) {
            return error_wrap(err, "'%s'", field->name);
        }
    }
    return true;
}

/* Only what cannot play tricks with a terminal is repeated. */
static bool fail_problem(const FieldProblem *problem, Error *err)
{
    Str pointer = str_from_offset(problem->pointer, 1);
    bool shown = pointer.len <= NAME_SHOWN && utf8_is_plain(pointer);
    return error_set(err, ERROR_INVALID, "'%" STR_FMT "': %" STR_FMT,
                     STR_ARG(shown ? pointer : STR("?")), STR_ARG(problem->text));
}

static bool check_format(const RecordFormat *format, Value object, Error *err)
{
    const Value *said = value_get(object, STR("format"));
    if (format->format == NULL) {
        return true;
    }
    if (said == NULL || !value_is_string(*said)) {
        return error_set(err, ERROR_INVALID, "'format' is missing; expected '%s'", format->format);
    }
    Str text = value_str(*said);
    if (str_eq_c(text, format->format)) {
        return true;
    }
    bool shown = text.len <= NAME_SHOWN && utf8_is_plain(text);
    return error_set(err, ERROR_INVALID, "format '%" STR_FMT "' is not supported; expected '%s'",
                     STR_ARG(shown ? text : STR("?")), format->format);
}

bool record_from_value(const RecordFormat *format, Arena *arena, Value object, RecordOrigin origin,
                       void *out, Error *err)
{
    FieldProblems problems = { .count = 0 };
    void *record = arena_alloc(arena, format->size);
    memset(record, 0, format->size);
    if (object.kind != VALUE_MAP) {
        error_set(err, ERROR_INVALID, "must be an object");
        return error_wrap(err, "%s", format->what);
    }
    Check check = { .arena = arena,
                    .is_strict = origin == RECORD_OUTSIDE,
                    .has_format = format->format != NULL,
                    .problems = &problems };
    check_fields(&check, format->fields, object, &(Path){ NULL, STR_EMPTY });
    bool ok = check_format(format, object, err) &&
              (problems.count == 0 || fail_problem(&problems.items[0], err)) &&
              read_fields(arena, format->fields, object, record, err) &&
              (format->check == NULL || format->check(record, err));
    if (!ok) {
        return error_wrap(err, "%s", format->what);
    }
    memcpy(out, record, format->size);
    return true;
}

bool record_read(const RecordFormat *format, Arena *arena, Str text, RecordOrigin origin, void *out,
                 Error *err)
{
    const JsonOptions options = {
        .limits = { .size = format->text_max, .depth = DEPTH_MAX, .nodes = format->text_max }
    };
    Value object;
    if (!json_parse_text(arena, text, &options, &object, err)) {
        return error_wrap(err, "%s", format->what);
    }
    return record_from_value(format, arena, object, origin, out, err);
}

/* --- As text --------------------------------------------------------------------------------- */

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
    BUG_IF(!printed); /* it was read from JSON, or made to be printed */
}

static int64_t int_at(const RecordField *field, const char *at)
{
    switch (field->size) {
    case sizeof(uint16_t): return *(const uint16_t *)at;
    case sizeof(uint32_t):
        return field->place == RECORD_AS_INT ? *(const int *)at : (int64_t) * (const uint32_t *)at;
    default: return *(const int64_t *)at;
    }
}

static void print_one(const RecordField *field, const char *at, Buf *out)
{
    const char *name;
    switch (field->place) {
    case RECORD_AS_CHARS: json_text_put(out, str_from_c(at)); break;
    case RECORD_AS_STR: json_text_put(out, *(const Str *)at); break;
    case RECORD_AS_INT:
    case RECORD_AS_UINT: buf_put_i64(out, int_at(field, at)); break;
    case RECORD_AS_BOOL: buf_put_c(out, *(const bool *)at ? "true" : "false"); break;
    case RECORD_AS_VALUE: print_value(out, field, *(const Value *)at); break;
    case RECORD_AS_ENUM:
        name = enum_names_get(field->names, field->name_count, *(const unsigned *)at, field->name);
        json_text_put(out, str_from_c(name));
        break;
    case RECORD_AS_CODED: field->codec->print(at, out); break;
    case RECORD_AS_STRUCT:
    case RECORD_AS_POINTER:
        buf_put_char(out, '{');
        print_fields(field->fields, at, out);
        buf_put_char(out, '}');
        break;
    default: BUG("a field without a place");
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

static bool is_empty(const RecordField *field, const char *base)
{
    const char *at = base + field->offset;
    if (is_array(field)) {
        return *(const uint32_t *)(base + field->count_offset) == 0;
    }
    switch (field->place) {
    case RECORD_AS_CHARS: return at[0] == '\0';
    case RECORD_AS_STR: return ((const Str *)at)->len == 0;
    case RECORD_AS_INT:
    case RECORD_AS_UINT: return int_at(field, at) == 0;
    case RECORD_AS_BOOL: return !*(const bool *)at;
    case RECORD_AS_ENUM: return *(const unsigned *)at == 0;
    case RECORD_AS_VALUE: return is_empty_value(*(const Value *)at);
    default: return false;
    }
}

static void print_array(const RecordField *field, const char *base, Buf *out)
{
    uint32_t count = *(const uint32_t *)(base + field->count_offset);
    const char *items = base + field->offset;
    if (field->place == RECORD_AS_POINTER) {
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
        if (field->place == RECORD_AS_UNKNOWN) {
            print_unknown(*(const Value *)(base + field->offset), out);
            continue;
        }
        if (!field->is_required && is_empty(field, base)) {
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
