/* eden plan: shows what an apply would do. */
#include "base/utc.h"
#include "base/visible.h"
#include "cli/output.h"
#include "cli/plan_input.h"
#include "cli/run_command.h"

/* Prints a saved plan, with the output of the original 'eden plan'. */
static int print_saved(Invocation *invocation, Value plan)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    if (!invocation_prints(invocation, "text")) {
        return output_value(&inputs, invocation, OUTPUT_LINE, plan);
    }
    const Value *path = value_get(plan, STR("path"));
    const Value *output = value_get(plan, STR("shown"));
    int64_t seconds = value_get_int(plan, "at");
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put(&text, STR("saved plan of "));
    visible_put(&text, value_str(*path));
    buf_put_format(&text, ", created at %" STR_FMT "\n",
                   STR_ARG(utc_text(invocation->arena, seconds * 1000)));
    if (output != NULL && value_is_string(*output)) {
        buf_put(&text, value_str(*output));
    }
    stream_put(invocation->out, buf_str(&text));
    return EXIT_OK;
}

static int plan_run(Invocation *invocation)
{
    RunConfig config;
    if (!run_config_get(invocation, &config)) {
        return EXIT_USAGE;
    }
    Value plan;
    bool is_saved;
    int code;
    if (!plan_input_get(invocation, false, &config, &plan, &is_saved, &code)) {
        return code;
    }
    if (is_saved) {
        return print_saved(invocation, plan);
    }
    config.planning = true;
    PlanFiles plan_files = { .out = invocation_text(invocation, "out") };
    return run_command(invocation, &config, &plan_files);
}

static const Option options[] = {
    SITE_OPTIONS("also show steps that would not change anything"),
    RUN_OPTIONS,
    { .name = "out",
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "save the plan to this file, for 'eden apply FILE'" },
    { 0 },
};

static const Example examples[] = {
    { "eden plan site/", "show what would change on this node" },
    { "eden plan site/ --label role=web --root /srv/image",
      "plan for a different role, in a different root directory" },
    { "eden plan steps.yaml --detailed-exitcode -o json", "exit with 2 if something would change" },
    { "eden plan site/ --out today.plan && eden apply today.plan",
      "apply exactly this plan, or nothing" },
    { 0 },
};

const Command command_plan = {
    .name = "plan",
    .group = GROUP_OPERATE,
    .args = { { "PATH", WORD_FILE } },
    .help = "Show what an apply would change.",
    .text =
        "PATH is a site or a single file of steps. Every step is checked, but nothing is\n"
        "changed. Values known only at run time, such as the output of a command, are shown as\n"
        "unknown, and so is everything that depends on them. A step fails (exit code 1) if\n"
        "something it needs is missing and no earlier step can provide it.\n"
        "\n"
        "Plans are not recorded; 'eden why' explains only applies. The plan itself shows why a\n"
        "step would run or be skipped; with --verbose, it does so for every step.\n"
        "\n"
        "A plan saved with --out can be applied only while the site and the machine state that\n"
        "its steps depend on are unchanged. Otherwise, 'eden apply' rejects it (exit code 5) and\n"
        "prints the complete command that recreates the plan. The file contains the values given\n"
        "with -D, so only its owner can read it. Secrets are not saved; pass them again to apply\n"
        "the plan. 'eden plan FILE' shows a saved plan.",
    .options = options,
    .internal_options = run_internal_options,
    .examples = examples,
    .run = plan_run,
};
