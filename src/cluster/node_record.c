#include "cluster/node_record.h"

#include <stdio.h>

#include "base/json_text.h"
#include "base/utf8.h"
#include "pki/json_fields.h"

enum {
    RECORD_VALUES = 4 * (LABELS_MAX + ANNOTATIONS_MAX)
};

#define NODE_FORMAT "eden.node/1"

/* --- Labels ---------------------------------------------------------------------------------- */

static bool is_label_char(char c)
{
    return ascii_is_name(c) || c == '-' || c == '.' || c == '/';
}

static bool is_plain(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < ' ' || c == 0x7f) {
            return false;
        }
    }
    return utf8_is_valid(text);
}

bool node_label_check(Str name, Str value, Error *err)
{
    bool ok = name.len > 0 && name.len <= LABEL_NAME_MAX;
    for (size_t i = 0; ok && i < name.len; i++) {
        ok = is_label_char(name.data[i]);
    }
    if (!ok) {
        return error_set(err, ERROR_INVALID,
                         "a label is called by 1 to %d letters, digits and '-', '_', '.', '/'",
                         LABEL_NAME_MAX);
    }
    return (value.len <= LABEL_VALUE_MAX && is_plain(value)) ||
           error_set(err, ERROR_INVALID,
                     "the value of label '%" STR_FMT "' is a text of up to %d bytes", STR_ARG(name),
                     LABEL_VALUE_MAX);
}

static bool check_labels(Value labels, Error *err)
{
    if (labels.map->len > LABELS_MAX) {
        return error_set(err, ERROR_INVALID, "more than %d labels", LABELS_MAX);
    }
    for (uint32_t i = 0; i < labels.map->len; i++) {
        const MapEntry *entry = &labels.map->entries[i];
        if (!value_is_string(entry->value)) {
            return error_set(err, ERROR_INVALID, "a label that is no text");
        }
        if (!node_label_check(value_str(entry->key), value_str(entry->value), err)) {
            return false;
        }
    }
    return true;
}

static bool check_annotations(Value annotations, Error *err)
{
    const Map *map = annotations.map;
    bool ok = map->len <= ANNOTATIONS_MAX;
    for (uint32_t i = 0; ok && i < map->len; i++) {
        const MapEntry *entry = &map->entries[i];
        ok = value_is_string(entry->value) && entry->value.len <= ANNOTATION_VALUE_MAX &&
             entry->key.len > 0 && entry->key.len <= LABEL_NAME_MAX;
    }
    return ok || error_set(err, ERROR_INVALID, "an annotation that is none");
}

/* --- Nodes ----------------------------------------------------------------------------------- */

static void put_text(Buf *out, const char *name, const char *text)
{
    buf_put_format(out, ",\"%s\":", name);
    json_text_put(out, str_from_c(text));
}

static void put_number(Buf *out, const char *name, int64_t number)
{
    buf_put_format(out, ",\"%s\":%lld", name, (long long)number);
}

static void put_pin(Buf *out, const Pin *pin)
{
    char text[PIN_TEXT + 1];
    pin_text(pin, text);
    put_text(out, "key", text);
}

static void put_texts(Buf *out, const char *name, Value texts)
{
    const Map *map = texts.kind == VALUE_MAP ? texts.map : NULL;
    buf_put_format(out, ",\"%s\":{", name);
    for (uint32_t i = 0; map != NULL && i < map->len; i++) {
        buf_put_c(out, i > 0 ? "," : "");
        json_text_put(out, value_str(map->entries[i].key));
        buf_put_char(out, ':');
        json_text_put(out, value_str(map->entries[i].value));
    }
    buf_put_char(out, '}');
}

bool node_texts_check(Value labels, Value annotations, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    put_texts(&text, "labels", labels);
    put_texts(&text, "annotations", annotations);
    return text.len <= NODE_TEXTS_MAX ||
           error_set(err, ERROR_LIMIT,
                     "the labels and annotations of a node have at most %d bytes together",
                     NODE_TEXTS_MAX);
}

void node_record_print(const NodeRecord *record, Buf *out)
{
    buf_put_c(out, "{\"format\":\"" NODE_FORMAT "\"");
    put_text(out, "name", record->name);
    put_pin(out, &record->key);
    put_text(out, "enrolment", record->enrolment);
    put_text(out, "token", record->token);
    buf_put_format(out, ",\"server\":%s", record->is_server ? "true" : "false");
    put_text(out, "address", record->address);
    put_number(out, "joined_ms", record->joined_ms);
    put_text(out, "serial", record->serial);
    put_number(out, "not_after_ms", record->not_after_ms);
    put_texts(out, "labels", record->labels);
    /* Agents of before know no such field, and it is mostly empty. */
    if (record->annotations.kind == VALUE_MAP && record->annotations.map->len > 0) {
        put_texts(out, "annotations", record->annotations);
    }
    buf_put_char(out, '}');
}

static bool read_name(Value field, char out[NODE_NAME_MAX + 1], Error *err)
{
    return node_name_check(value_str(field), err) && json_copy(field, out, NODE_NAME_MAX + 1);
}

static bool read_serial(Value field, char out[SERIAL_TEXT + 1])
{
    Str text = value_str(field);
    for (size_t i = 0; i < text.len; i++) {
        if (ascii_hex_value(text.data[i]) < 0) {
            return false;
        }
    }
    return json_copy(field, out, SERIAL_TEXT + 1);
}

static bool read_token(Value field, char out[TOKEN_ID_TEXT + 1])
{
    return (value_str(field).len == 0 || token_id_check(value_str(field))) &&
           json_copy(field, out, TOKEN_ID_TEXT + 1);
}

bool node_record_read(Arena *arena, Str text, NodeRecord *out, Error *err)
{
    Value object, said, name, key, enrolment, token, server, address, joined, serial, not_after;
    NodeRecord record = { .annotations = value_map(map_new(arena, 0)) };
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },
        { "name", VALUE_STRING, false, &name },
        { "key", VALUE_STRING, false, &key },
        { "enrolment", VALUE_STRING, false, &enrolment },
        { "token", VALUE_STRING, false, &token },
        { "server", VALUE_BOOL, false, &server },
        { "address", VALUE_STRING, false, &address },
        { "joined_ms", VALUE_INT, false, &joined },
        { "serial", VALUE_STRING, false, &serial },
        { "not_after_ms", VALUE_INT, false, &not_after },
        { "labels", VALUE_MAP, false, &record.labels },
        { "annotations", VALUE_MAP, true, &record.annotations },
    };
    if (!json_object_read(arena, text, NODE_RECORD_MAX, RECORD_VALUES, &object, err) ||
        !json_format_check(object, NODE_FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !read_name(name, record.name, err) || !pin_parse(value_str(key), &record.key, err) ||
        !check_labels(record.labels, err) || !check_annotations(record.annotations, err)) {
        return error_wrap(err, "the record of a node");
    }
    if (!json_copy(enrolment, record.enrolment, sizeof record.enrolment) ||
        !read_token(token, record.token) ||
        !json_copy(address, record.address, sizeof record.address) ||
        !read_serial(serial, record.serial)) {
        return error_set(err, ERROR_INVALID, "the record of a node: a field is out of its range");
    }
    record.is_server = server.boolean;
    record.joined_ms = joined.integer;
    record.not_after_ms = not_after.integer;
    *out = record;
    return true;
}
