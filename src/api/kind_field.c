#include "api/kind_field.h"

#include <stdarg.h>

#include "api/json_out.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "model/duration.h"

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

static void check_span(Arena *arena, const KindField *field, Str text, Str pointer,
                       FieldProblems *problems)
{
    int64_t ms;
    if (!duration_parse(text, &ms)) {
        field_problem(arena, problems, pointer, "must be a span of time as '90m' or '7d'");
    } else if (field->max > 0 && (ms < field->min || ms > field->max)) {
        Buf bounds = buf_make_in(arena, BUF_UNLIMITED);
        duration_put(&bounds, field->min);
        buf_put_c(&bounds, " to ");
        duration_put(&bounds, field->max);
        field_problem(arena, problems, pointer, "must be from %" STR_FMT,
                      STR_ARG(buf_str(&bounds)));
    }
}

static void check_text(Arena *arena, const KindField *field, Str text, Str pointer,
                       FieldProblems *problems)
{
    if (field->type == KIND_FIELD_DURATION) {
        check_span(arena, field, text, pointer, problems);
    } else if (field->max > 0 && (int64_t)text.len > field->max) {
        field_problem(arena, problems, pointer, "longer than the %lld bytes that it may have",
                      (long long)field->max);
    } else if ((int64_t)text.len < field->min) {
        field_problem(arena, problems, pointer, "must not be empty");
    } else if (field->type == KIND_FIELD_CHOICE && !is_choice(field->choices, text)) {
        Str near = nearest_choice(arena, field->choices, text);
        field_problem(arena, problems, pointer, "must be one of %s%" STR_FMT, field->choices,
                      STR_ARG(near));
    } else if (field->is_plain && !utf8_is_plain(text)) {
        field_problem(arena, problems, pointer, "must have no control characters");
    }
}

static const char *type_text(const KindField *field)
{
    static const char *const texts[] = {
        [KIND_FIELD_TEXT] = "a text",
        [KIND_FIELD_CHOICE] = "a text",
        [KIND_FIELD_DURATION] = "a span of time as '90m'",
        [KIND_FIELD_TIME] = "a moment as '2026-01-31T08:15:30Z'",
        [KIND_FIELD_INT] = "a whole number",
        [KIND_FIELD_BOOL] = "true or false",
        [KIND_FIELD_SELECTOR] = "a selector as 'role=web'",
        [KIND_FIELD_OBJECT] = "an object",
        [KIND_FIELD_ANY] = "anything",
    };
    return texts[field->type];
}

static bool fits_type(const KindField *field, Value value)
{
    switch (field->type) {
    case KIND_FIELD_INT: return value.kind == VALUE_INT;
    case KIND_FIELD_BOOL: return value.kind == VALUE_BOOL;
    case KIND_FIELD_OBJECT: return value.kind == VALUE_MAP;
    case KIND_FIELD_ANY: return true;
    default: return value_is_string(value);
    }
}

static void check_one(Arena *arena, const KindField *field, Value value, Str pointer,
                      FieldProblems *problems)
{
    if (!fits_type(field, value)) {
        field_problem(arena, problems, pointer, "must be %s", type_text(field));
    } else if (value_is_string(value)) {
        check_text(arena, field, value_str(value), pointer, problems);
    } else if (field->type == KIND_FIELD_INT &&
               (value.integer < field->min || value.integer > field->max)) {
        field_problem(arena, problems, pointer, "must be from %lld to %lld", (long long)field->min,
                      (long long)field->max);
    } else if (field->type == KIND_FIELD_OBJECT) {
        fields_check(arena, field->fields, value, pointer, problems);
    }
}

static void check_list(Arena *arena, const KindField *field, Value value, Str pointer,
                       FieldProblems *problems)
{
    if (value.kind != VALUE_LIST) {
        field_problem(arena, problems, pointer, "must be a list, of %s each", type_text(field));
        return;
    }
    for (uint32_t i = 0; i < value.list->len; i++) {
        Str name = arena_format(arena, "%u", i);
        check_one(arena, field, value.list->items[i], field_below(arena, pointer, name), problems);
    }
}

static void check_map(Arena *arena, const KindField *field, Value value, Str pointer,
                      FieldProblems *problems)
{
    if (value.kind != VALUE_MAP) {
        field_problem(arena, problems, pointer, "must be an object, of %s each", type_text(field));
        return;
    }
    for (uint32_t i = 0; i < value.map->len; i++) {
        const MapEntry *entry = &value.map->entries[i];
        check_one(arena, field, entry->value, field_below(arena, pointer, value_str(entry->key)),
                  problems);
    }
}

