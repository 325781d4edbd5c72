/* eden run: applies the site to nodes of the cluster. */
#include "cli/fleet_run.h"
#include "cli/kind_print.h"
#include "cli/version_ref.h"

static void set_list(Arena *arena, Map *map, const char *name, const char *const *items,
                     uint32_t count)
{
    List *list = list_new(arena, count);
    for (uint32_t i = 0; i < count; i++) {
        list_push(arena, list, value_string(str_from_c(items[i])));
    }
    if (count > 0) {
        map_set_str(arena, map, str_from_c(name), value_list(list));
    }
}

/* Without this check, 'eden run show 20261118T2201' would apply jobs with these names. */
static bool is_verb_of_runs(const Invocation *invocation)
{
    return invocation->arg_count > 1 &&
           verb_find(command_find(STR("runs")), str_from_c(invocation->args[0])) != NULL &&
           ascii_is_digit(invocation->args[1][0]);
}

static int run_run(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Map *spec = map_new(arena, 8);
    uint32_t count;
    const char *version = invocation_text(invocation, "version"),
               *order = invocation_text(invocation, "order");
    if (is_verb_of_runs(invocation)) {
        return usage_error(invocation, "'%s' is not a job; did you mean 'eden runs %s %s'?",
                           invocation->args[0], invocation->args[0], invocation->args[1]);
    }
    if (!inputs_check_defines(invocation) || !fleet_spec_read(invocation, "time-limit", spec)) {
        return EXIT_USAGE;
    }
    if (version != NULL) {
        Value found;
        int code = version_ref_find(invocation, version, &found);
        if (code != EXIT_OK) {
            return code;
        }
        map_set_str(arena, spec, STR("version"), value_string(object_name(found)));
    }
    set_list(arena, spec, "jobs", invocation->args, invocation->arg_count);
    const char **defines = invocation_texts(invocation, "define", &count);
    set_list(arena, spec, "defines", defines, count);
    if (order != NULL) {
        map_set_str(arena, spec, STR("order"), value_string(str_from_c(order)));
    }
    if (invocation_flag(invocation, "check")) {
        map_set_str(arena, spec, STR("check"), value_bool(true));
    }
    return fleet_run_start(invocation, "/v1/runs", spec);
}

static const Option options[] = {
    FLEET_CREATE_OPTIONS,
    { .name = "time-limit",
      .argument = "TIME",
      .help = "stop the run on a node after this long: running steps get SIGTERM, and SIGKILL 2s "
              "later" },
    { .name = "check", .help = "show what would change, without changing anything" },
    { .name = "version",
      .argument = "REF",
      .word = WORD_VERSION,
      .help = "version of the site, as in 'eden versions'; default: the current one" },
    { .name = "order",
      .argument = "MODE",
      .choices = "ansible|justdoit|genius",
      .help = "one step at a time, in parallel, or longest chain first" },
    { .name = "define",
      .letter = 'D',
      .argument = "KEY=VALUE",
      .repeats = true,
      .help = "set a variable to a string; KEY:=JSON for other types" },
    OUTPUT_OPTION(KIND_FORMATS "|markdown", "table", "output format"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden run", "apply the current version of the site to all nodes" },
    { "eden run -l role=web --check", "show what would change on the web servers" },
    { "eden run --check --version 3f2a -o markdown", "print a comment for a merge request" },
    { "eden run backup -l db1 --reason 'before the upgrade'", "run one job on one node" },
    { 0 },
};

const Command command_run = {
    .name = "run",
    .group = GROUP_CLUSTER,
    .args = { { "[JOB...]" } },
    .help = "Apply the site to nodes in the cluster.",
    .text =
        "Without JOB, each node applies the jobs that jobs/base.yaml assigns to it. Each node\n"
        "makes its own plan and executes one run at a time. A node without a session is reported\n"
        "as silent, never as ok.\n"
        "\n"
        "With --check, nothing is changed; each distinct change is shown once, with the nodes it\n"
        "would affect. This also works for a version that is not current ('eden push\n"
        "--no-activate'). REF is the name or git commit of a version, a unique prefix of either,\n"
        "'current' or 'previous'.\n"
        "\n"
        "Ctrl-C stops watching, not the run: 'eden runs watch' resumes watching, and 'eden runs\n"
        "cancel' stops the run.",
    .options = options,
    .examples = examples,
    .run = run_run,
};
