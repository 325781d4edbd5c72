/* eden version: prints the version. */
#include "cli/invocation.h"

static int version_run(Invocation *invocation)
{
    stream_put_format(invocation->out,
                      invocation_prints(invocation, "json") ? "{\"version\":\"%s\"}\n"
                                                            : "eden %s\n",
                      EDEN_VERSION);
    return EXIT_OK;
}

static const Option options[] = {
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden version -o json", "print JSON, for scripts" },
    { 0 },
};

const Command command_version = {
    .name = "version",
    .group = GROUP_SYSTEM,
    .help = "Print the version of this program.",
    .options = options,
    .examples = examples,
    .run = version_run,
};
