/* eden leave: removes this machine from its cluster. */
#include "agent/agent.h"
#include "agent/membership.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/output.h"
#include "membership/lost_settings.h"
#include "server/create_cluster.h"
#include "sys/file_lock.h"

/* Reads which node this machine is. On failure, reports the error, sets `*code` and returns
 * false. */
static bool read_node(Invocation *invocation, const Directory *agent, NodeState *out, int *code)
{
    Error err;
    if (node_state_load(agent, invocation->arena, out, &err)) {
        return true;
    }
    if (err.kind == ERROR_NOT_FOUND) {
        error_set(&err, ERROR_UNAVAILABLE, "this machine is not a node");
    }
    *code = daemon_command_fail(invocation, "E0832", &err);
    return false;
}

static bool is_server(const Invocation *invocation)
{
    AUTO_CLEAR(Directory) server = { .descriptor = -1 };
    Error err;
    Str path = arena_format(invocation->arena, "%s/" SERVER_DIRECTORY "%c",
                            invocation_text(invocation, "state-dir"), 0);
    /* Also true for a server that has lost its files: its node is needed once they are restored. */
    return directory_open(path.data, &server, &err) &&
           (directory_has(&server, SERVER_SETTINGS_FILE) || settings_are_lost(&server));
}

static int print_left(const Invocation *invocation, const NodeState *node, bool is_notified)
{
    Arena *arena = invocation->arena;
    if (invocation_prints(invocation, "json")) {
        Map *map = map_new(arena, 4);
        map_set_str(arena, map, STR("format"), value_string(STR("eden.left/1")));
        map_set_str(arena, map, STR("cluster"), value_string(str_from_c(node->cluster)));
        map_set_str(arena, map, STR("node"), value_string(str_from_c(node->node)));
        map_set_str(arena, map, STR("notified"), value_bool(is_notified));
        return output_json(invocation, value_map(map));
    }
    stream_put_format(invocation->out, "this machine is no longer node '%s' of cluster '%s'\n",
                      node->node, node->cluster);
    if (!is_notified) {
        stream_put_format(invocation->err,
                          "the cluster may still list this node; to remove it, run on a server\n"
                          "  eden nodes remove %s\n",
                          node->node);
    }
    return EXIT_OK;
}

/* Deletes the local data while holding the agent's lock, so that no agent can start. */
static bool delete_local_data(const Invocation *invocation, const Directory *agent, Error *err)
{
    AUTO_CLEAR(FileLock) lock = { .descriptor = -1 };
    Str holder;
    return file_lock_take(agent, AGENT_LOCK, STR("eden leave"), invocation->arena, &lock, &holder,
                          err) &&
           membership_forget(agent, err);
}

/* A node that was already removed on the server has no session, so it cannot request its
 * removal. */
static int fail_with_hint(Invocation *invocation, const char *code, const Error *err)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    Problem *problem = problems_add(&inputs.problems, code, NULL, 0, 0, "%s", err->text);
    problem->hint = STR(
        "if the node was already removed, 'eden leave --force' deletes its data on this machine");
    (void)inputs_report(&inputs, invocation);
    return error_kind_exit_code(err->kind);
}

static int leave_run(Invocation *invocation)
{
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    Arena *arena = invocation->arena;
    bool force = invocation_flag(invocation, "force"), responded;
    ClusterRequest request = { .method = "POST",
                               .target = force ? STR("/v1/agent/forget") : STR("/v1/agent/leave"),
                               .socket = AGENT_SOCKET };
    NodeState node;
    Value response;
    Error err;
    int code = EXIT_OK;
    Str path = arena_format(arena, "%s/" AGENT_DIRECTORY "%c",
                            invocation_text(invocation, "state-dir"), 0);
    if (!directory_open(path.data, &agent, &err)) {
        if (err.kind == ERROR_NOT_FOUND) {
            error_set(&err, ERROR_UNAVAILABLE, "this machine is not a node");
        }
        return daemon_command_fail(invocation, "E0832", &err);
    }
    if (!read_node(invocation, &agent, &node, &code)) {
        return code;
    }
    if (is_server(invocation)) {
        error_set(&err, ERROR_CONFLICT,
                  "this machine is a server of cluster '%s'; if there are others, 'eden servers "
                  "remove %s' makes it an ordinary node, which can leave",
                  node.cluster, node.node);
        return daemon_command_fail(invocation, "E0832", &err);
    }
    if (cluster_send(invocation, &request, &response, &responded, &err)) {
        return print_left(invocation, &node, !force);
    }
    if (!responded && force && !file_lock_is_held(&agent, AGENT_LOCK)) {
        return delete_local_data(invocation, &agent, &err)
                   ? print_left(invocation, &node, false)
                   : daemon_command_fail(invocation, "E0832", &err);
    }
    return !force && err.kind == ERROR_UNAVAILABLE
               ? fail_with_hint(invocation, responded ? "E0832" : "E0840", &err)
               : daemon_command_fail(invocation, responded ? "E0832" : "E0840", &err);
}

static const Option options[] = {
    { .name = "force", .help = "delete the local data even if no server can be reached" },
    CLUSTER_OPTIONS,
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden leave", "remove the node and its local data" },
    { "eden leave --force", "clean up if the server is gone or has already removed the node" },
    { 0 },
};

const Command command_leave = {
    .name = "leave",
    .group = GROUP_CLUSTER,
    .help = "Remove this machine from its cluster.",
    .text =
        "The agent asks a server to remove this node; from then on, the node's certificates are\n"
        "rejected. The agent then deletes its key and certificate, unsent records and all data\n"
        "from the cluster. It keeps running and waits for another 'eden join'.\n"
        "\n"
        "With --force, only local data is deleted, even if no agent is running; the command to\n"
        "run on a server is printed.",
    .options = options,
    .examples = examples,
    .run = leave_run,
};
