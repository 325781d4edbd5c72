/* One command line being carried out: what was given, and where to write. */
#pragma once

#include "cli/command.h"
#include "sys/stream.h"

typedef struct Given {
    const Option *option;
    const char *value; /* NULL for flags */
} Given;

struct Invocation {
    const Command *command; /* NULL: none was named */
    const Verb *verb;       /* NULL: the command has none, or none was named yet */
    Arena *arena;
    Stream *out;       /* data */
    Stream *err;       /* everything else */
    const char **args; /* without options and without the verb; NULL behind the last one */
    uint32_t arg_count;
    Given *given; /* in the order of the command line */
    uint32_t given_count;
    bool color_out;  /* whether what is printed is colored */
    bool color_err;  /* whether messages are */
    bool moving_err; /* whether a line of messages can be written over, as on most terminals */
    bool
        *told_stale; /* that the server's answers may be out of date was said; NULL: never say it */
    bool json;       /* the command line asks for JSON, even if nothing else in it is right */
};

/* Whether `-o json` is among the words behind the command, whatever else is wrong with them. */
bool words_ask_for_json(int argc, char **argv);
/* Whether a word is an option where one may be: not "-", which is standard input, and not "-1". */
bool word_is_option(const char *word);
/* Fills in `verb`, `args` and `given` from the words behind the command. False: the usage error was
 * printed. With --help nothing else is required, and `verb` is NULL unless one is named. */
MUST_CHECK bool invocation_parse(Invocation *invocation, int argc, char **argv);

/* Whether the option was given on the command line. */
bool invocation_flag(const Invocation *invocation, const char *name);
/* The last value given, else the row's fallback, else NULL. The option must be one of the verb's or of
 * the command's. */
const char *invocation_text(const Invocation *invocation, const char *name);
/* All values of an option that may be given several times, in order; in the invocation's arena. */
const char **invocation_texts(const Invocation *invocation, const char *name, uint32_t *count);
/* Whether `-o FORMAT`, given or by default, is this one. */
bool invocation_prints(const Invocation *invocation, const char *format);
/* Whether the user asked for JSON: then problems are told in JSON too, on standard output. */
bool invocation_wants_json(const Invocation *invocation);

/* Prints what is wrong with the command line, on one line whatever the arguments contain, and which
 * help to read; with -o json, as a problem on standard output. Returns EXIT_USAGE. */
PRINTF_LIKE(2, 3) int usage_error(const Invocation *invocation, const char *format, ...);
/* The same with "; did you mean 'NEAR'?"; `near` may be empty. */
PRINTF_LIKE(3, 4)
int usage_error_near(const Invocation *invocation, Str near, const char *format, ...);
/* The same for several things that are wrong, each with its own line. */
typedef struct UsageFault {
    Str text;
    Str near; /* may be empty */
} UsageFault;
int usage_errors(const Invocation *invocation, const UsageFault *faults, uint32_t count);
/* "there is no command 'X'", with the nearest one. */
int usage_error_command(const Invocation *invocation, const char *name);
