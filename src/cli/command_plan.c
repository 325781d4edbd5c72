/* eden plan: what an apply would do. */
#include "cli/run_command.h"

static int plan_run(Invocation *invocation)
{
    RunConfig config;
    if (!run_config_get(invocation, &config)) {
        return EXIT_USAGE;
    }
    config.planning = true;
    RunOrder order = { .out = invocation_text(invocation, "out") };
    return run_command(invocation, &config, &order);
}

static const Option options[] = {
    SITE_OPTIONS,
    RUN_OPTIONS,
    { .name = "out",
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "save the plan, for 'eden apply FILE'" },
    { 0 },
};

static const Example examples[] = {
    { "eden plan site/", "what this node would change" },
    { "eden plan site/ --label role=web --root /srv/image",
      "for another role, below another root" },
    { "eden plan steps.yaml --detailed-exitcode -o json", "exit 2 when something would change" },
    { "eden plan site/ --out today.plan && eden apply today.plan", "do that, or nothing" },
    { 0 },
};

const Command command_plan = {
    .name = "plan",
    .group = GROUP_OPERATE,
    .args = "PATH",
    .args_min = 1,
    .args_max = 1,
    .word = WORD_FILE,
    .help = "Show what an apply would change.",
    .text =
        "PATH is a site, or one file of steps. Every step is checked and nothing is touched.\n"
        "What only a run can tell, such as the output of a command, is unknown, and so is\n"
        "what depends on it.\n"
        "\n"
        "A plan that was saved with --out can be applied as long as neither the site nor what\n"
        "the steps found on the machine has moved; otherwise 'eden apply' refuses it (exit 5).\n"
        "The file holds what was given with -D.",
    .options = options,
    .examples = examples,
    .run = plan_run,
};
