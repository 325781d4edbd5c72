/* Options and main loop of `plan`, `apply` and other commands that load a site. */
#pragma once

#include "cli/inputs.h"
#include "run/run.h"

/* Location of the site and its inputs; `verbose_help` describes --verbose. */
#define SITE_OPTIONS(verbose_help)                                                            \
    { .name = "vars",                                                                         \
      .letter = 'v',                                                                          \
      .argument = "FILE",                                                                     \
      .repeats = true,                                                                        \
      .word = WORD_FILE,                                                                      \
      .flag_without_value = "verbose",                                                        \
      .help = "variables from a YAML or JSON file; later files win; -v alone: --verbose" },   \
        { .name = "define",                                                                   \
          .letter = 'D',                                                                      \
          .argument = "KEY=VALUE",                                                            \
          .repeats = true,                                                                    \
          .help = "set a variable to a string; KEY:=JSON for other types" },                  \
        { .name = "job",                                                                      \
          .letter = 'j',                                                                      \
          .argument = "NAME",                                                                 \
          .repeats = true,                                                                    \
          .help = "run only this job, regardless of jobs/base.yaml" },                        \
        NODE_OPTIONS(                                                                         \
            "root directory to use, such as an image",                                        \
            "directory for the journal and run records; default: var/lib/eden under --root"), \
    {                                                                                         \
        .name = "verbose", .help = (verbose_help)                                             \
    }

/* Order and output of steps. */
#define RUN_OPTIONS                                                                               \
    { .name = "order",                                                                            \
      .argument = "MODE",                                                                         \
      .choices = "ansible|justdoit|genius",                                                       \
      .fallback = "ansible",                                                                      \
      .help = "one step at a time, in parallel, or longest chain first" },                        \
        { .name = "workers",                                                                      \
          .argument = "N",                                                                        \
          .fallback = "16",                                                                       \
          .help = "maximum number of parallel steps; ignored for 'ansible'" },                    \
        { .name = "max-wait",                                                                     \
          .argument = "TIME",                                                                     \
          .help = "how long steps can wait for their conditions before the run exits with 124" }, \
        { .name = "diff",                                                                         \
          .argument = "HOW",                                                                      \
          .choices = "full|concise|none",                                                         \
          .fallback = "full",                                                                     \
          .help = "how much of a diff to show" },                                                 \
        { .name = "progress",                                                                     \
          .argument = "HOW",                                                                      \
          .choices = "auto|tty|plain|json|none",                                                  \
          .fallback = "auto",                                                                     \
          .help = "progress output on standard error" },                                          \
        { .name = "detailed-exitcode",                                                            \
          .help = "exit with 2 if there are changes, 6 if there are also failures" },             \
        { .name = "junit",                                                                        \
          .argument = "FILE",                                                                     \
          .word = WORD_FILE,                                                                      \
          .help = "also write the results to this file as JUnit XML" },                           \
    {                                                                                             \
        .name = "output", .letter = 'o', .argument = "FORMAT", .choices = "text|json|yaml",       \
        .fallback = "text", .help = "output format"                                               \
    }

/* How the agent runs a site for the cluster. */
extern const Option run_internal_options[];

/* Reads all options except those that the command itself handles. Returns false after reporting an
 * invalid one. */
MUST_CHECK bool run_config_get(const Invocation *invocation, RunConfig *out);

/* Reports an error that has no location. Returns the exit code. */
int run_report_error(Invocation *invocation, Inputs *inputs, const Error *err);
/* The same after the report was printed; does not write to standard output, which must be a single
 * JSON text. */
int run_report_late_error(const Invocation *invocation, const Error *err);

/* Loads the site, runs its steps and prints the report. Returns the exit code. If `out` is set
 * (--out of plan), saves the plan there. If `plan`, a saved plan, is set, fails if anything has
 * changed since it was saved. */
typedef struct PlanFiles {
    const char *out;
    const Value *plan;
} PlanFiles;
int run_command(Invocation *invocation, const RunConfig *config, const PlanFiles *plan_files);
