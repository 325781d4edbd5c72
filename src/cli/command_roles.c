/* eden roles: manages roles. */
#include "cli/kind_command.h"

static const Verb verbs[] = {
    KIND_VERBS("roles", "role", "ROLE", WORD_ROLE, "web-operator"),
    { 0 },
};

const Command command_roles = {
    .name = "roles",
    .alias = "role",
    .group = GROUP_CLUSTER,
    .kind = "Role",
    .help = "Manage roles and their permissions.",
    .text = "A role is a list of rules. Each rule allows verbs on object kinds, optionally\n"
            "limited to objects that match a selector. Roles are assigned to tokens and user\n"
            "certificates. Example of a file:\n"
            "\n"
            "    metadata: {name: web-operator}\n"
            "    spec:\n"
            "      rules:\n"
            "      - {verbs: [get, list, approve], kinds: [Node], selector: role=web}\n"
            "\n"
            "The roles admin, operator and viewer are built in and cannot be deleted.\n"
            "\n"
            "You cannot grant permissions that you do not have. Admitting machines requires\n"
            "permission to 'approve' every Node (admin, operator): 'create' on Token alone\n"
            "allows creating API tokens, but not join tokens.",
    .options = kind_options,
    .verbs = verbs,
};
