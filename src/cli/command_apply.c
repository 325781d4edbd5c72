/* eden apply: bring this machine into the state that a site describes. */
#include "cli/run_command.h"
#include "cli/run_try.h"
#include "run/plan_file.h"
#include "sys/file.h"

enum {
    PLAN_MAX = 256 << 20 /* bytes of a saved plan */
};

/* PATH may be a plan that was saved: what it says takes the place of the options. */
static bool read_plan(const Invocation *invocation, RunConfig *config, Value *plan, bool *found,
                      Error *err)
{
    Str text;
    *found = false;
    if (file_is_directory(config->path) ||
        !file_read(invocation->arena, config->path, PLAN_MAX, &text, err) || !plan_file_is(text)) {
        return true; /* a site, or what is wrong with it is told later */
    }
    *found = true;
    return plan_file_config(invocation->arena, text, plan, config, err);
}

/* Whether the option says the same as the plan's list; an option that was not given does. */
static bool says_the_same(const Invocation *invocation, const char *option, Value planned)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < invocation->given_count; i++) {
        const Given *given = &invocation->given[i];
        if (strcmp(given->option->name, option) != 0) {
            continue;
        }
        Value one = value_is_sequence(planned) && count < planned.list->len
                        ? planned.list->items[count]
                        : planned;
        if (!value_is_string(one) || !str_eq_c(value_str(one), given->value)) {
            return false;
        }
        count++;
    }
    return count == 0 || !value_is_sequence(planned) || count == planned.list->len;
}

/* The plan was made for one root, one node, one set of values. Another one on the command line is
 * a mistake that must not be passed over. */
static bool agrees_with_plan(const Invocation *invocation, Value plan)
{
    static const struct {
        const char *option, *key;
    } decided[] = {
        { "root", "root" },    { "state-dir", "state_dir" }, { "config-dir", "config_dir" },
        { "node", "node" },    { "order", "order" },         { "job", "jobs" },
        { "label", "labels" }, { "vars", "vars" },           { "define", "defines" }
    };
    for (size_t i = 0; i < COUNT_OF(decided); i++) {
        if (!says_the_same(invocation, decided[i].option,
                           *value_get(plan, str_from_c(decided[i].key)))) {
            usage_error(invocation,
                        "--%s is not what the saved plan was made with; leave it away, or make a "
                        "new plan",
                        decided[i].option);
            return false;
        }
    }
    return true;
}

static int apply_run(Invocation *invocation)
{
    RunConfig config;
    Value plan;
    bool planned;
    Error err;
    if (!run_config_get(invocation, &config)) {
        return EXIT_USAGE;
    }
    if (!read_plan(invocation, &config, &plan, &planned, &err)) {
        return usage_error(invocation, "%s: %s", config.path, err.text);
    }
    if (planned && !agrees_with_plan(invocation, plan)) {
        return EXIT_USAGE;
    }
    if (invocation_flag(invocation, "try")) {
        return run_try(invocation, &config);
    }
    RunOrder order = { .plan = planned ? &plan : NULL };
    return run_command(invocation, &config, &order);
}

static const Option options[] = {
    SITE_OPTIONS,
    RUN_OPTIONS,
    { .name = "try", .help = "for real, in a throwaway copy of this machine" },
    { .name = "network", .help = "with --try: keep the network" },
    { 0 },
};

static const Example examples[] = {
    { "eden apply site/", "bring this node where the site wants it" },
    { "eden apply site/ --order justdoit", "all at once that requisites allow" },
    { "eden apply steps.yaml --root /srv/image -D version=1.4", "one file of steps, on an image" },
    { "eden apply site/ --try", "see every file that it would change, commands included" },
    { 0 },
};

const Command command_apply = {
    .name = "apply",
    .group = GROUP_OPERATE,
    .args = "PATH",
    .args_min = 1,
    .args_max = 1,
    .word = WORD_FILE,
    .help = "Bring this machine into the state that a site describes.",
    .text =
        "PATH is a site, or one file of steps. Steps run in the order that their requisites\n"
        "ask for; each looks first and acts only where something differs. A step that fails\n"
        "blocks those that require it, and the rest goes on.\n"
        "\n"
        "What was there before a change is kept below --state-dir, and so is what a change\n"
        "owes, such as the restart of a service: when a run ends too early, the next one pays\n"
        "it ('eden owed'). Ctrl-C stops between steps, a second one also what runs.\n"
        "\n"
        "PATH may also be a plan that 'eden plan --out' saved. It is refused (exit 5) when the\n"
        "site or the machine has moved since.\n"
        "\n"
        "With --try everything is done for real, commands too, in a private overlay of this\n"
        "machine's file systems, without network and without the other processes. What changed\n"
        "is told and thrown away, and what still runs is ended. It needs the rights of root.",
    .options = options,
    .examples = examples,
    .run = apply_run,
};
