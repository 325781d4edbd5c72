#include "membership/node_record.h"

#include "base/utf8.h"
#include "lang/record.h"

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
                         "a label name must have 1 to %d letters, digits and '-', '_', '.', '/'",
                         LABEL_NAME_MAX);
    }
    return (value.len <= LABEL_VALUE_MAX && is_plain(value)) ||
           error_set(err, ERROR_INVALID,
                     "the value of label '%" STR_FMT "' must be a string of up to %d bytes",
                     STR_ARG(name), LABEL_VALUE_MAX);
}

static bool check_labels(Value labels, Error *err)
{
    if (labels.map->len > LABELS_MAX) {
        return error_set(err, ERROR_INVALID, "more than %d labels", LABELS_MAX);
    }
    for (uint32_t i = 0; i < labels.map->len; i++) {
        const MapEntry *entry = &labels.map->entries[i];
        if (!value_is_string(entry->value)) {
            return error_set(err, ERROR_INVALID, "a label is not a string");
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
    return ok || error_set(err, ERROR_INVALID, "invalid annotation");
}

/* --- Nodes ----------------------------------------------------------------------------------- */

static bool check_serial(Str serial, Error *err)
{
    for (size_t i = 0; i < serial.len; i++) {
        if (ascii_hex_value(serial.data[i]) < 0) {
            return error_set(err, ERROR_INVALID, "must be hexadecimal digits");
        }
    }
    return true;
}

static bool check_token(Str id, Error *err)
{
    return id.len == 0 || token_record_check_id(id, err);
}

static bool check_node(const void *record, Error *err)
{
    const NodeRecord *node = record;
    return check_labels(node->labels, err) && check_annotations(node->annotations, err);
}

static const RecordField node_fields[] = {
    { "name", RECORD_TEXT, RECORD_CHARS_AT(NodeRecord, name), .is_required = true,
      .check_text = node_name_check, .help = "name of the node" },
    { "key", RECORD_TEXT, RECORD_CODED_AT(NodeRecord, key, Pin, pin_codec), .is_required = true,
      .help = "pin of its public key" },
    { "enrolment", RECORD_TEXT, RECORD_CHARS_AT(NodeRecord, enrollment), .is_required = true,
      .help = "ID of this membership, among the nodes that had this name" },
    { "token", RECORD_TEXT, RECORD_CHARS_AT(NodeRecord, token), .is_required = true,
      .check_text = check_token, .help = "ID of the token that it joined with; empty: approved" },
    { "server", RECORD_BOOL, RECORD_BOOL_AT(NodeRecord, is_server), .is_required = true,
      .help = "whether it is a server" },
    { "address", RECORD_TEXT, RECORD_CHARS_AT(NodeRecord, address), .is_required = true,
      .help = "address that the join request came from" },
    { "joined_ms", RECORD_INT, RECORD_INT_AT(NodeRecord, joined_ms), .is_required = true,
      .help = "when it joined" },
    { "serial", RECORD_TEXT, RECORD_CHARS_AT(NodeRecord, serial), .is_required = true,
      .check_text = check_serial, .help = "serial number of its certificate" },
    { "not_after_ms", RECORD_INT, RECORD_INT_AT(NodeRecord, not_after_ms), .is_required = true,
      .help = "when that certificate expires" },
    { "labels", RECORD_TEXT, RECORD_VALUE_AT(NodeRecord, labels), .shape = RECORD_MAP,
      .is_required = true, .help = "labels" },
    { "annotations", RECORD_TEXT, RECORD_VALUE_AT(NodeRecord, annotations), .shape = RECORD_MAP,
      .help = "annotations" },
    { RECORD_UNKNOWN_AT(NodeRecord, unknown) },
    { 0 },
};

static const RecordFormat node_format = {
    .format = "eden.node/1",
    .what = "the record of a node",
    .fields = node_fields,
    .size = sizeof(NodeRecord),
    .text_max = NODE_RECORD_MAX,
    .check = check_node,
};

bool node_texts_check(Value labels, Value annotations, Error *err)
{
    NodeRecord texts = { .labels = labels, .annotations = annotations };
    AUTO_CLEAR(Buf) with = buf_make(BUF_UNLIMITED), without = buf_make(BUF_UNLIMITED);
    node_record_print(&texts, &with);
    node_record_print(&(NodeRecord){ .labels = value_missing() }, &without);
    return with.len - without.len <= NODE_TEXTS_MAX ||
           error_set(err, ERROR_LIMIT,
                     "labels and annotations of a node must be at most %d bytes in total",
                     NODE_TEXTS_MAX);
}

void node_record_print(const NodeRecord *record, Buf *out)
{
    record_print(&node_format, record, out);
}

bool node_record_read(Arena *arena, Str text, NodeRecord *out, Error *err)
{
    return record_read(&node_format, arena, text, RECORD_STORED, out, err);
}
