/* eden config: what is set for the whole cluster. */
#include "cli/kind_command.h"
#include "cli/kind_watch.h"
#include "cli/verbs.h"

static const Kind *kind(void)
{
    return kind_find(STR("Config"));
}

/* The object that counts. */
static Str cluster_name(const Invocation *invocation)
{
    return str_from_c(invocation_text(invocation, "name"));
}

static int run_show(Invocation *invocation)
{
    return kind_run_show(invocation, kind(), cluster_name(invocation));
}

static int run_set(Invocation *invocation)
{
    return kind_run_set(invocation, kind(), cluster_name(invocation));
}

static int run_list(Invocation *invocation)
{
    return kind_run_list_as(invocation, kind(), kind_print_table,
                            "nothing is set; 'eden config set title=Production' sets a title, "
                            "'eden schema Config' tells what else there is");
}

static int run_delete(Invocation *invocation)
{
    return kind_run_delete(invocation, kind());
}

static int config_run(Invocation *invocation)
{
    static const Verb verbs[] = {
        { "list", "", 0, 0, run_list },
        { "show", "", 0, 0, run_show },
        { "get", "", 0, 0, run_show },
        { "set", "FIELD=VALUE or FIELD-, one or more", 1, UINT32_MAX, run_set },
        { "delete", "NAME...", 1, UINT32_MAX, run_delete },
        { 0 },
    };
    return verbs_run(invocation, verbs);
}

static const Option options[] = {
    { .name = "name",
      .verbs = "show|set",
      .argument = "NAME",
      .fallback = "cluster",
      .help = "which object; eden itself uses only 'cluster'" },
    SELECTOR_OPTION,
    WATCH_OPTION,
    OUTPUT_OPTION(KIND_FORMATS, "table", "how to print"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden config set title=Production color=red", "to tell it from other clusters" },
    { "eden config show", "what is set" },
    { "eden config set color-", "unset one field" },
    { 0 },
};

const Command command_config = {
    .name = "config",
    .group = GROUP_CLUSTER,
    .args = "[list|show|set|delete] [FIELD=VALUE...]",
    .args_max = UINT32_MAX,
    .word = WORD_SETTING,
    .choices = "list|show|get|set|delete",
    .help = "Show and set cluster-wide settings.",
    .text =
        "'show' prints what is set; 'get' is the same.\n"
        "\n"
        "'set' takes FIELD=VALUE, FIELD:=JSON for what is no text, and FIELD- to unset a field;\n"
        "what is not named stays. 'eden schema Config' tells which fields there are.",
    .options = options,
    .examples = examples,
    .run = config_run,
};
