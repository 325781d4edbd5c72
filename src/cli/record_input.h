/* What `why`, `replay` and `runs` share: finding the records of runs. */
#pragma once

#include "cli/inputs.h"
#include "run/recorded.h"

/* Where runs are kept. */
#define RECORD_OPTIONS                                                          \
    { .name = "root",                                                           \
      .argument = "DIR",                                                        \
      .word = WORD_DIRECTORY,                                                   \
      .fallback = "/",                                                          \
      .help = "the system that was applied to" },                               \
    {                                                                           \
        .name = "state-dir", .argument = "DIR", .word = WORD_DIRECTORY,         \
        .help = "where runs are recorded; default: var/lib/eden below the root" \
    }

/* The record of a run by its id, the beginning of one, or NULL for the last. False: it was told
 * why, and `*code` is the exit code. */
MUST_CHECK bool record_input_run(Invocation *invocation, const char *id, Recorded *out, int *code);
/* All records that there are, oldest first. One that cannot be read is {"run","error"}. */
MUST_CHECK bool record_input_all(Invocation *invocation, Value **out, uint32_t *count, int *code);
/* The file that such a record was read from. */
Str record_input_path(const Invocation *invocation, const Recorded *recorded);
/* The same for a file. */
MUST_CHECK bool record_input_file(Invocation *invocation, const char *path, Recorded *out,
                                  int *code);
