#include "cli/exit_codes.h"

#include <stddef.h>

/* Ordered from best to worst. */
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
    { "0", "success", "There may be hints and warnings." },
    { "1", "failure",
      "A file cannot be read or is invalid, a template fails, or output cannot be written. The\n"
      "reason is on standard error, or with -o json on standard output." },
    { "2", "there are changes", "Only with --detailed-exitcode, if nothing failed." },
    { "3", "no match, or unavailable",
      "The command found nothing to work on, such as a directory without YAML files. This is not "
      "a\n"
      "success: a mistyped path must not look like a passed check. Also used if no server is\n"
      "running on this machine, or if the server or a node is temporarily unavailable." },
    { "4", "denied", "The system denied write access, or the server denied the request." },
    { "5", "conflict",
      "Another run holds the lock of this node, a saved plan no longer matches the machine or\n"
      "the site, or an object in the cluster was modified by another request. Nothing was done." },
    { "6", "changes and failures", "Only with --detailed-exitcode." },
    { "64", "usage error",
      "Invalid command line: unknown command or option, missing or invalid argument. Nothing was\n"
      "done." },
    { "124", "timed out",
      "Steps were still waiting for their conditions after --max-wait, or a server did not "
      "respond." },
    { "130", "interrupted", "Ctrl-C, or another SIGINT." },
    { 0 },
};
