/* What `plan`, `apply` and other commands that load a site share: options, and what becomes of
 * them. */
#pragma once

#include "cli/inputs.h"
#include "run/run.h"

/* Where the site is found and what it sees; `verbose_help` says what --verbose shows. */
#define SITE_OPTIONS(verbose_help)                                                           \
    { .name = "vars",                                                                        \
      .letter = 'v',                                                                         \
      .argument = "FILE",                                                                    \
      .repeats = true,                                                                       \
      .word = WORD_FILE,                                                                     \
      .alone = "verbose",                                                                    \
      .help = "variables from a YAML or JSON file; later files win; -v alone: --verbose" },  \
        { .name = "define",                                                                  \
          .letter = 'D',                                                                     \
          .argument = "KEY=VALUE",                                                           \
          .repeats = true,                                                                   \
          .help = "set a variable to a string; KEY:=JSON for other types" },                 \
        { .name = "job",                                                                     \
          .letter = 'j',                                                                     \
          .argument = "NAME",                                                                \
          .repeats = true,                                                                   \
          .help = "run only this job, regardless of jobs/base.yaml" },                       \
        NODE_OPTIONS(                                                                        \
            "use DIR as the root directory, such as an image",                               \
            "where the journal and records of runs are; default: var/lib/eden in the root"), \
    {                                                                                        \
        .name = "verbose", .help = (verbose_help)                                            \
    }

/* How steps are ordered and shown. */
#define RUN_OPTIONS                                                                              \
    { .name = "order",                                                                           \
      .argument = "MODE",                                                                        \
      .choices = "ansible|justdoit|genius",                                                      \
      .fallback = "ansible",                                                                     \
      .help = "one by one, in parallel, or in parallel by cost" },                               \
        { .name = "workers",                                                                     \
          .argument = "N",                                                                       \
          .fallback = "16",                                                                      \
          .help = "maximum number of parallel steps; not for 'ansible'" },                       \
        { .name = "max-wait",                                                                    \
          .argument = "TIME",                                                                    \
          .help = "how long steps may wait for their conditions; then exit 124" },               \
        { .name = "diff",                                                                        \
          .argument = "HOW",                                                                     \
          .choices = "full|concise|none",                                                        \
          .fallback = "full",                                                                    \
          .help = "how much of a change is shown" },                                             \
        { .name = "progress",                                                                    \
          .argument = "HOW",                                                                     \
          .choices = "auto|tty|plain|json|none",                                                 \
          .fallback = "auto",                                                                    \
          .help = "progress on standard error" },                                                \
        { .name = "detailed-exitcode", .help = "exit 2 if there are changes, 6 with failures" }, \
        { .name = "junit",                                                                       \
          .argument = "FILE",                                                                    \
          .word = WORD_FILE,                                                                     \
          .help = "also write the results as JUnit XML" },                                       \
    {                                                                                            \
        .name = "output", .letter = 'o', .argument = "FORMAT", .choices = "text|json|yaml",      \
        .fallback = "text", .help = "output on standard output"                                  \
    }

/* All but what the command itself decides. False when an option is wrong, and it was told. */
MUST_CHECK bool run_config_get(const Invocation *invocation, RunConfig *out);

/* An error that no problem with a place stands for. Returns the exit code. */
int run_tell_error(Invocation *invocation, Inputs *inputs, const Error *err);
/* The same when the report is out already: standard output holds one JSON text. */
int run_tell_late(const Invocation *invocation, const Error *err);

/* Loads, performs, prints. Returns the exit code. With `out` (--out of plan) a plan is saved there;
 * with `plan`, a saved one, an apply is refused when something has moved since. */
typedef struct RunOrder {
    const char *out;
    const Value *plan;
} RunOrder;
int run_command(Invocation *invocation, const RunConfig *config, const RunOrder *order);
