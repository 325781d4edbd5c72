/* eden version */
#include <stdio.h>

#include "cli/command.h"

static int version_run(Invocation *invocation)
{
    if (strcmp(invocation_text(invocation, "output"), "json") == 0) {
        printf("{\"version\":\"%s\"}\n", EDEN_VERSION);
    } else {
        printf("eden %s\n", EDEN_VERSION);
    }
    return EXIT_OK;
}

static const Option options[] = {
    { .name = "output",
      .letter = 'o',
      .argument = "FORMAT",
      .choices = "text|json",
      .fallback = "text",
      .help = "how to print it" },
    { 0 },
};

static const Example examples[] = {
    { "eden version -o json", "for another program" },
    { 0 },
};

const Command command_version = {
    .name = "version",
    .args = "",
    .help = "Print the version of this program.",
    .options = options,
    .examples = examples,
    .run = version_run,
};
