/* eden apply: bring this machine into the state that a site describes. */
#include "cli/plan_input.h"
#include "cli/run_command.h"
#include "cli/run_resume.h"
#include "cli/run_try.h"

static int apply_run(Invocation *invocation)
{
    RunConfig config;
    Value plan;
    bool planned;
    int code;
    if (invocation_flag(invocation, "resume")) {
        return run_resume(invocation);
    }
    if (invocation->arg_count == 0) {
        return usage_error(invocation, "PATH is missing");
    }
    if (!run_config_get(invocation, &config)) {
        return EXIT_USAGE;
    }
    if (!plan_input_get(invocation, true, &config, &plan, &planned, &code)) {
        return code;
    }
    if (planned && !plan_input_complete(invocation, plan, &config)) {
        return EXIT_USAGE;
    }
    if (invocation_flag(invocation, "try")) {
        return run_try(invocation, &config);
    }
    RunOrder order = { .plan = planned ? &plan : NULL };
    return run_command(invocation, &config, &order);
}

static const Option options[] = {
    SITE_OPTIONS("show also what did not change"),
    RUN_OPTIONS,
    { .name = "resume",
      .help = "continue runs that restarted the machine, without PATH; its own unit does this" },
    { .name = "try", .help = "run for real, in a temporary copy of this machine" },
    { .name = "network", .help = "with --try: allow use of the network" },
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
    .args = { { "[PATH]", WORD_FILE } },
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
        "When a step restarts the machine (machine.reboot), the run goes on by itself after that.\n"
        "\n"
        "With --try everything is done for real, commands too, in a private overlay of this\n"
        "machine's file systems, without network and without the other processes. What changed\n"
        "is told and thrown away, and what still runs is ended. Services, swap, modules of the\n"
        "kernel and the clock are the machine's own and out of reach: such steps fail. It needs\n"
        "the rights of root.",
    .options = options,
    .examples = examples,
    .run = apply_run,
};
