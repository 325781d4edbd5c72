/* Finds records of runs, for `why`, `replay` and `runs`. */
#pragma once

#include "cli/inputs.h"
#include "run/recorded.h"

/* Options that determine the location of records. */
#define RECORD_OPTIONS                                                        \
    { .name = "root",                                                         \
      .argument = "DIR",                                                      \
      .word = WORD_DIRECTORY,                                                 \
      .fallback = "/",                                                        \
      .help = "root directory of the system" },                               \
    {                                                                         \
        .name = "state-dir", .argument = "DIR", .word = WORD_DIRECTORY,       \
        .help = "directory of run records; default: var/lib/eden in the root" \
    }

/* Finds a run by its ID or a prefix of it; NULL: the last run. Returns false after reporting the
 * error; `*code` is the exit code. */
MUST_CHECK bool record_input_run(Invocation *invocation, const char *id, Recorded *out, int *code);
/* All records, oldest first. An unreadable one is {"run","error"}. */
MUST_CHECK bool record_input_all(Invocation *invocation, Value **out, uint32_t *count, int *code);
/* The file that a record was read from. */
Str record_input_path(const Invocation *invocation, const Recorded *recorded);
/* Reads a record from a file. */
MUST_CHECK bool record_input_file(Invocation *invocation, const char *path, Recorded *out,
                                  int *code);
