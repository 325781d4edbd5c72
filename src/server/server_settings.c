#include "server/server_settings.h"

#include "base/json_text.h"
#include "net/address.h"
#include "pki/ca.h"
#include "pki/json_fields.h"

enum {
    SETTINGS_NODES = 200,
    PER_ADDRESS_MAX = 100000,
    SECOND_MS = 1000,
};

#define FORMAT         "eden.server/1"
#define NODE_LIMIT_MAX ((int64_t)1 << 40)

static void put_text(Buf *out, const char *name, Str text)
{
    buf_put_format(out, ",\n  \"%s\": ", name);
    json_text_put(out, text);
}

/* What each node may send, by its name in the file. */
typedef struct LimitField {
    const char *name;
    size_t offset; /* of an int64_t in NodeLimits */
} LimitField;

static const LimitField limit_fields[] = {
    { "node_bytes_per_second", offsetof(NodeLimits, bytes.per_second) },
    { "node_bytes_burst", offsetof(NodeLimits, bytes.burst) },
    { "node_records_per_second", offsetof(NodeLimits, records.per_second) },
    { "node_records_burst", offsetof(NodeLimits, records.burst) },
    { "node_results_bytes", offsetof(NodeLimits, results_bytes) },
};

static int64_t *limit_of(NodeLimits *limits, const LimitField *field)
{
    return (int64_t *)((char *)limits + field->offset);
}

static void put_limits(const NodeLimits *limits, Buf *out)
{
    NodeLimits own = *limits, usual = NODE_LIMITS_DEFAULT;
    for (size_t i = 0; i < COUNT_OF(limit_fields); i++) {
        int64_t value = *limit_of(&own, &limit_fields[i]);
        if (value > 0 && value != *limit_of(&usual, &limit_fields[i])) {
            buf_put_format(out, ",\n  \"%s\": %lld", limit_fields[i].name, (long long)value);
        }
    }
}

void server_settings_print(const ServerSettings *settings, Buf *out)
{
    buf_put_c(out, "{\n  \"format\": \"" FORMAT "\"");
    put_text(out, "cluster", str_from_c(settings->cluster));
    put_text(out, "node", str_from_c(settings->node));
    put_text(out, "store", str_from_c(settings->store_id));
    put_text(out, "rpc", settings->rpc);
    put_text(out, "api", settings->api);
    buf_put_c(out, ",\n  \"names\": [");
    for (uint32_t i = 0; i < settings->name_count; i++) {
        buf_put_c(out, i > 0 ? ", " : "");
        json_text_put(out, settings->names[i]);
    }
    buf_put_c(out, "]");
    if (settings->per_address_max > 0) {
        buf_put_format(out, ",\n  \"connections_per_address\": %u", settings->per_address_max);
    }
    if (settings->node_life_ms > 0) {
        buf_put_format(out, ",\n  \"node_life_s\": %lld",
                       (long long)(settings->node_life_ms / SECOND_MS));
    }
    if (settings->serving_life_ms > 0) {
        buf_put_format(out, ",\n  \"serving_life_s\": %lld",
                       (long long)(settings->serving_life_ms / SECOND_MS));
    }
    put_limits(&settings->node_limits, out);
    buf_put_c(out, "\n}\n");
}

static bool has_name(const Str *names, uint32_t count, Str name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (str_eq(names[i], name)) {
            return true;
        }
    }
    return false;
}

ServingNames server_settings_serving_names(Arena *arena, const ServerSettings *settings)
{
    static const Str own[] = { { "localhost", 9 }, { "127.0.0.1", 9 }, { "::1", 3 } };
    uint32_t count = settings->name_count;
    Str *names = ARENA_ARRAY(arena, Str, count + COUNT_OF(own));
    memcpy(names, settings->names, count * sizeof *names);
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        if (!has_name(names, count, own[i])) {
            names[count++] = own[i];
        }
    }
    return (ServingNames){ names, count };
}

/* Where what is wrong stands in the file. Always false. */
static bool at_line(Str text, const char *name, Error *err)
{
    uint32_t line = json_name_line(text, str_from_c(name));
    return line > 0 ? error_wrap(err, "line %u", line) : false;
}

static bool read_limits(Str text, const Value *said, NodeLimits *out, Error *err)
{
    *out = NODE_LIMITS_DEFAULT;
    for (size_t i = 0; i < COUNT_OF(limit_fields); i++) {
        if (said[i].kind == VALUE_UNDEFINED) {
            continue;
        }
        if (said[i].integer < 1 || said[i].integer > NODE_LIMIT_MAX) {
            error_set(err, ERROR_INVALID, "'%s' is 1 to %lld", limit_fields[i].name,
                      (long long)NODE_LIMIT_MAX);
            return at_line(text, limit_fields[i].name, err);
        }
        *limit_of(out, &limit_fields[i]) = said[i].integer;
    }
    return true;
}

/* Where it listens. Port 0, any free one, is for tries: nodes do not find that again. */
static bool read_address(Arena *arena, const char *name, Value said, Str *out, Error *err)
{
    Address ignored;
    *out = arena_copy(arena, value_str(said));
    return address_parse(*out, 0, &ignored, err) || error_wrap(err, "'%s'", name);
}

