/* eden leave: this machine is no node any more. */
#include "agent/agent.h"
#include "agent/membership.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/output.h"
#include "membership/lost_settings.h"
#include "server/founding.h"
#include "sys/file_lock.h"

/* Which node it is; what is wrong was told when it returns false. */
static bool read_node(Invocation *invocation, const Directory *agent, NodeState *out, int *code)
{
    Error err;
    if (node_state_load(agent, invocation->arena, out, &err)) {
        return true;
    }
    if (err.kind == ERROR_NOT_FOUND) {
        error_set(&err, ERROR_UNAVAILABLE, "this machine is no node of a cluster");
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
    /* Also one that has lost them: its node is needed as soon as they are put back. */
    return directory_open(path.data, &server, &err) &&
           (directory_has(&server, SERVER_SETTINGS_FILE) || lost_settings_are(&server));
}

static int tell(const Invocation *invocation, const NodeState *node, bool told)
{
    Arena *arena = invocation->arena;
    if (invocation_prints(invocation, "json")) {
        Map *map = map_new(arena, 4);
        map_set_str(arena, map, STR("format"), value_string(STR("eden.left/1")));
        map_set_str(arena, map, STR("cluster"), value_string(str_from_c(node->cluster)));
        map_set_str(arena, map, STR("node"), value_string(str_from_c(node->node)));
        map_set_str(arena, map, STR("told"), value_bool(told));
        return output_json(invocation, value_map(map));
    }
    stream_put_format(invocation->out, "this machine is no longer node '%s' of cluster '%s'\n",
                      node->node, node->cluster);
    if (!told) {
        stream_put_format(
            invocation->err,
            "unless it was removed there, the cluster does not know; on a server run\n"
            "  eden nodes remove %s\n",
            node->node);
    }
    return EXIT_OK;
}

/* Without an agent, which cannot come meanwhile either. */
static bool forget_here(const Invocation *invocation, const Directory *agent, Error *err)
{
    AUTO_CLEAR(FileLock) lock = { .descriptor = -1 };
    Str holder;
    return file_lock_take(agent, AGENT_LOCK, STR("eden leave"), invocation->arena, &lock, &holder,
                          err) &&
           membership_forget(agent, err);
}

/* A node that was removed at the server has no session either: nobody is left to ask. */
static int fail_unasked(Invocation *invocation, const char *code, const Error *err)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    Problem *problem = problems_add(&inputs.problems, code, NULL, 0, 0, "%s", err->text);
    problem->hint = STR("'eden leave --force' forgets the cluster here, as for a node that was "
                        "removed already");
    (void)inputs_report(&inputs, invocation);
    return error_kind_exit_code(err->kind);
}

static int leave_run(Invocation *invocation)
{
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    Arena *arena = invocation->arena;
    bool force = invocation_flag(invocation, "force"), asked;
    ClusterRequest request = { .method = "POST",
                               .target = force ? STR("/v1/agent/forget") : STR("/v1/agent/leave"),
                               .socket = AGENT_SOCKET };
    NodeState node;
    Value answer;
    Error err;
    int code = EXIT_OK;
    Str path = arena_format(arena, "%s/" AGENT_DIRECTORY "%c",
                            invocation_text(invocation, "state-dir"), 0);
    if (!directory_open(path.data, &agent, &err)) {
        if (err.kind == ERROR_NOT_FOUND) {
            error_set(&err, ERROR_UNAVAILABLE, "this machine is no node of a cluster");
        }
        return daemon_command_fail(invocation, "E0832", &err);
    }
    if (!read_node(invocation, &agent, &node, &code)) {
        return code;
    }
    if (is_server(invocation)) {
        error_set(&err, ERROR_CONFLICT,
                  "this machine is a server of cluster '%s', and cannot leave it", node.cluster);
        return daemon_command_fail(invocation, "E0832", &err);
    }
    if (cluster_ask(invocation, &request, &answer, &asked, &err)) {
        return tell(invocation, &node, !force);
    }
    if (!asked && force && !file_lock_is_held(&agent, AGENT_LOCK)) {
        return forget_here(invocation, &agent, &err)
                   ? tell(invocation, &node, false)
                   : daemon_command_fail(invocation, "E0832", &err);
    }
    return !force && err.kind == ERROR_UNAVAILABLE
               ? fail_unasked(invocation, asked ? "E0832" : "E0840", &err)
               : daemon_command_fail(invocation, asked ? "E0832" : "E0840", &err);
}

static const Option options[] = {
    { .name = "force", .help = "leave even if no server can be asked to remove the node" },
    CLUSTER_OPTIONS,
    OUTPUT_OPTION("text|json", "text", "how to print the result"),
    { 0 },
};

static const Example examples[] = {
    { "eden leave", "be removed by the server, and forget the cluster here" },
    { "eden leave --force", "once the server has removed it, or is gone" },
    { 0 },
};

const Command command_leave = {
    .name = "leave",
    .group = GROUP_CLUSTER,
    .help = "Remove this machine from its cluster.",
    .text =
        "The agent asks its server to remove this node, whose certificates are refused from then\n"
        "on, and takes away its key, its certificate and whatever it had still to tell. It goes\n"
        "on running, and waits for another 'eden join'.\n"
        "\n"
        "With --force only what lies on this machine goes, also without an agent: the command\n"
        "to run on a server is printed.",
    .options = options,
    .examples = examples,
    .run = leave_run,
};
