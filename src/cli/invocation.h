/* One parsed command line, and the streams to write to. */
#pragma once

#include "cli/command.h"
#include "sys/stream.h"

typedef struct GivenOption {
    const Option *option;
    const char *value; /* NULL for flags */
} GivenOption;

struct Invocation {
    const Command *command; /* NULL: none given */
    const Verb *verb;       /* NULL: the command has no verbs, or the verb is not known yet */
    Arena *arena;
    Stream *out;       /* data */
    Stream *err;       /* everything else */
    const char **args; /* without options and verb; ends with NULL */
    uint32_t arg_count;
    GivenOption *given; /* in order of the command line */
    uint32_t given_count;
    bool color_out;      /* color on `out` */
    bool color_err;      /* color on `err` */
    bool can_redraw_err; /* `err` is a terminal on which a line can be overwritten */
    bool *stale_warned;  /* set once the user was warned about stale data; NULL: never warn */
    bool json;           /* -o json was given; set even if the command line is otherwise invalid */
};

/* Whether `-o json` is among the words after the command, even if they are otherwise invalid. */
bool args_request_json(int argc, char **argv);
/* Whether a word is an option: not "-", which is standard input, and not "-1". */
bool word_is_option(const char *word);
/* Sets `verb`, `args` and `given` from the words after the command. Returns false after printing a
 * usage error. With --help, arguments are not required and `verb` may be NULL. */
MUST_CHECK bool invocation_parse(Invocation *invocation, int argc, char **argv);

/* Whether the option was given on the command line. */
bool invocation_flag(const Invocation *invocation, const char *name);
/* Returns the last value given, or the default of the option, or NULL. The option must belong to
 * the verb or the command. */
const char *invocation_text(const Invocation *invocation, const char *name);
/* All values of a repeatable option, in order; in the invocation's arena. */
const char **invocation_texts(const Invocation *invocation, const char *name, uint32_t *count);
/* Whether this is the output format, as given with `-o` or by default. */
bool invocation_prints(const Invocation *invocation, const char *format);
/* Whether -o json is in effect: then problems are JSON on standard output too. */
bool invocation_wants_json(const Invocation *invocation);

/* Prints a usage error, always on one line, and a reference to the help; with -o json, prints a
 * problem on standard output instead. Returns EXIT_USAGE. */
PRINTF_LIKE(2, 3) int usage_error(const Invocation *invocation, const char *format, ...);
/* Also prints "; did you mean 'NEAR'?" unless `suggestion` is empty. */
PRINTF_LIKE(3, 4)
int usage_error_suggest(const Invocation *invocation, Str suggestion, const char *format, ...);
/* The same for several errors, each on its own line. */
typedef struct UsageFault {
    Str text;
    Str suggestion; /* may be empty */
} UsageFault;
int usage_errors(const Invocation *invocation, const UsageFault *faults, uint32_t count);
/* Prints "unknown command 'X'", with the most similar one. */
int usage_error_command(const Invocation *invocation, const char *name);
