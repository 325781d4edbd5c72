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
            "The roles admin, operator and viewer are built in and cannot be deleted.\n"
            "\n"
            "You cannot grant more than you have. Only those who may 'approve' every Node "
            "(admin,\noperator) can admit machines: 'create' on Token alone allows tokens for the "
            "API,\nbut no join tokens.",
    .options = kind_options,
    .verbs = verbs,
};
