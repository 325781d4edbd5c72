/* What a user hands to a command: files and variables, and what is wrong with them. */
#pragma once

#include "base/problems.h"
#include "cli/invocation.h"
#include "lang/value.h"

/* The inputs of one invocation and what was found wrong with them. */
typedef struct Inputs {
    Arena *arena;
    Sources sources;
    Problems problems;
    bool stdin_used;
} Inputs;

void inputs_init(Inputs *inputs, Arena *arena);

/* Reads a file ("-": standard input, once) of at most `max` bytes and adds it to the sources. A
 * file that cannot be read is a problem (E0001, E0002). Returns SOURCE_NONE then. */
uint16_t inputs_read(Inputs *inputs, const char *path, size_t max);
/* Adds the problem that belongs to an error of sys/file. */
void inputs_add_file_error(Inputs *inputs, const Error *err);

/* How strictly documents are read. */
typedef enum InputRules {
    INPUT_CHECKED, /* a JSON file holds one value, unknown tags are errors, with hints (lint) */
    INPUT_TAKEN, /* any number of JSON values, unknown tags are warnings: all that can be read is */
} InputRules;

/* All documents of a YAML or, by its name, JSON file. */
MUST_CHECK bool inputs_load_all(Inputs *inputs, const char *path, InputRules rules, List **out);

/* -v FILE and -D KEY=VALUE, for commands with variables. */
#define VARIABLE_OPTIONS                                                           \
    { .name = "vars",                                                              \
      .letter = 'v',                                                               \
      .argument = "FILE",                                                          \
      .repeats = true,                                                             \
      .word = WORD_FILE,                                                           \
      .help = "variables from a YAML or JSON file; later ones win" },              \
    {                                                                              \
        .name = "define", .letter = 'D', .argument = "KEY=VALUE", .repeats = true, \
        .help = "one variable as text; KEY:=JSON for another type"                 \
    }

/* Who the node is, and where it keeps what; the helps say what the command does there. */
#define NODE_OPTIONS(root_help, state_help)                                                       \
    { .name = "label",                                                                            \
      .argument = "KEY=VALUE",                                                                    \
      .repeats = true,                                                                            \
      .help = "a label of this node, for selectors" },                                            \
        { .name = "node", .argument = "NAME", .help = "the name of this node" },                  \
        { .name = "root",                                                                         \
          .argument = "DIR",                                                                      \
          .word = WORD_DIRECTORY,                                                                 \
          .fallback = "/",                                                                        \
          .help = (root_help) },                                                                  \
        { .name = "state-dir", .argument = "DIR", .word = WORD_DIRECTORY, .help = (state_help) }, \
    {                                                                                             \
        .name = "config-dir", .argument = "DIR", .word = WORD_DIRECTORY,                          \
        .help = "where node.yaml and vars.d of the node are; default: etc/eden in the root"       \
    }

/* Whether every -D has the right form; tells what is wrong with one that has not. */
MUST_CHECK bool inputs_check_defines(const Invocation *invocation);
/* Merges the variables in the order they were given: later ones win, maps merge deeply, lists and
 * everything else replace. */
MUST_CHECK bool inputs_variables(Inputs *inputs, const Invocation *invocation, Value *out);

/* Prints the problems to standard error, or as JSON to standard output with `-o json`; returns
 * EXIT_FAILED when there are errors among them. */
int inputs_report(Inputs *inputs, const Invocation *invocation);
