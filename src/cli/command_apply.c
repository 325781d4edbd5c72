/* eden apply: bring this machine into the state that a site describes. */
#include "cli/run_command.h"

static int apply_run(Invocation *invocation)
{
    RunConfig config;
    return run_config_get(invocation, &config) ? run_command(invocation, &config) : EXIT_USAGE;
}

static const Option options[] = {
    SITE_OPTIONS,
    RUN_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden apply site/", "bring this node where the site wants it" },
    { "eden apply site/ --order justdoit", "all at once that requisites allow" },
    { "eden apply steps.yaml --root /srv/image -D version=1.4", "one file of steps, on an image" },
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
    .text = "PATH is a site, or one file of steps. Steps run in the order that their requisites\n"
            "ask for; each looks first and acts only where something differs. A step that fails\n"
            "blocks those that require it, and the rest goes on.\n"
            "\n"
            "What was there before a change is kept below --state-dir, and so is what a change\n"
            "owes, such as the restart of a service: when a run ends too early, the next one pays\n"
            "it ('eden owed'). Ctrl-C stops between steps, a second one also what runs.\n",
    .options = options,
    .examples = examples,
    .run = apply_run,
};
