/* eden roles: who may do what. */
#include "cli/kind_command.h"
#include "cli/kind_watch.h"
#include "cli/verbs.h"

static const Kind *kind(void)
{
    return kind_find(STR("Role"));
}

static int run_list(Invocation *invocation)
{
    return kind_run_list(invocation, kind());
}

static int run_show(Invocation *invocation)
{
    return kind_run_show(invocation, kind(), str_from_c(invocation->args[1]));
}

static int run_create(Invocation *invocation)
{
    return kind_run_create(invocation, kind());
}

static int run_apply(Invocation *invocation)
{
    return kind_run_apply(invocation, kind());
}

static int run_delete(Invocation *invocation)
{
    return kind_run_delete(invocation, kind());
}

static int roles_run(Invocation *invocation)
{
    static const Verb verbs[] = {
        { "list", "", 0, 0, run_list },
        { "show", "ROLE", 1, 1, run_show },
        { "create", "--file FILE", 0, 0, run_create },
        { "apply", "--file FILE", 0, 0, run_apply },
        { "delete", "ROLE...", 1, UINT32_MAX, run_delete },
        { 0 },
    };
    return verbs_run(invocation, verbs);
}

static const Option options[] = {
    FILE_OPTION,     SELECTOR_OPTION,
    WATCH_OPTION,    OUTPUT_OPTION(KIND_FORMATS, "table", "how to print"),
    CLUSTER_OPTIONS, { 0 },
};

static const Example examples[] = {
    { "eden roles", "which there are" },
    { "eden roles show operator", "what one of them allows" },
    { "eden roles create -f role.yaml", "one of your own" },
    { "eden roles apply -f role.yaml", "the same, also in place of the one that is there" },
    { "eden roles delete web-operator", "no more of that" },
    { 0 },
};

const Command command_roles = {
    .name = "roles",
    .alias = "role",
    .group = GROUP_CLUSTER,
    .args = "[list|show|create|apply|delete] [ROLE...]",
    .args_max = UINT32_MAX,
    .word = WORD_ROLE,
    .choices = "list|show|create|apply|delete",
    .help = "Manage roles: who may do what.",
    .text =
        "A role is a list of rules, each of which allows verbs on kinds of objects, perhaps only\n"
        "on those that a selector matches. Tokens and certificates of users have roles. As a\n"
        "file:\n"
        "\n"
        "  metadata: {name: web-operator}\n"
        "  spec:\n"
        "    rules:\n"
        "    - {verbs: [get, list, approve], kinds: [Node], selector: role=web}\n"
        "\n"
        "'create' makes one, 'apply' makes or replaces it. To change one, 'eden roles show ROLE >\n"
        "FILE', edit that, and 'eden roles apply -f FILE': when somebody has changed the role in\n"
        "between, nothing is done and the exit code is 5.\n"
        "\n"
        "admin, operator and viewer are built in, and stay.",
    .options = options,
    .examples = examples,
    .run = roles_run,
};
