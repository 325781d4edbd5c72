/* eden help */
#include <stdio.h>

#include "cli/help_text.h"

static int help_run(Invocation *invocation)
{
    if (invocation->arg_count == 0) {
        help_print_overview(stdout);
        return EXIT_OK;
    }
    const Command *command = command_find(str_from_c(invocation->args[0]));
    if (command == NULL) {
        return usage_error(invocation, "there is no command '%s'", invocation->args[0]);
    }
    return help_print_command(command);
}

static const Example examples[] = {
    { "eden help render", "options and examples of one command" },
    { 0 },
};

const Command command_help = {
    .name = "help",
    .args = "[COMMAND]",
    .args_max = 1,
    .word = WORD_COMMAND,
    .help = "Show help for commands.",
    .examples = examples,
    .run = help_run,
};
