/* eden roles: who may do what. */
#include "cli/kind_command.h"
#include "cli/kind_watch.h"

static const Option list_options[] = { SELECTOR_OPTION, WATCH_OPTION, { 0 } };
static const Option file_options[] = { FILE_OPTION, { 0 } };

static const Option options[] = {
    OUTPUT_OPTION(KIND_FORMATS, "table", "how to print"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Verb verbs[] = {
    { .name = "list",
      .is_default = true,
      .help = "List roles.",
      .options = list_options,
      .examples = { { "eden roles", "all roles" } },
      .run = kind_run_list },
    { .name = "show",
      .args = { { "ROLE", WORD_ROLE } },
      .help = "Show one role.",
      .examples = { { "eden roles show operator", "what a role allows" } },
      .run = kind_run_show },
    { .name = "create",
      .help = "Create roles from files.",
      .options = file_options,
      .examples = { { "eden roles create -f role.yaml", "a role of your own" } },
      .run = kind_run_create },
    { .name = "apply",
      .help = "Create roles from files, or replace those that exist.",
      .text = "To change a role, run 'eden roles show ROLE > FILE', edit FILE, and run 'eden\n"
              "roles apply -f FILE'. If the role was changed by someone else in between,\n"
              "nothing is done and the exit code is 5.",
      .options = file_options,
      .examples = { { "eden roles apply -f role.yaml",
                      "create the role, or replace it if it exists" } },
      .run = kind_run_apply },
    { .name = "delete",
      .args = { { "ROLE...", WORD_ROLE } },
      .help = "Delete roles.",
      .text = "The built-in roles admin, operator and viewer cannot be deleted.",
      .examples = { { "eden roles delete web-operator", "delete a role" } },
      .run = kind_run_delete },
    { 0 },
};

const Command command_roles = {
    .name = "roles",
    .alias = "role",
    .group = GROUP_CLUSTER,
    .kind = "Role",
    .help = "Manage roles: who may do what.",
    .text = "A role is a list of rules. Each rule allows verbs on kinds of objects,\n"
            "optionally only on those that a selector matches. Tokens and user certificates\n"
            "have roles. As a file:\n"
            "\n"
            "  metadata: {name: web-operator}\n"
            "  spec:\n"
            "    rules:\n"
            "    - {verbs: [get, list, approve], kinds: [Node], selector: role=web}\n"
            "\n"
            "The roles admin, operator and viewer are built in.",
    .options = options,
    .verbs = verbs,
};
