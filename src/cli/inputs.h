/* What a user hands to a command: files, variables, template settings. */
#pragma once

#include "base/problems.h"
#include "cli/command.h"
#include "lang/template/template.h"
#include "lang/value.h"

/* The inputs of one invocation and what was found wrong with them. */
typedef struct Inputs {
    Arena *arena;
    Sources sources;
    Problems problems;
} Inputs;

enum {
    INPUT_MAX = 256 << 20
};

void inputs_init(Inputs *inputs, Arena *arena);

/* Reads a file ("-": standard input) and adds it to the sources. A file that cannot be read is a
 * problem (E0001). Returns SOURCE_NONE then. */
uint16_t inputs_read(Inputs *inputs, const char *path);

/* A YAML or, by its name, JSON document as a value. */
bool inputs_load(Inputs *inputs, const char *path, Value *out);

/* -v FILE and -D key=value of the invocation, merged in the order they were given: later wins,
 * maps merge deeply, lists replace. */
bool inputs_variables(Inputs *inputs, const Invocation *invocation, Value *out);

/* The options that inputs_settings understands. */
#define TEMPLATE_OPTIONS                                                    \
    { .name = "vars",                                                       \
      .letter = 'v',                                                        \
      .argument = "FILE",                                                   \
      .repeats = true,                                                      \
      .word = WORD_FILE,                                                    \
      .help = "variables from a YAML or JSON file; later files win" },      \
        { .name = "define",                                                 \
          .letter = 'D',                                                    \
          .argument = "KEY=VALUE",                                          \
          .repeats = true,                                                  \
          .help = "one variable as text; KEY:=JSON for another type" },     \
        { .name = "undefined",                                              \
          .argument = "MODE",                                               \
          .choices = "strict|default|chainable|debug",                      \
          .fallback = "strict",                                             \
          .help = "what an undefined variable does" },                      \
        { .name = "autoescape", .help = "escape HTML in what is printed" }, \
        { .name = "max-output",                                             \
          .argument = "SIZE",                                               \
          .fallback = "16M",                                                \
          .help = "limit on the rendered text" },                           \
        { .name = "max-memory",                                             \
          .argument = "SIZE",                                               \
          .fallback = "32M",                                                \
          .help = "limit on values made while rendering" },                 \
        { .name = "max-steps",                                              \
          .argument = "COUNT",                                              \
          .fallback = "50000000",                                           \
          .help = "limit on the work done while rendering" },               \
    {                                                                       \
        .name = "max-depth", .argument = "COUNT", .fallback = "250",        \
        .help = "limit on macros and includes inside one another"           \
    }

/* Jinja2's settings with the invocation's changes; EXIT_USAGE when an option is wrong. */
int inputs_settings(const Invocation *invocation, TemplateSettings *out);

/* A template's fault as a problem. `name` stands for a template without a name. */
void inputs_add_fault(Inputs *inputs, const Fault *fault, Str name);

/* Prints the problems to standard error, or as JSON to standard output with `-o json`; returns
 * EXIT_FAILED when there are errors among them. */
int inputs_report(Inputs *inputs, const Invocation *invocation);
