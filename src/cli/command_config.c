/* eden config: cluster-wide settings. */
#include "cli/kind_command.h"

/* The object to show or change. */
static Str config_name(const Invocation *invocation)
{
    return str_from_c(invocation_text(invocation, "name"));
}

static int run_show(Invocation *invocation)
{
    return kind_show(invocation, config_name(invocation));
}

static int run_set(Invocation *invocation)
{
    return kind_set(invocation, config_name(invocation));
}

static int run_list(Invocation *invocation)
{
    return kind_list_as(invocation, kind_print_table,
                        "nothing is set; 'eden config set title=Production' sets a title, 'eden "
                        "schema Config' shows all fields");
}

#define NAME_OPTION                                                \
    {                                                              \
        .name = "name", .argument = "NAME", .fallback = "cluster", \
        .help = "name of the object; eden uses only 'cluster'"     \
    }
static const Option name_options[] = { NAME_OPTION, { 0 } };

static const Verb verbs[] = {
    { .name = "list",
      .is_default = true,
      .help = "List Config objects.",
      .options = kind_list_options,
      .run = run_list },
    { .name = "show",
      .alias = "get",
      .help = "Show the settings.",
      .text = "Also available as 'eden config get'.",
      .options = name_options,
      .examples = { { "eden config show", "show all settings" } },
      .run = run_show },
    { .name = "set",
      .args = { { "SETTING...", WORD_SETTING } },
      .help = "Change settings.",
      .text = "SETTING is FIELD=VALUE, FIELD:=JSON for values that are not strings, or FIELD-\n"
              "to unset a field. Other fields are left unchanged. 'eden schema Config' lists\n"
              "the fields.",
      .options = name_options,
      .examples = { { "eden config set title=Production color=red",
                      "distinguish this cluster from others" },
                    { "eden config set color-", "unset a field" } },
      .run = run_set },
    { .name = "delete",
      .args = { { "NAME..." } },
      .help = "Delete Config objects.",
      .run = kind_run_delete },
    { 0 },
};

const Command command_config = {
    .name = "config",
    .group = GROUP_CLUSTER,
    .kind = "Config",
    .help = "Show and set cluster-wide settings.",
    .options = kind_options,
    .verbs = verbs,
};
