/* How a command ends, told by a number. The same in every command. */
#pragma once

enum ExitCode {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_CHANGES = 2, /* with --detailed-exitcode */
    EXIT_NOT_MATCHED = 3,
    EXIT_DENIED = 4,
    EXIT_CONFLICT = 5, /* a lock is held, or a plan is stale */
    EXIT_CHANGES_AND_FAILURES = 6,
    EXIT_USAGE = 64,
    EXIT_TIMED_OUT = 124,
    EXIT_INTERRUPTED = 130,
};

/* Of several things done: failure outranks what was denied, that conflicts, and those silence. */
int exit_code_worse(int a, int b);

typedef struct ExitRow {
    const char *code; /* "64"; NULL ends the table */
    const char *title;
    const char *text;
} ExitRow;

extern const ExitRow exit_rows[];
