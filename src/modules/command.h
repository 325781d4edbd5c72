/* Commands as parameters hold them: text for a shell, or a list that is run without one.
 *
 * Below another root a command runs with that root as its own, which takes privileges and what the
 * command needs in there, beginning with a shell. */
#pragma once

#include "modules/call.h"
#include "sys/process.h"

enum {
    COMMAND_OUTPUT_MAX = 1 << 20, /* bytes of each stream, unless asked for otherwise */
    COMMAND_OUTPUT_MIN = 128,     /* in a shorter text the start of a secret is not recognized */
    COMMAND_WORDS_MAX = 120       /* bytes of a command that are shown */
};

/* Zeros mean: /bin/sh, where the program started, its environment, its user, no input, no limit. */
typedef struct Command {
    Value command; /* PARAM_COMMAND */
    Str shell;
    Str directory;
    Value env; /* PARAM_MAP; missing or null: none */
    Str user;
    Str input;
    int64_t umask; /* with has_umask */
    bool has_umask;
    int64_t timeout_ms;
    int64_t output_max;
} Command;

/* Runs it to its end, within the call's timeout. False when it could not be started. */
MUST_CHECK bool command_run(Call *call, const Command *command, ProcessResult *out, Error *err);

/* What went wrong with one that ended, in a line: "exited with 3: no such table". Always false. */
bool command_failure(Call *call, const Command *command, const ProcessResult *result, Error *err);

/* The command on one line, for people: its first line, not too much of it, and nothing of one that
 * is a secret. */
Str command_words(Arena *arena, Value command);

/* A command with `%s` replaced by `path`, or with the path behind it when it has none. */
Value command_with_path(Arena *arena, Value command, Str path);
