/* Reads and writes the files of node_state.h. Each file is replaced atomically; their order matters
 * only when joining and leaving. */
#include "membership/node_state.h"

#include "lang/record.h"
#include "membership/watched_image.h"
#include "net/address.h"
#include "sys/file.h"

static bool check_address(Str text, Error *err)
{
    Address address;
    return address_parse(text, 1, &address, err);
}

static bool check_state(const void *record, Error *err)
{
    const NodeState *state = record;
    return state->server_count > 0 || error_set(err, ERROR_INVALID, "'servers': must not be empty");
}

static const RecordField server_fields[] = {
    { "node", RECORD_TEXT, RECORD_CHARS_AT(NodeServer, node), .is_required = true,
      .check_text = node_name_check, .help = "name of the server" },
    { "rpc", RECORD_TEXT, RECORD_STR_AT(NodeServer, rpc), .is_required = true,
      .check_text = check_address, .help = "its address for nodes" },
    { "api", RECORD_TEXT, RECORD_STR_AT(NodeServer, api), .is_required = true,
      .check_text = check_address, .help = "its address for the API" },
    { RECORD_UNKNOWN_AT(NodeServer, unknown) },
    { 0 },
};

static const RecordField state_fields[] = {
    { "cluster", RECORD_TEXT, RECORD_CHARS_AT(NodeState, cluster), .is_required = true,
      .check_text = cluster_name_check, .help = "name of the cluster" },
    { "node", RECORD_TEXT, RECORD_CHARS_AT(NodeState, node), .is_required = true,
      .check_text = node_name_check, .help = "name of this node" },
    { "servers", RECORD_OBJECT,
      RECORD_POINTER_AT(NodeState, servers, server_count, NODE_SERVERS_MAX, NodeServer,
                        server_fields),
      .is_required = true, .help = "servers of the cluster" },
    { RECORD_UNKNOWN_AT(NodeState, unknown) },
    { 0 },
};

static const RecordFormat state_format = {
    .format = "eden.agent/1",
    .what = AGENT_STATE,
    .fields = state_fields,
    .size = sizeof(NodeState),
    .text_max = NODE_STATE_MAX,
    .check = check_state,
};

void node_state_print(const NodeState *state, Buf *out)
{
    record_print_file(&state_format, state, out);
}

bool node_state_read(Arena *arena, Str text, NodeState *out, Error *err)
{
    return record_read(&state_format, arena, arena_copy(arena, text), RECORD_STORED, out, err);
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
            err->kind = ERROR_NOT_FOUND; /* there is no trace of an agent */
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
