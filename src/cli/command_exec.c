/* eden exec: executes a command on nodes of the cluster. */
#include "cli/fleet_run.h"
#include "cli/kind_print.h"
#include "cli/output.h"

static int exec_run(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Map *spec = map_new(arena, 4);
    List *command = list_new(arena, invocation->arg_count);
    if (!fleet_spec_read(invocation, "timeout", spec)) {
        return EXIT_USAGE;
    }
    if (value_get_text(value_map(spec), "selector").len == 0) {
        return usage_error(invocation, "--selector is required; use -l '*' for all nodes");
    }
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        list_push(arena, command, value_string(str_from_c(invocation->args[i])));
    }
    map_set_str(arena, spec, STR("command"), value_list(command));
    int code = fleet_run_start(invocation, "/v1/exec", spec);
    if (code == EXIT_FAILED && invocation->arg_count == 1 &&
        strchr(invocation->args[0], ' ') != NULL) {
        output_line(invocation->err,
                    "'%s' is the name of a program; for a shell command, use: sh -c '%s'",
                    invocation->args[0], invocation->args[0]);
    }
    return code;
}

static const Option options[] = {
    FLEET_CREATE_OPTIONS,
    { .name = "timeout",
      .argument = "TIME",
      .synonyms = "time-limit",
      .help = "kill the command on a node after this long" },
    OUTPUT_OPTION(KIND_FORMATS, "table", "output format"),
    CLUSTER_OPTIONS_WITH("response-timeout"),
    { 0 },
};

static const Example examples[] = {
    { "eden exec -l role=web -- systemctl is-active nginx", "check a service on all web servers" },
    { "eden exec -l '*' --limit 3 -- uname -r", "run a command on three nodes only" },
    { "eden exec -l role=web --timeout 20s --reason 'disk alert' -- df -h /",
      "set a time limit for the command" },
    { 0 },
};

const Command command_exec = {
    .name = "exec",
    .group = GROUP_CLUSTER,
    .args = { { "COMMAND..." } },
    .help = "Execute a command on nodes in the cluster.",
    .text = "COMMAND is a program with its arguments; put '--' before it. It is executed without\n"
            "a shell. Identical results are shown once, with the nodes that returned them. This\n"
            "requires the 'exec' permission on Run, which the operator role does not include,\n"
            "and is recorded in the audit log.",
    .options = options,
    .examples = examples,
    .run = exec_run,
};
