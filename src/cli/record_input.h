/* What `why` and `replay` share: finding the record of a run. */
#pragma once

#include "cli/inputs.h"
#include "run/recorded.h"

/* Where runs are kept. */
#define RECORD_OPTIONS                                                  \
    { .name = "root",                                                   \
      .argument = "DIR",                                                \
      .word = WORD_DIRECTORY,                                           \
      .fallback = "/",                                                  \
      .help = "the system that was applied to" },                       \
    {                                                                   \
        .name = "state-dir", .argument = "DIR", .word = WORD_DIRECTORY, \
        .help = "where runs are kept; else var/lib/eden below the root" \
    }

/* The record of a run by its id, the beginning of one, or NULL for the last. False: it was told
 * why, and `*code` is the exit code. */
MUST_CHECK bool record_input_run(Invocation *invocation, const char *id, Recorded *out, int *code);
/* The same for a file. */
MUST_CHECK bool record_input_file(Invocation *invocation, const char *path, Recorded *out,
                                  int *code);
