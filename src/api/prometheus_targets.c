#include "api/prometheus_targets.h"

#include "base/json_out.h"
#include "cluster/object_selector.h"
#include "net/address.h"

static void put_target(Buf *out, const NodeRecord *record, uint16_t port)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Address address;
    Error err;
    if ((record->address[0] == '\0' ||
         !address_parse(str_from_c(record->address), 0, &address, &err) ||
         address.kind == ADDRESS_UNIX) &&
        !address_parse(str_from_c(record->name), 0, &address, &err)) {
        address = (Address){ .kind = ADDRESS_NAME };
        memcpy(address.host, record->name, sizeof record->name);
    }
    address.port = port;
    address_format(&address, &text);
    json_out_open(out, "targets", '[');
    json_out_item(out, buf_str(&text));
    json_out_close(out, ']');
}

/* Prometheus allows fewer characters in label names. */
static void put_label_name(Buf *out, Str name)
{
    buf_put_c(out, "__meta_eden_label_");
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        buf_put_char(out, ascii_is_alpha(c) || ascii_is_digit(c) ? c : '_');
    }
}

/* If two names map to the same label, the first wins. */
static bool is_duplicate(const Map *labels, uint32_t count, Str name)
{
    for (uint32_t i = 0; i < count; i++) {
        AUTO_CLEAR(Buf) other = buf_make(BUF_UNLIMITED);
        put_label_name(&other, value_str(labels->entries[i].key));
        if (str_eq(buf_str(&other), name)) {
            return true;
        }
    }
    return false;
}

/* `labels` is NULL if the record is unreadable. */
static void put_labels(Buf *out, const Map *labels)
{
    for (uint32_t i = 0; labels != NULL && i < labels->len; i++) {
        AUTO_CLEAR(Buf) name = buf_make(BUF_UNLIMITED);
        put_label_name(&name, value_str(labels->entries[i].key));
        if (!is_duplicate(labels, i, buf_str(&name))) {
            json_out_text(out, buf_c(&name), value_str(labels->entries[i].value));
        }
    }
}

static void put_bool(Buf *out, const char *name, bool value)
{
    json_out_text(out, name, value ? STR("true") : STR("false"));
}

void prometheus_targets_put(Buf *out, const TargetsSpec *spec, const NodesListing *nodes)
{
    buf_put_char(out, '[');
    for (uint32_t i = 0; i < nodes->node_count; i++) {
        const RosterNode *node = nodes->nodes[i].node;
        if (!object_selector_matches(spec->selector, str_from_c(node->record.name),
                                     node->record.labels)) {
            continue;
        }
        json_out_open(out, NULL, '{');
        put_target(out, &node->record, spec->port);
        json_out_open(out, "labels", '{');
        json_out_text(out, "__meta_eden_cluster", spec->cluster);
        json_out_text(out, "__meta_eden_node", str_from_c(node->record.name));
        put_bool(out, "__meta_eden_alive", node->is_alive);
        put_bool(out, "__meta_eden_server", node->record.is_server);
        Value labels = node->record.labels;
        put_labels(out, labels.kind == VALUE_MAP ? labels.map : NULL);
        json_out_close(out, '}');
        json_out_close(out, '}');
    }
    buf_put_char(out, ']');
}
