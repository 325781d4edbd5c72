/* eden config: what is set for the whole cluster. */
#include "cli/kind_command.h"
#include "cli/kind_watch.h"

/* The object to show or change. */
static Str object_to_use(const Invocation *invocation)
{
    return str_from_c(invocation_text(invocation, "name"));
}

static int run_show(Invocation *invocation)
{
    return kind_show(invocation, object_to_use(invocation));
}

static int run_set(Invocation *invocation)
{
    return kind_set(invocation, object_to_use(invocation));
}

static int run_list(Invocation *invocation)
{
    return kind_list_as(invocation, kind_print_table,
                        "nothing is set; 'eden config set title=Production' sets a title, "
                        "'eden schema Config' shows all fields");
}

#define NAME_OPTION                                                \
    {                                                              \
        .name = "name", .argument = "NAME", .fallback = "cluster", \
        .help = "which object; eden itself uses only 'cluster'"    \
    }
static const Option list_options[] = { SELECTOR_OPTION, WATCH_OPTION, { 0 } };
static const Option name_options[] = { NAME_OPTION, { 0 } };

static const Option options[] = {
    OUTPUT_OPTION(KIND_FORMATS, "table", "how to print"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Verb verbs[] = {
    { .name = "list",
      .is_default = true,
      .help = "List the objects that hold settings.",
      .options = list_options,
      .run = run_list },
    { .name = "show",
      .alias = "get",
      .help = "Show the settings.",
      .text = "'eden config get' is the same.",
      .options = name_options,
      .examples = { { "eden config show", "all settings" } },
      .run = run_show },
    { .name = "set",
      .args = { { "SETTING...", WORD_SETTING } },
      .help = "Change settings.",
      .text = "SETTING is FIELD=VALUE, FIELD:=JSON for values that are not text, or FIELD- to\n"
              "unset a field. Fields that are not named do not change. 'eden schema Config'\n"
              "shows which fields exist.",
      .options = name_options,
      .examples = { { "eden config set title=Production color=red",
                      "tell this cluster from others" },
                    { "eden config set color-", "unset a field" } },
      .run = run_set },
    { .name = "delete",
      .args = { { "NAME..." } },
      .help = "Delete objects that hold settings.",
      .run = kind_run_delete },
    { 0 },
};

const Command command_config = {
    .name = "config",
    .group = GROUP_CLUSTER,
    .kind = "Config",
    .help = "Show and set cluster-wide settings.",
    .options = options,
    .verbs = verbs,
};
