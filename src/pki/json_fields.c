#include "pki/json_fields.h"

#include <stdio.h>

#include "base/suggest.h"
#include "lang/json.h"

enum {
    DEPTH_MAX = 6,
    SHOWN = 40, /* bytes */
};

static const JsonField *find_field(const JsonField *fields, size_t count, Value key)
{
    for (size_t i = 0; i < count; i++) {
        if (value_is_string(key) && str_eq_c(value_str(key), fields[i].name)) {
            return &fields[i];
        }
    }
    return NULL;
}

/* Only what cannot play tricks with a terminal is repeated. */
static bool is_plain(Str text)
{
    bool plain = text.len <= SHOWN;
    for (size_t i = 0; i < text.len && plain; i++) {
        char c = text.data[i];
        plain = ascii_is_name(c) || (c != '\0' && strchr("./-", c) != NULL);
    }
    return plain;
}

static bool refuse_field(Value key, uint32_t place, const JsonField *fields, size_t count,
                         Error *err)
{
    Str near;
    if (!value_is_string(key) || !is_plain(value_str(key))) {
        return error_set(err, ERROR_INVALID, "field %u is not known", place + 1);
    }
    Suggest suggest = suggest_make(value_str(key));
    for (size_t i = 0; i < count; i++) {
        suggest_offer(&suggest, str_from_c(fields[i].name));
    }
    if (!suggest_found(&suggest, &near)) {
        return error_set(err, ERROR_INVALID, "field '%" STR_FMT "' is not known",
                         STR_ARG(value_str(key)));
    }
    return error_set(err, ERROR_INVALID,
                     "field '%" STR_FMT "' is not known; did you mean '%" STR_FMT "'?",
                     STR_ARG(value_str(key)), STR_ARG(near));
}

uint32_t json_name_line(Str text, Str name)
{
    char quoted[SHOWN + 3];
    snprintf(quoted, sizeof quoted, "\"%" STR_FMT "\"", STR_ARG(name));
    size_t at = str_find(text, str_from_c(quoted), 0);
    uint32_t line = 1;
    for (size_t i = 0; at != STR_NOT_FOUND && i < at; i++) {
        line += text.data[i] == '\n';
    }
    return at == STR_NOT_FOUND ? 0 : line;
}

uint32_t json_field_line(Str text, Value object, const JsonField *fields, size_t count)
{
    for (uint32_t i = 0; i < object.map->len; i++) {
        Value key = object.map->entries[i].key;
        if (find_field(fields, count, key) == NULL && is_plain(value_str(key))) {
            return json_name_line(text, value_str(key));
        }
    }
    return 0;
}

bool json_fields_read(Value object, const JsonField *fields, size_t count, Error *err)
{
    if (object.kind != VALUE_MAP) {
        return error_set(err, ERROR_INVALID, "it is no object");
    }
    for (uint32_t i = 0; i < object.map->len; i++) {
        if (find_field(fields, count, object.map->entries[i].key) == NULL) {
            return refuse_field(object.map->entries[i].key, i, fields, count, err);
        }
    }
    for (size_t i = 0; i < count; i++) {
        const Value *found = value_get(object, str_from_c(fields[i].name));
        if (found == NULL && fields[i].optional) {
            continue;
        }
        if (found == NULL) {
            return error_set(err, ERROR_INVALID, "'%s' is missing", fields[i].name);
        }
        if (found->kind != fields[i].kind) {
            return error_set(err, ERROR_INVALID, "'%s' is no %s", fields[i].name,
                             value_kind_name(fields[i].kind));
        }
    }
    for (size_t i = 0; i < count; i++) {
        const Value *found = value_get(object, str_from_c(fields[i].name));
        if (found != NULL) {
            *fields[i].out = *found;
        }
    }
    return true;
}

bool json_object_read(Arena *arena, Str text, uint32_t size_max, uint32_t nodes_max, Value *out,
                      Error *err)
{
    const JsonOptions options = {
        .limits = { .size = size_max, .depth = DEPTH_MAX, .nodes = nodes_max },
    };
    Value read;
    if (!json_parse_text(arena, text, &options, &read, err)) {
        return false;
    }
    if (read.kind != VALUE_MAP) {
        return error_set(err, ERROR_INVALID, "it is no JSON object");
    }
    *out = read;
    return true;
}

bool json_format_check(Value object, const char *format, Error *err)
{
    const Value *found = value_get(object, STR("format"));
    if (found == NULL || !value_is_string(*found)) {
        return error_set(err, ERROR_INVALID, "it does not say its 'format'; '%s' is wanted",
                         format);
    }
    Str said = value_str(*found);
    if (str_eq_c(said, format)) {
        return true;
    }
    return error_set(err, ERROR_INVALID, "its format is '%" STR_FMT "'; only '%s' is spoken here",
                     STR_ARG(is_plain(said) ? said : STR("?")), format);
}

bool json_copy(Value field, char *out, size_t size)
{
    Str text = value_str(field);
    if (text.len >= size || (text.len > 0 && memchr(text.data, '\0', text.len) != NULL)) {
        return false;
    }
    memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return true;
}
