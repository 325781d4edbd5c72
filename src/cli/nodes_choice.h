/* Which nodes a verb of `eden nodes` is for: as they are named, by patterns of names, or by
 * --selector. */
#pragma once

#include "cli/invocation.h"

#define NODES_SELECTOR_OPTION                                            \
    {                                                                    \
        .name = "selector", .letter = 'l', .argument = "SELECTOR",       \
        .help = "nodes such as role=web or 'web*' (eden help selectors)" \
    }
#define YES_OPTION                                                                             \
    {                                                                                          \
        .name = "yes", .letter = 'y',                                                          \
        .help = "do not ask for confirmation when nodes are chosen by a pattern or a selector" \
    }

typedef struct NodesChoice {
    Str *names; /* each once */
    uint32_t count;
    bool is_searched; /* nobody has named them one by one */
} NodesChoice;

/* `words` are names and patterns; with --selector there must be none. `asking`: machines that ask to
 * join, not members. Names are taken as they are, a pattern or a selector that nothing is like is no
 * success. EXIT_OK, or what is wrong was told and it is the exit code. */
int nodes_choose(Invocation *invocation, const char **words, uint32_t count, bool asking,
                 NodesChoice *out);
/* "removes 2 nodes: web1, web2", on standard error, unless they were named. */
void nodes_choice_show(const Invocation *invocation, const NodesChoice *choice, const char *does);
/* The same, and asks at the terminal, or demands --yes. False: it shall not be; `*code` is why. */
MUST_CHECK bool nodes_choice_confirm(const Invocation *invocation, const NodesChoice *choice,
                                     const char *does, int *code);
