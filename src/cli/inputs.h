/* Files and variables passed to a command, and their problems. */
#pragma once

#include "base/problems.h"
#include "cli/invocation.h"
#include "lang/value.h"

/* Inputs of one invocation, and problems found in them. */
typedef struct Inputs {
    Arena *arena;
    Sources sources;
    Problems problems;
    bool stdin_used;
} Inputs;

void inputs_init(Inputs *inputs, Arena *arena);

/* Reads a file ("-": standard input, once) of at most `max` bytes and adds it to the sources. On
 * failure, adds a problem (E0001, E0002) and returns SOURCE_NONE. */
uint16_t inputs_read(Inputs *inputs, const char *path, size_t max);
/* Adds a problem for an error of sys/file. */
void inputs_add_file_error(Inputs *inputs, const Error *err);

/* How strictly documents are read. */
typedef enum InputMode {
    INPUT_STRICT,  /* a JSON file has one value, unknown tags are errors, lint hints are added */
    INPUT_LENIENT, /* any number of JSON values, unknown tags are warnings */
} InputMode;

/* Loads all documents of a YAML file, or JSON file by its name. */
MUST_CHECK bool inputs_load_all(Inputs *inputs, const char *path, InputMode rules, List **out);

/* -v FILE and -D KEY=VALUE, for commands that use variables. */
#define VARIABLE_OPTIONS                                                           \
    { .name = "vars",                                                              \
      .letter = 'v',                                                               \
      .argument = "FILE",                                                          \
      .repeats = true,                                                             \
      .word = WORD_FILE,                                                           \
      .help = "variables from a YAML or JSON file; later ones win" },              \
    {                                                                              \
        .name = "define", .letter = 'D', .argument = "KEY=VALUE", .repeats = true, \
        .help = "set a variable to a string; KEY:=JSON for other types"            \
    }

/* Identity and directories of the node; the help depends on the command. */
#define NODE_OPTIONS(root_help, state_help)                                                       \
    { .name = "label",                                                                            \
      .argument = "KEY=VALUE",                                                                    \
      .repeats = true,                                                                            \
      .help = "set a label of this node, for selectors" },                                        \
        { .name = "node", .argument = "NAME", .help = "name of this node" },                      \
        { .name = "root",                                                                         \
          .argument = "DIR",                                                                      \
          .word = WORD_DIRECTORY,                                                                 \
          .fallback = "/",                                                                        \
          .help = (root_help) },                                                                  \
        { .name = "state-dir", .argument = "DIR", .word = WORD_DIRECTORY, .help = (state_help) }, \
    {                                                                                             \
        .name = "config-dir", .argument = "DIR", .word = WORD_DIRECTORY,                          \
        .help = "directory with node.yaml and vars.d; default: etc/eden under --root"             \
    }

/* Checks the syntax of every -D, and reports the first invalid one. */
MUST_CHECK bool inputs_check_defines(const Invocation *invocation);
/* The same for a single definition from another source. */
MUST_CHECK bool inputs_check_define(const Invocation *invocation, const char *define);
/* Merges the variables in the order given: later ones win, maps are merged recursively, lists and
 * other values are replaced. */
MUST_CHECK bool inputs_variables(Inputs *inputs, const Invocation *invocation, Value *out);

/* Prints the problems to standard error or, with `-o json`, to standard output. Returns EXIT_FAILED
 * if there are errors. */
int inputs_report(Inputs *inputs, const Invocation *invocation);
