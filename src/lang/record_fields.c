/* Checks values against tables of fields, and prints a table as JSON Schema. */
#include <stdarg.h>
#include <stdio.h>

#include "base/enum_names.h"
#include "base/json_out.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "lang/duration.h"
#include "lang/record.h"

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

bool field_has_problem(const FieldProblems *problems, Str pointer)
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

/* The choices, separated by '|'. */
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

static bool is_allowed(const RecordField *field, Str text)
{
    size_t value;
    return field->names == NULL ? is_choice(field->choices, text)
                                : enum_names_find(field->names, field->name_count, text, &value);
}

static Str suggest_choice(Arena *arena, const char *choices, Str text)
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

/* The location of a check: the pointer is formatted only if there is a problem. */
typedef struct Path {
    const struct Path *parent; /* NULL: `name` is a complete pointer */
    Str name;
} Path;

typedef struct Check {
    Arena *arena;
    bool is_strict, has_format;
    FieldProblems *problems;
} Check;

static Str path_pointer(Arena *arena, const Path *path)
{
    return path->parent == NULL ? path->name
                                : field_below(arena, path_pointer(arena, path->parent), path->name);
}

#define REPORT(check, path, ...)                                                         \
    field_problem((check)->arena, (check)->problems, path_pointer((check)->arena, path), \
                  __VA_ARGS__)

static void check_duration(const Check *check, const RecordField *field, Str text, const Path *path)
{
    int64_t ms;
    if (!duration_parse(text, &ms)) {
        REPORT(check, path, "must be a duration, such as '90m' or '7d'");
    } else if (field->max > 0 && (ms < field->min || ms > field->max)) {
        Buf bounds = buf_make_in(check->arena, BUF_UNLIMITED);
        duration_put(&bounds, field->min);
        buf_put_c(&bounds, " to ");
        duration_put(&bounds, field->max);
        REPORT(check, path, "must be from %" STR_FMT, STR_ARG(buf_str(&bounds)));
    }
}

static void check_text(const Check *check, const RecordField *field, Str text, const Path *path)
{
    Error err;
    if (field->type == RECORD_DURATION) {
        check_duration(check, field, text, path);
    } else if (field->max > 0 && (int64_t)text.len > field->max) {
        REPORT(check, path, "longer than the limit of %lld bytes", (long long)field->max);
    } else if (text.len == 0 && field->min > 0) {
        REPORT(check, path, "must not be empty");
    } else if ((int64_t)text.len < field->min) {
        REPORT(check, path, "shorter than the minimum of %lld bytes", (long long)field->min);
    } else if (field->type == RECORD_CHOICE && !is_allowed(field, text)) {
        const char *choices = choices_of(check->arena, field);
        Str suggestion = suggest_choice(check->arena, choices, text);
        REPORT(check, path, "must be one of %s%" STR_FMT, choices, STR_ARG(suggestion));
    } else if (field->is_plain && !utf8_is_plain(text)) {
        REPORT(check, path, "must not contain control characters");
    } else if (field->check_text != NULL && !field->check_text(text, &err)) {
        REPORT(check, path, "%s", err.text);
    }
}

static const char *type_text(const RecordField *field)
{
    static const char *const texts[] = {
        [RECORD_TEXT] = "a string",
        [RECORD_CHOICE] = "a string",
        [RECORD_DURATION] = "a duration, such as '90m'",
        [RECORD_TIME] = "a time, such as '2026-01-31T08:15:30Z'",
        [RECORD_INT] = "an integer",
        [RECORD_BOOL] = "true or false",
        [RECORD_SELECTOR] = "a selector, such as 'role=web'",
        [RECORD_OBJECT] = "an object",
        [RECORD_ANY] = "any value",
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
        REPORT(check, path, "must be %s", type_text(field));
    } else if (value_is_string(value)) {
        check_text(check, field, value_str(value), path);
    } else if (field->type == RECORD_INT && (field->min != 0 || field->max != 0) &&
               (value.integer < field->min || value.integer > field->max)) {
        REPORT(check, path, "must be from %lld to %lld", (long long)field->min,
               (long long)field->max);
    } else if (field->type == RECORD_OBJECT && field->fields != NULL) {
        check_fields(check, field->fields, value, path);
    }
}

static void check_list(const Check *check, const RecordField *field, Value value, const Path *path)
{
    char number[16];
    if (value.kind != VALUE_LIST) {
        REPORT(check, path, "must be a list; each item must be %s", type_text(field));
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
        REPORT(check, path, "must be an object; each value must be %s", type_text(field));
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
        if (fields->storage != RECORD_AS_UNKNOWN && str_eq_c(name, fields->name)) {
            return fields;
        }
    }
    return NULL;
}

void fields_report_unknown(Arena *arena, const RecordField *fields, Str name, Str pointer,
                           FieldProblems *problems)
{
    Suggest suggest = suggest_make(name);
    Str suggestion;
    for (; fields != NULL && fields->name != NULL; fields++) {
        suggest_offer(&suggest, str_from_c(fields->name));
    }
    if (suggest_found(&suggest, &suggestion)) {
        field_problem(arena, problems, pointer, "unknown field; did you mean '%" STR_FMT "'?",
                      STR_ARG(suggestion))
            ->is_name = true;
    } else {
        field_problem(arena, problems, pointer, "unknown field")->is_name = true;
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
            fields_report_unknown(check->arena, fields, name, path_pointer(check->arena, &below),
                                  check->problems);
        }
    }
    for (const RecordField *field = fields; field != NULL && field->name != NULL; field++) {
        const Value *value = value_get(map, str_from_c(field->name));
        if (field->is_required && (value == NULL || value->kind == VALUE_NULL)) {
            REPORT(check, (&(Path){ path, str_from_c(field->name) }), "is required");
        }
    }
}

void fields_check(Arena *arena, const RecordField *fields, Value map, Str pointer,
                  FieldProblems *problems)
{
    Check check = { .arena = arena, .is_strict = true, .problems = problems };
    check_fields(&check, fields, map, &(Path){ NULL, pointer });
}

void record_check(Arena *arena, const RecordFormat *format, Value map, RecordOrigin origin,
                  FieldProblems *problems)
{
    Check check = { .arena = arena,
                    .is_strict = origin == RECORD_EXTERNAL,
                    .has_format = format->format != NULL,
                    .problems = problems };
    check_fields(&check, format->fields, map, &(Path){ NULL, STR_EMPTY });
}

/* --- JSON Schema ----------------------------------------------------------------------------- */

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

/* The schema of a field without the surrounding braces. */
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
        if (field->storage != RECORD_AS_UNKNOWN) {
            json_out_open(out, field->name, '{');
            put_schema(out, field);
            json_out_close(out, '}');
        }
    }
    json_out_close(out, '}');
    put_required(out, fields);
}