const KindField *fields_find(const KindField *fields, Str name)
{
    for (; fields != NULL && fields->name != NULL; fields++) {
        if (str_eq_c(name, fields->name)) {
            return fields;
        }
    }
    return NULL;
}

void fields_tell_unknown(Arena *arena, const KindField *fields, Str name, Str pointer,
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

static void check_present(Arena *arena, const KindField *field, Value value, Str pointer,
                          FieldProblems *problems)
{
    if (field->shape == KIND_FIELD_LIST) {
        check_list(arena, field, value, pointer, problems);
    } else if (field->shape == KIND_FIELD_MAP) {
        check_map(arena, field, value, pointer, problems);
    } else {
        check_one(arena, field, value, pointer, problems);
    }
}

void fields_check(Arena *arena, const KindField *fields, Value map, Str pointer,
                  FieldProblems *problems)
{
    for (uint32_t i = 0; i < map.map->len; i++) {
        const MapEntry *entry = &map.map->entries[i];
        Str name = value_str(entry->key), at = field_below(arena, pointer, name);
        const KindField *field = fields_find(fields, name);
        if (field == NULL) {
            fields_tell_unknown(arena, fields, name, at, problems);
        } else if (entry->value.kind != VALUE_NULL) {
            check_present(arena, field, entry->value, at, problems);
        }
    }
    for (const KindField *field = fields; field != NULL && field->name != NULL; field++) {
        const Value *value = value_get(map, str_from_c(field->name));
        if (field->is_required && (value == NULL || value->kind == VALUE_NULL)) {
            field_problem(arena, problems, field_below(arena, pointer, str_from_c(field->name)),
                          "is missing");
        }
    }
}

/* --- Describing ------------------------------------------------------------------------------ */

static void put_choices(Buf *out, const char *choices)
{
    Str rest = str_from_c(choices), word;
    json_out_open(out, "enum", '[');
    while (str_split_next(&rest, '|', &word)) {
        json_out_item(out, word);
    }
    json_out_close(out, ']');
}

static void put_text_schema(Buf *out, const KindField *field)
{
    json_out_text(out, "type", STR("string"));
    if (field->type == KIND_FIELD_CHOICE) {
        put_choices(out, field->choices);
    }
    if (field->type == KIND_FIELD_TIME) {
        json_out_text(out, "format", STR("date-time"));
    }
    if (field->min > 0 && field->type != KIND_FIELD_DURATION) {
        json_out_int(out, "minLength", field->min);
    }
    if (field->max > 0 && field->type != KIND_FIELD_DURATION) {
        json_out_int(out, "maxLength", field->max);
    }
    if (field->is_plain) {
        json_out_text(out, "pattern", STR("^[^\\x00-\\x1f\\x7f]*$"));
    }
}

/* What it is, without the bracket around it. */
static void put_one_schema(Buf *out, const KindField *field)
{
    switch (field->type) {
    case KIND_FIELD_INT:
        json_out_text(out, "type", STR("integer"));
        json_out_text(out, "format", STR("int64"));
        if (field->max > 0) {
            json_out_int(out, "minimum", field->min);
            json_out_int(out, "maximum", field->max);
        }
        break;
    case KIND_FIELD_BOOL: json_out_text(out, "type", STR("boolean")); break;
    case KIND_FIELD_OBJECT: fields_schema(out, field->fields); break;
    case KIND_FIELD_ANY: break;
    default: put_text_schema(out, field); break;
    }
}

static void put_schema(Buf *out, const KindField *field)
{
    if (field->shape == KIND_FIELD_LIST) {
        json_out_text(out, "type", STR("array"));
        json_out_open(out, "items", '{');
        put_one_schema(out, field);
        json_out_close(out, '}');
    } else if (field->shape == KIND_FIELD_MAP) {
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

static void put_required(Buf *out, const KindField *fields)
{
    bool any = false;
    for (const KindField *field = fields; field->name != NULL; field++) {
        any = any || field->is_required;
    }
    if (!any) {
        return;
    }
    json_out_open(out, "required", '[');
    for (const KindField *field = fields; field->name != NULL; field++) {
        if (field->is_required) {
            json_out_item(out, str_from_c(field->name));
        }
    }
    json_out_close(out, ']');
}

void fields_schema(Buf *out, const KindField *fields)
{
    json_out_text(out, "type", STR("object"));
    if (fields == NULL) {
        return;
    }
    json_out_open(out, "properties", '{');
    for (const KindField *field = fields; field->name != NULL; field++) {
        json_out_open(out, field->name, '{');
        put_schema(out, field);
        json_out_close(out, '}');
    }
    json_out_close(out, '}');
    put_required(out, fields);
}
