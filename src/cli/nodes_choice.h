/* Resolves the nodes that a verb of `eden nodes` acts on: names, patterns of names, or
 * --selector. */
#pragma once

#include "cli/invocation.h"

#define NODES_SELECTOR_OPTION                                                         \
    {                                                                                 \
        .name = "selector", .letter = 'l', .argument = "SELECTOR",                    \
        .help = "select nodes, such as role=web or 'web*'; see 'eden help selectors'" \
    }
#define YES_OPTION                                                                           \
    {                                                                                        \
        .name = "yes", .letter = 'y',                                                        \
        .help = "do not ask for confirmation if nodes are selected by a pattern or selector" \
    }

typedef struct NodesChoice {
    Str *names; /* without duplicates */
    uint32_t count;
    bool is_pattern; /* selected by a pattern or selector */
} NodesChoice;

/* `words` are names and patterns; with --selector there must be none. `pending`: choose from
 * pending machines instead of nodes. Names are not checked; a pattern or selector that matches
 * nothing is an error. Returns EXIT_OK, or reports the error and returns its exit code. */
int nodes_choose(Invocation *invocation, const char **words, uint32_t count, bool pending,
                 NodesChoice *out);
/* Prints "removes 2 nodes: web1, web2" to standard error, unless the nodes were named
 * explicitly. */
void nodes_choice_show(const Invocation *invocation, const NodesChoice *choice, const char *does);
/* Like nodes_choice_show(), and asks for confirmation at the terminal or requires --yes. Returns
 * false and sets `*code` if not confirmed. */
MUST_CHECK bool nodes_choice_confirm(const Invocation *invocation, const NodesChoice *choice,
                                     const char *does, int *code);
