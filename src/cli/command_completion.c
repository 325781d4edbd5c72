/* eden completion: scripts that make shells complete eden's command lines. */
#include "base/bug.h"
#include "cli/completion.h"
#include "cli/invocation.h"

static int completion_run(Invocation *invocation)
{
    const Shell *shell = shells;
    while (shell->name != NULL && strcmp(shell->name, invocation->args[0]) != 0) {
        shell++;
    }
    BUG_IF(shell->name == NULL); /* the row lists the choices */
    AUTO_CLEAR(Buf) script = buf_make(BUF_UNLIMITED);
    shell->write(&script);
    stream_put(invocation->out, buf_str(&script));
    return EXIT_OK;
}

static const Example examples[] = {
    { "source <(eden completion bash)", "for the running bash, or as a line of ~/.bashrc" },
    { "eden completion zsh > ~/.zfunc/_eden", "for zsh, with ~/.zfunc in its fpath" },
    { "eden completion fish > ~/.config/fish/completions/eden.fish", "for fish" },
    { 0 },
};

const Command command_completion = {
    .name = "completion",
    .group = GROUP_SYSTEM,
    .args = "SHELL",
    .args_min = 1,
    .args_max = 1,
    .choices = "bash|zsh|fish",
    .help = "Print a script that lets a shell complete eden's commands.",
    .text =
        "SHELL is bash, zsh or fish. Commands, options, their values, files, topics of help and\n"
        "names that can be explained are completed; also the names of contexts, and of nodes, "
        "tokens\n"
        "and roles, as last reported by the server ('eden complete').",
    .examples = examples,
    .run = completion_run,
};
