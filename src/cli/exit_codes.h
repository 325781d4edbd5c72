/* Exit codes, the same for all commands. */
#pragma once

enum ExitCode {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_CHANGES = 2, /* only with --detailed-exitcode */
    EXIT_NOT_MATCHED = 3,
    EXIT_DENIED = 4,
    EXIT_CONFLICT = 5, /* a lock is held, a plan is stale, or an object was changed */
    EXIT_CHANGES_AND_FAILURES = 6,
    EXIT_USAGE = 64,
    EXIT_TIMED_OUT = 124,
    EXIT_INTERRUPTED = 130,
};

/* Returns the worse of two exit codes: failures are worse than denials, then conflicts, then
 * unavailability. */
int exit_code_worse(int a, int b);

typedef struct ExitRow {
    const char *code; /* "64"; NULL ends the table */
    const char *title;
    const char *text;
} ExitRow;

extern const ExitRow exit_rows[];
