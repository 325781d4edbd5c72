#include "cli/exit_codes.h"

#include <stddef.h>

/* From the best to the worst. */
static const int ranks[] = {
    EXIT_OK,       EXIT_CHANGES,     EXIT_NOT_MATCHED,          EXIT_TIMED_OUT,
    EXIT_CONFLICT, EXIT_DENIED,      EXIT_CHANGES_AND_FAILURES, EXIT_FAILED,
    EXIT_USAGE,    EXIT_INTERRUPTED,
};

static size_t rank_of(int code)
{
    size_t rank = 0;
    while (rank < sizeof ranks / sizeof ranks[0] && ranks[rank] != code) {
        rank++;
    }
    return rank;
}

int exit_code_worse(int a, int b)
{
    return rank_of(a) >= rank_of(b) ? a : b;
}

const ExitRow exit_rows[] = {
    { "0", "all went well", "Also when there is nothing to tell but hints and warnings." },
    { "1", "something failed",
      "A file cannot be read or is wrong, a template fails, the output cannot be written. "
      "Standard\n"
      "error says what; with -o json the problems are on standard output." },
    { "2", "something changed, or would", "Only with --detailed-exitcode; nothing failed." },
    { "3", "nothing matched, or no answer",
      "The command had nothing to work on, such as a directory without YAML files. It does not\n"
      "count as success: a misspelled path must not look like a passed check. The same when no\n"
      "server runs on this machine, or the server or a node is not able at present." },
    { "4", "denied",
      "The system does not permit to write where the command was told to, or the server does not\n"
      "let this user ask it." },
    { "5", "conflict",
      "Another run holds the lock of this node, a saved plan no longer fits the machine or the\n"
      "site, or what was to be changed in the cluster is not as it was. Nothing was done." },
    { "6", "changes and failures", "Only with --detailed-exitcode." },
    { "64", "wrong usage",
      "The command line cannot be understood: an unknown command or option, a missing or wrong\n"
      "argument. Nothing was done." },
    { "124", "the time was up",
      "Steps still waited for their conditions after --max-wait, or a server did not answer." },
    { "130", "interrupted", "Ctrl-C, or another SIGINT." },
    { 0 },
};
