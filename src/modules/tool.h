/* System programs that modules use, such as useradd and nft.
 *
 * They run without a shell and without prompts, with messages in English and the standard
 * directories in PATH; in another root they are chrooted there. User input is passed as an
 * argument only after tool_check_word() or "--". */
#pragma once

#include "base/vec.h"
#include "modules/call.h"
#include "sys/process.h"

enum {
    /* maximum output of each stream, in bytes: lists of packages are long */
    TOOL_OUTPUT_MAX = 64 << 20
};

/* Defaults of zeroed fields: no input, no additional environment, the call's timeout, which also
 * limits `timeout_ms`. */
typedef struct Tool {
    const char *const *argv; /* terminated by NULL */
    Str input;
    const char *const *env; /* "NAME=value", terminated by NULL */
    int64_t timeout_ms;
    bool merge_output; /* see ProcessSpec */
    int input_file;    /* see ProcessSpec, like the fields below */
    ProcessSink take;
    void *sink_context;
    ProcessLine line; /* see ProcessSpec */
    void *line_context;
    const Account *account; /* user to run as, in the home directory; NULL: as this process */
} Tool;

/* Runs the program until it exits, with any exit code. Returns false if it could not be started:
 * ERROR_NOT_FOUND if it is not installed. */
MUST_CHECK bool tool_run(Call *call, const Tool *tool, ProcessResult *out, Error *err);
/* Copies output and exit code to the report of the step. */
void tool_report(const ProcessResult *result, Outcome *outcome);
/* Sets "useradd exited with 3: ...". Always returns false. */
bool tool_failure(Call *call, const Tool *tool, const ProcessResult *result, Error *err);
/* Runs the program and fails if the exit code is not 0. `out` (may be NULL) is its complete output;
 * fails with ERROR_LIMIT if that is too large. */
MUST_CHECK bool tool_run_checked(Call *call, const char *const *argv, Str *out, Error *err);
#define TOOL_RUN(call, out, err, ...) \
    tool_run_checked(call, (const char *const[]){ __VA_ARGS__, NULL }, out, err)

/* Returns the home directory for programs that run as the same user as this process: $HOME, except
 * that root does not use another user's directory, since programs would load settings and
 * plugins from it. May be empty for other users. */
Str tool_home(Call *call);

/* Returns true if the program is installed, and sets its path. */
bool tool_find(Call *call, const char *program, Str *out);
bool tool_exists(Call *call, const char *program);

/* A list of arguments: append with tool_arg, finish with tool_args_end. */
typedef VEC(const char *) ToolArgs;
void tool_arg(Call *call, ToolArgs *args, Str text);
/* Adds "--NAME=VALUE", or nothing if the value is empty. */
void tool_option(Call *call, ToolArgs *args, const char *name, Str value);
const char *const *tool_args_end(Call *call, ToolArgs *args);
/* "NAME=value", for Tool.env. */
const char *tool_variable(Call *call, const char *name, Str value);
/* Joins the strings of a list; empty if there is no list. */
Str tool_join(Call *call, Value list, char between);

/* Fails unless the string is safe as an argument: not empty, not an option, on one line. `what` is
 * used in the message: "a user", "a package". */
MUST_CHECK bool tool_check_word(Str text, const char *what, Error *err);
