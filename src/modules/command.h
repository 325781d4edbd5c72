/* Commands in parameters: a string for a shell, or a list of arguments that runs without one.
 *
 * In another root a command is chrooted there, which requires root privileges and everything the
 * command needs inside, including a shell. */
#pragma once

#include "modules/call.h"
#include "sys/process.h"

enum {
    COMMAND_OUTPUT_MAX = 1 << 20, /* default limit of each stream, in bytes */
    /* with a smaller limit, a truncated secret would not be recognized */
    COMMAND_OUTPUT_MIN = 128,
    COMMAND_WORDS_MAX = 120 /* maximum length of a command in messages, in bytes */
};

/* Defaults of zeroed fields: /bin/sh, the current directory, environment and user of this process,
 * no input, no limit. */
typedef struct Command {
    Value command; /* PARAM_COMMAND */
    Str shell;
    Str directory;
    Value env; /* PARAM_MAP; missing or null: none */
    Str user;
    Str input;
    int64_t umask; /* used if has_umask is set */
    bool has_umask;
    int64_t timeout_ms;
    int64_t output_max;
} Command;

/* Runs it until it exits, within the call's timeout. Returns false if it could not be started. */
MUST_CHECK bool command_execute(Call *call, const Command *command, ProcessResult *out, Error *err);

/* Describes the failure of a finished command in one line: "exited with 3: no such table". Always
 * returns false. */
bool command_failure(Call *call, const Command *command, const ProcessResult *result, Error *err);

/* The command as one line for messages: its first line, truncated, or a placeholder if it is
 * secret. */
Str command_words(Arena *arena, Value command);

/* Replaces `%s` in the command with `path`, or appends the path if there is none. */
Value command_with_path(Arena *arena, Value command, Str path);

/* --- Checking a command before it runs ------------------------------------------------------- */

/* Returns the program that a command runs first; empty if that is known only to a shell. */
Str command_program(Call *call, Value command);
/* Checks a program with an absolute path; others depend on a shell or PATH and are skipped.
 * Failures are attributed to `param`, if not NULL. */
MUST_CHECK bool command_check_program(Call *call, const char *param, Str program, Error *err);
/* Checks the program of `command`. The first word of a list, or of a simple command for `shell`
 * (empty: /bin/sh) on this machine that is not built into it, is searched in PATH, from `env` or
 * this process. */
MUST_CHECK bool command_check(Call *call, const char *param, Value command, Str shell, Value env,
                              Error *err);
