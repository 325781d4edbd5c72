#include "cluster/node_state.h"

#include "base/json_text.h"
#include "cluster/watched_image.h"
#include "net/address.h"
#include "pki/json_fields.h"
#include "sys/file.h"

enum {
    STATE_NODES = 16 + 8 * NODE_SERVERS_MAX /* values in the text */
};

#define FORMAT "eden.agent/1"

static void put_text(Buf *out, const char *name, Str text)
{
    buf_put_format(out, "\"%s\": ", name);
    json_text_put(out, text);
}

void node_state_print(const NodeState *state, Buf *out)
{
    buf_put_c(out, "{\n  \"format\": \"" FORMAT "\",\n  ");
    put_text(out, "cluster", str_from_c(state->cluster));
    buf_put_c(out, ",\n  ");
    put_text(out, "node", str_from_c(state->node));
    buf_put_c(out, ",\n  \"servers\": [");
    for (uint32_t i = 0; i < state->server_count; i++) {
        const NodeServer *server = &state->servers[i];
        buf_put_c(out, i > 0 ? ",\n    {" : "\n    {");
        put_text(out, "node", str_from_c(server->node));
        buf_put_c(out, ", ");
        put_text(out, "rpc", server->rpc);
        buf_put_c(out, ", ");
        put_text(out, "api", server->api);
        buf_put_c(out, "}");
    }
    buf_put_c(out, "\n  ]\n}\n");
}

static bool check_address(Str text, Error *err)
{
    Address address;
    return address_parse(text, 1, &address, err);
}

static bool read_server(Arena *arena, Value object, NodeServer *out, Error *err)
{
    Value node, rpc, api;
    const JsonField fields[] = {
        { "node", VALUE_STRING, false, &node },
        { "rpc", VALUE_STRING, false, &rpc },
        { "api", VALUE_STRING, false, &api },
    };
    if (!json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !node_name_check(value_str(node), err) || !check_address(value_str(rpc), err) ||
        !check_address(value_str(api), err)) {
        return false;
    }
    if (!json_copy(node, out->node, sizeof out->node)) {
        return error_set(err, ERROR_INVALID, "a name is too long");
    }
    out->rpc = arena_copy(arena, value_str(rpc));
    out->api = arena_copy(arena, value_str(api));
    return true;
}

static bool read_servers(Arena *arena, Value list, NodeState *state, Error *err)
{
    uint32_t count = list.list->len;
    if (count == 0 || count > NODE_SERVERS_MAX) {
        return error_set(err, ERROR_INVALID, "'servers' is a list of 1 to %d", NODE_SERVERS_MAX);
    }
    NodeServer *servers = ARENA_ARRAY(arena, NodeServer, count);
    for (uint32_t i = 0; i < count; i++) {
        if (list.list->items[i].kind != VALUE_MAP) {
            return error_set(err, ERROR_INVALID, "server %u is no object", i + 1);
        }
        if (!read_server(arena, list.list->items[i], &servers[i], err)) {
            return error_wrap(err, "server %u", i + 1);
        }
    }
    state->servers = servers;
    state->server_count = count;
    return true;
}

bool node_state_read(Arena *arena, Str text, NodeState *out, Error *err)
{
    Value object, said, cluster, node, servers;
    NodeState state = { 0 };
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },
        { "cluster", VALUE_STRING, false, &cluster },
        { "node", VALUE_STRING, false, &node },
        { "servers", VALUE_LIST, false, &servers },
    };
    if (!json_object_read(arena, text, NODE_STATE_MAX, STATE_NODES, &object, err) ||
        !json_format_check(object, FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !cluster_name_check(value_str(cluster), err) || !node_name_check(value_str(node), err) ||
        !read_servers(arena, servers, &state, err)) {
        return error_wrap(err, AGENT_STATE);
    }
    if (!json_copy(cluster, state.cluster, sizeof state.cluster) ||
        !json_copy(node, state.node, sizeof state.node)) {
        return error_set(err, ERROR_INVALID, AGENT_STATE ": a name is too long");
    }
    *out = state;
    return true;
}

bool node_state_save(const Directory *agent, const NodeState *state, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(NODE_STATE_MAX);
    node_state_print(state, &text);
    return directory_write(agent, AGENT_STATE, buf_str(&text), true, err);
}

bool node_state_load(const Directory *agent, Arena *arena, NodeState *out, Error *err)
{
    Str text;
    return directory_read(agent, arena, AGENT_STATE, NODE_STATE_MAX, &text, err) &&
           node_state_read(arena, text, out, err);
}

bool node_state_load_record(const char *state_dir, Arena *arena, NodeRecord *out, Error *err)
{
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    AUTO_CLEAR(WatchedImage) image;
    watched_image_init(&image);
    Str text;
    const char *path = arena_copy_c(arena, arena_format(arena, "%s/" AGENT_DIRECTORY, state_dir));
    if (!directory_open(path, &agent, err)) {
        if (err->kind == ERROR_DENIED && !file_exists(path)) {
            err->kind = ERROR_NOT_FOUND; /* nothing speaks for an agent */
        }
        return false;
    }
    if (!directory_has(&agent, AGENT_STATE)) {
        return error_set(err, ERROR_NOT_FOUND, "this machine is not a node of a cluster");
    }
    if (!directory_read(&agent, arena, WATCHED_NODE_FILE, WATCHED_MAX, &text, err)) {
        return false;
    }
    if (!watched_image_read(text, &image, err)) {
        return error_wrap(err, "%s/" WATCHED_NODE_FILE, agent.path);
    }
    if (image.entries.len == 0) {
        return error_set(err, ERROR_NOT_FOUND, "the cluster has no record of this node");
    }
    return node_record_read(arena, arena_copy(arena, image.entries.items[0].value), out, err) ||
           error_wrap(err, "%s/" WATCHED_NODE_FILE, agent.path);
}
