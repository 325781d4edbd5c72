#include "pki/json_fields.h"

#include "lang/json.h"

enum {
    DEPTH_MAX = 6,
    FORMAT_SHOWN = 40, /* bytes */
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

bool json_fields_read(Value object, const JsonField *fields, size_t count, Error *err)
{
    if (object.kind != VALUE_MAP) {
        return error_set(err, ERROR_INVALID, "it is no object");
    }
    for (uint32_t i = 0; i < object.map->len; i++) {
        if (find_field(fields, count, object.map->entries[i].key) == NULL) {
            return error_set(err, ERROR_INVALID, "field %u is not known", i + 1);
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
    /* Only what cannot play tricks with a terminal is repeated. */
    bool plain = said.len <= FORMAT_SHOWN;
    for (size_t i = 0; i < said.len && plain; i++) {
        plain = ascii_is_name(said.data[i]) || said.data[i] == '.' || said.data[i] == '/';
    }
    return error_set(err, ERROR_INVALID, "its format is '%" STR_FMT "'; only '%s' is spoken here",
                     STR_ARG(plain ? said : STR("?")), format);
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
