/* Programs of the system that modules use, such as useradd and nft.
 *
 * They run without a shell, with English messages, the usual directories in PATH and no way to ask
 * questions; below another root with that root as their own. What users wrote goes into arguments
 * only behind tool_word() or "--". */
#pragma once

#include "base/vec.h"
#include "modules/call.h"
#include "sys/process.h"

enum {
    TOOL_OUTPUT_MAX = 64 << 20 /* bytes of each stream that are kept: lists of packages are long */
};

/* Zeros mean: no input, nothing more in the environment, the call's timeout, which holds for those
 * with a longer one too. */
typedef struct Tool {
    const char *const *argv; /* ends with NULL */
    Str input;
    const char *const *env; /* "NAME=value", ends with NULL */
    int64_t timeout_ms;
    bool join_output; /* see ProcessSpec */
    int input_file;   /* see ProcessSpec, also for what follows */
    ProcessTake take;
    void *take_context;
    ProcessLine line; /* see ProcessSpec */
    void *line_context;
    const Account *account; /* whom it runs as, in their home; NULL: as this process */
} Tool;

/* To its end, however that is. False when it could not be started: ERROR_NOT_FOUND when the
 * machine does not have it. */
MUST_CHECK bool tool_run(Call *call, const Tool *tool, ProcessResult *out, Error *err);
/* What it wrote and how it ended, for the report of the step. */
void tool_show(const ProcessResult *result, Outcome *outcome);
/* "useradd exited with 3: ...". Always false. */
bool tool_failure(Call *call, const Tool *tool, const ProcessResult *result, Error *err);
/* Runs it; anything but exit code 0 is a failure. `out` (may be NULL) is what it wrote, all of it:
 * more than can be kept is ERROR_LIMIT. */
MUST_CHECK bool tool_do(Call *call, const char *const *argv, Str *out, Error *err);
#define TOOL_DO(call, out, err, ...) \
    tool_do(call, (const char *const[]){ __VA_ARGS__, NULL }, out, err)

/* The home of programs that run as this process: where HOME says, except that root does not use the
 * directory of another user, whose settings and plugins programs would take from there. Of other users
 * it may be empty. */
Str tool_home(Call *call);

/* Whether the machine has the program, and where. */
bool tool_find(Call *call, const char *program, Str *out);
bool tool_is_there(Call *call, const char *program);

/* Arguments one by one: tool_arg, and at the end tool_args_end. */
typedef VEC(const char *) ToolArgs;
void tool_arg(Call *call, ToolArgs *args, Str text);
/* "--NAME=VALUE"; nothing when the value is empty. */
void tool_option(Call *call, ToolArgs *args, const char *name, Str value);
const char *const *tool_args_end(Call *call, ToolArgs *args);
/* "NAME=value", for Tool.env. */
const char *tool_variable(Call *call, const char *name, Str value);
/* The texts of a list as one; empty when there is no list. */
Str tool_join(Call *call, Value list, char between);

/* Fails unless `text` can be an argument by itself: not empty, not an option, on one line.
 * `what` is what it shall be: "a user", "a package". */
MUST_CHECK bool tool_word(Str text, const char *what, Error *err);
