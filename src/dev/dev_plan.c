#include "dev/dev_plan.h"

#include "base/buf.h"
#include "lang/record.h"

#define NETWORK    "10.13.37"
#define DEV_FORMAT "eden.dev/1"

const char *dev_node_name(Arena *arena, uint32_t node)
{
    return arena_format(arena, "node%u", node + 1).data;
}

const char *dev_address(Arena *arena, uint32_t last)
{
    return arena_format(arena, NETWORK ".%u", last).data;
}

const char *dev_node_address(Arena *arena, uint32_t node)
{
    return dev_address(arena, node + 1);
}

Str dev_hosts(Arena *arena, uint32_t count)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_c(&text, "127.0.0.1 localhost\n::1 localhost\n");
    for (uint32_t i = 0; i < count; i++) {
        buf_put_format(&text, "%s %s\n", dev_node_address(arena, i), dev_node_name(arena, i));
    }
    return buf_str(&text);
}

static const char *const *words_copy(Arena *arena, const char *const *words, size_t count)
{
    const char **copy = ARENA_ARRAY(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        copy[i] = words[i];
    }
    copy[count] = NULL;
    return copy;
}

/* The port is the same inside and outside, so the server's own address is valid in both. The first
 * address is announced to nodes. */
const char *const *dev_init_argv(Arena *arena, uint16_t port)
{
    const char *const words[] = {
        "eden",      "init",
        "--cluster", "dev",
        "--name",    dev_node_name(arena, 0),
        "--user",    "root",
        "--address", dev_node_address(arena, 0),
        "--address", "127.0.0.1",
        "--address", "localhost",
        "--address", dev_node_name(arena, 0),
        "--rpc",     "0.0.0.0:1337",
        "--api",     arena_format(arena, "0.0.0.0:%u", port).data,
        "-o",        "json",
    };
    return words_copy(arena, words, COUNT_OF(words));
}

const char *const *dev_join_argv(Arena *arena, uint16_t port, uint32_t node, const char *pin)
{
    const char *const words[] = {
        "eden",       "join",
        "--server",   arena_format(arena, "%s:%u", dev_node_address(arena, 0), port).data,
        "--token",    "-",
        "--ca-pin",   pin,
        "--name",     dev_node_name(arena, node),
        "--max-wait", "1m",
        "-o",         "json",
    };
    return words_copy(arena, words, COUNT_OF(words));
}

const char *const *dev_agent_argv(Arena *arena)
{
    const char *const words[] = { "eden", "agent" };
    return words_copy(arena, words, COUNT_OF(words));
}

const char *dev_node_directory(Arena *arena, const char *path, uint32_t node)
{
    return arena_format(arena, "%s/%s", path, dev_node_name(arena, node)).data;
}

const char *dev_run_dir(Arena *arena, const char *path, uint32_t node)
{
    return arena_format(arena, "%s/run", dev_node_directory(arena, path, node)).data;
}

static void put_text(Arena *arena, Map *map, const char *key, const char *text)
{
    map_set_str(arena, map, str_from_c(key), value_string(str_from_c(text)));
}

Value dev_describe(Arena *arena, const DevDescription *description)
{
    Map *map = map_new(arena, 8);
    List *nodes = list_new(arena, description->count);
    for (uint32_t i = 0; i < description->count; i++) {
        Map *node = map_new(arena, 4);
        put_text(arena, node, "name", dev_node_name(arena, i));
        put_text(arena, node, "address", dev_node_address(arena, i));
        put_text(arena, node, "run_dir", dev_run_dir(arena, description->path, i));
        map_set_str(arena, node, STR("process"), value_int(description->processes[i]));
        list_push(arena, nodes, value_map(node));
    }
    put_text(arena, map, "format", DEV_FORMAT);
    put_text(arena, map, "directory", description->path);
    put_text(arena, map, "api",
             arena_format(arena, "https://127.0.0.1:%u", description->port).data);
    put_text(arena, map, "run_dir", dev_run_dir(arena, description->path, 0));
    map_set_str(arena, map, STR("ca_pin"), value_string(description->ca_pin));
    map_set_str(arena, map, STR("token"), value_string(description->token));
    map_set_str(arena, map, STR("nodes"), value_list(nodes));
    return value_map(map);
}

/* Also printed by 'eden dev -o json', so it stays a value; the table validates the fields that are
 * read. */
typedef struct NodeDescription {
    Str name;
    int64_t process;
} NodeDescription;

typedef struct DescriptionRecord {
    Str directory, api;
    NodeDescription *nodes;
    uint32_t node_count;
} DescriptionRecord;

static const RecordField node_fields[] = {
    { "name", RECORD_TEXT, RECORD_STR_AT(NodeDescription, name), .is_required = true, .min = 1,
      .help = "name of the node" },
    { "process", RECORD_INT, RECORD_INT_AT(NodeDescription, process), .is_required = true, .min = 1,
      .max = INT32_MAX, .help = "its first process" },
    { 0 },
};

static const RecordField description_fields[] = {
    { "directory", RECORD_TEXT, RECORD_STR_AT(DescriptionRecord, directory), .is_required = true,
      .min = 1, .help = "its directory" },
    { "api", RECORD_TEXT, RECORD_STR_AT(DescriptionRecord, api), .is_required = true, .min = 1,
      .help = "address of its API" },
    { "nodes", RECORD_OBJECT,
      RECORD_POINTER_AT(DescriptionRecord, nodes, node_count, DEV_NODES_MAX, NodeDescription,
                        node_fields),
      .is_required = true, .help = "its nodes" },
    { 0 },
};

static const RecordFormat description_format = {
    .format = DEV_FORMAT,
    .what = "the description of an 'eden dev' cluster",
    .fields = description_fields,
    .size = sizeof(DescriptionRecord),
};

bool dev_description_check(Arena *arena, Value description, Error *err)
{
    DescriptionRecord record;
    return record_from_value(&description_format, arena, description, RECORD_STORED, &record, err);
}