static bool read_names(Arena *arena, Value names, ServerSettings *settings, Error *err)
{
    Str *items = ARENA_ARRAY(arena, Str, names.list->len + 1);
    for (uint32_t i = 0; i < names.list->len; i++) {
        if (!value_is_string(names.list->items[i])) {
            return error_set(err, ERROR_INVALID, "'names' is a list of texts");
        }
        Address ignored;
        if (!address_parse(value_str(names.list->items[i]), 0, &ignored, err)) {
            return error_wrap(err, "'names'");
        }
        items[i] = arena_copy(arena, value_str(names.list->items[i]));
    }
    settings->names = items;
    settings->name_count = names.list->len;
    return names.list->len > 0 || error_set(err, ERROR_INVALID, "'names' is empty");
}

static bool read_per_address(Value said, ServerSettings *settings, Error *err)
{
    if (said.kind == VALUE_UNDEFINED) {
        return true;
    }
    settings->per_address_max = (uint32_t)said.integer;
    return (said.integer >= 1 && said.integer <= PER_ADDRESS_MAX) ||
           error_set(err, ERROR_INVALID, "'connections_per_address' is 1 to %d", PER_ADDRESS_MAX);
}

static bool read_life(Value said, const char *name, int64_t *out, Error *err)
{
    if (said.kind == VALUE_UNDEFINED) {
        return true;
    }
    bool fits = said.integer >= LIFE_MIN_MS / SECOND_MS && said.integer <= CA_LIFE_MS / SECOND_MS;
    *out = fits ? said.integer * SECOND_MS : 0;
    return fits ||
           error_set(err, ERROR_INVALID, "'%s' is %lld to %lld seconds", name,
                     (long long)(LIFE_MIN_MS / SECOND_MS), (long long)(CA_LIFE_MS / SECOND_MS));
}

static bool read_fields(Str text, Value object, const JsonField *fields, size_t count, Error *err)
{
    if (json_fields_read(object, fields, count, err)) {
        return true;
    }
    uint32_t line = json_field_line(text, object, fields, count);
    return line > 0 ? error_wrap(err, "line %u", line) : false;
}

bool server_settings_read(Arena *arena, Str text, ServerSettings *out, Error *err)
{
    Value object, said, cluster, node, store, rpc, api, names;
    Value per_address = value_missing(), node_life = value_missing();
    Value serving_life = value_missing(), limits[COUNT_OF(limit_fields)];
    ServerSettings settings = { 0 };
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },
        { "cluster", VALUE_STRING, false, &cluster },
        { "node", VALUE_STRING, false, &node },
        { "store", VALUE_STRING, false, &store },
        { "rpc", VALUE_STRING, false, &rpc },
        { "api", VALUE_STRING, false, &api },
        { "names", VALUE_LIST, false, &names },
        { "connections_per_address", VALUE_INT, true, &per_address },
        { "node_life_s", VALUE_INT, true, &node_life },
        { "serving_life_s", VALUE_INT, true, &serving_life },
        { limit_fields[0].name, VALUE_INT, true, &limits[0] },
        { limit_fields[1].name, VALUE_INT, true, &limits[1] },
        { limit_fields[2].name, VALUE_INT, true, &limits[2] },
        { limit_fields[3].name, VALUE_INT, true, &limits[3] },
        { limit_fields[4].name, VALUE_INT, true, &limits[4] },
    };
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        limits[i] = value_missing();
    }
    if (!json_object_read(arena, text, SERVER_SETTINGS_MAX, SETTINGS_NODES, &object, err) ||
        !json_format_check(object, FORMAT, err) ||
        !read_fields(text, object, fields, COUNT_OF(fields), err) ||
        !cluster_name_check(value_str(cluster), err) || !node_name_check(value_str(node), err) ||
        (!read_address(arena, "rpc", rpc, &settings.rpc, err) && !at_line(text, "rpc", err)) ||
        (!read_address(arena, "api", api, &settings.api, err) && !at_line(text, "api", err)) ||
        (!read_names(arena, names, &settings, err) && !at_line(text, "names", err)) ||
        (!read_per_address(per_address, &settings, err) &&
         !at_line(text, "connections_per_address", err)) ||
        (!read_life(node_life, "node_life_s", &settings.node_life_ms, err) &&
         !at_line(text, "node_life_s", err)) ||
        (!read_life(serving_life, "serving_life_s", &settings.serving_life_ms, err) &&
         !at_line(text, "serving_life_s", err)) ||
        !read_limits(text, limits, &settings.node_limits, err)) {
        return error_wrap(err, SERVER_SETTINGS_FILE);
    }
    if (!json_copy(cluster, settings.cluster, sizeof settings.cluster) ||
        !json_copy(node, settings.node, sizeof settings.node) ||
        !json_copy(store, settings.store_id, sizeof settings.store_id)) {
        return error_set(err, ERROR_INVALID, SERVER_SETTINGS_FILE ": a name is too long");
    }
    *out = settings;
    return true;
}
