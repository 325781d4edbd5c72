/* Commands as rows: one file and one row each, listed in commands.def. Parsing, help, man pages,
 * completion and `eden help -o json` all come from the row. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/problems.h"
#include "base/str.h"

/* What may stand for a word: tells the shell how to complete it. */
typedef enum WordKind {
    WORD_TEXT, /* anything; nothing to offer */
    WORD_FILE,
    WORD_DIRECTORY,
    WORD_COMMAND, /* the name of a command */
    WORD_TOPIC,   /* what `eden explain` knows */
} WordKind;

typedef struct Option {
    const char *name;     /* "output" for --output; NULL ends a list */
    char letter;          /* 'o', or 0 */
    const char *argument; /* "FORMAT"; NULL: a flag */
    bool repeats;
    WordKind word;
    const char *choices;  /* "json|yaml": what the argument may be; NULL: anything */
    const char *fallback; /* value when not given; shown in help */
    const char *help;
} Option;

typedef struct Example {
    const char *command; /* NULL ends a list */
    const char *help;
} Example;

typedef struct Invocation Invocation;

typedef struct Command {
    const char *name;
    const char *args; /* "FILE..."; "" for none */
    uint32_t args_min;
    uint32_t args_max;   /* UINT32_MAX: any number */
    WordKind word;       /* of the arguments */
    const char *choices; /* of the first argument; or NULL */
    const char *help;    /* one line */
    const char *text;    /* paragraphs for help and manual; may be NULL */
    const Option *options;
    const Example *examples;
    int (*run)(Invocation *invocation); /* returns the exit code */
} Command;

enum ExitCode {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_CHANGES = 2,
    EXIT_NOT_MATCHED = 3,
    EXIT_DENIED = 4,
    EXIT_CONFLICT = 5,
    EXIT_CHANGES_AND_FAILURES = 6,
    EXIT_USAGE = 64,
    EXIT_TIMEOUT = 124,
    EXIT_INTERRUPTED = 130,
};

/* One command line being carried out. */
struct Invocation {
    const Command *command;
    Arena *arena;
    const char **args; /* without options */
    uint32_t arg_count;
    struct {
        const Option *option;
        const char *value; /* NULL for flags */
    } * given;
    uint32_t given_count;
    bool color_out; /* whether standard output, standard error take color */
    bool color_err;
};

/* Ends with a row whose name is NULL. */
extern const Command *const commands[];
const Command *command_find(Str name);
/* Options that every command has. */
extern const Option common_options[];

/* Whether the option was given. */
bool invocation_flag(const Invocation *invocation, const char *name);
/* The last value given, else the row's fallback, else NULL. */
const char *invocation_text(const Invocation *invocation, const char *name);
/* The next value of a repeated option; `*at` starts at 0. NULL when there is no further one. */
const char *invocation_next(const Invocation *invocation, const char *name, uint32_t *at);

/* Prints "eden COMMAND: ..." with where to find help; returns EXIT_USAGE. */
PRINTF_LIKE(2, 3) int usage_error(const Invocation *invocation, const char *format, ...);

/* The whole program. */
int cli_main(int argc, char **argv);
