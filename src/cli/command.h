/* Commands as rows: one file and one row each, listed in commands.def; a command with verbs
 * (`eden nodes list`) has a row for each of them. Parsing, help, man pages, completion and
 * `eden help -o json` all come from these rows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/exit_codes.h"

/* The kind of an argument; tells the shell what to complete. */
typedef enum WordKind {
    WORD_TEXT, /* arbitrary text; no completion */
    WORD_FILE,
    WORD_DIRECTORY,
    WORD_COMMAND, /* the name of a command */
    WORD_TOPIC,   /* a command, or a topic of `eden help` */
    WORD_VERB,    /* a verb of the command in the previous argument */
    WORD_SUBJECT, /* a subject of `eden explain` */
    WORD_FACT,    /* the name of a fact */
    WORD_KIND,    /* a kind of objects, or "openapi" */
    WORD_SETTING, /* a setting of the cluster, such as "title=" */
    WORD_NODE,    /* a node, from the server */
    WORD_TOKEN,   /* the id of a token, from the server */
    WORD_ROLE,    /* a role, from the server */
    WORD_RUN,     /* the ID of a run across nodes, from the server */
    WORD_VERSION, /* a version of the site, from the server */
    WORD_SOURCE,  /* a source of the site, from the server */
    WORD_CONTEXT, /* the name of a context of this user */
} WordKind;

/* Returns the name that `eden help -o json` uses: "file", "directory" ... */
const char *word_kind_name(WordKind kind);

typedef enum CommandGroup {
    GROUP_AUTHOR,
    GROUP_OPERATE,
    GROUP_CLUSTER,
    GROUP_SYSTEM,
    GROUP_COUNT
} CommandGroup;
extern const char *const command_group_titles[GROUP_COUNT];

typedef struct Option {
    const char *name;     /* "output" for --output; NULL ends a list */
    char letter;          /* 'o', or 0 */
    const char *argument; /* "FORMAT"; NULL: a flag */
    bool repeats;
    WordKind word;
    const char *choices;  /* valid arguments, "json|yaml"; NULL: any */
    const char *fallback; /* default value, shown in help */
    const char *synonyms; /* "expires|expiry": synonyms, for which this option is suggested */
    const char *flag_without_value; /* flag that the letter stands for if it has no argument */
    const char *help;
} Option;

/* The row of -o. `formats` lists the formats ("table|json"), `standard` is the default. */
#define OUTPUT_OPTION(formats, standard, text)                                       \
    {                                                                                \
        .name = "output", .letter = 'o', .argument = "FORMAT", .choices = (formats), \
        .fallback = (standard), .help = (text)                                       \
    }

typedef struct Example {
    const char *command; /* NULL ends a list */
    const char *help;
} Example;

/* An expected positional argument of a command or verb. */
typedef struct Argument {
    const char *usage;   /* "NODE", "[NODE]" if optional, "NODE..." if repeated; NULL ends a list */
    WordKind word;       /* what to complete */
    const char *choices; /* "bash|zsh|fish"; NULL: any */
} Argument;

enum {
    ARGUMENTS_MAX = 3,
    EXAMPLES_MAX = 5
};

typedef struct Invocation Invocation;
typedef int RunFunction(Invocation *invocation); /* returns the exit code */

typedef struct Verb {
    const char *name;  /* NULL ends a list */
    const char *alias; /* or NULL */
    bool is_default;   /* run when no verb is given; the first verb of its command */
    Argument args[ARGUMENTS_MAX + 1];
    const char *help; /* one line */
    const char *text; /* paragraphs for the help of the verb and the manual; may be NULL */
    /* Options of this verb. If several verbs share an option, each lists it identically, and it may
     * be given before the verb. */
    const Option *options;
    Example examples[EXAMPLES_MAX + 1];
    RunFunction *run;
} Verb;

typedef struct Command {
    const char *name;
    const char *alias; /* or NULL */
    CommandGroup group;
    const char *kind;                 /* kind of the objects it manages, such as "Role"; or NULL */
    Argument args[ARGUMENTS_MAX + 1]; /* only without verbs */
    const char *help;                 /* one line */
    const char *text;                 /* paragraphs for help and manual; may be NULL */
    const Option *options;            /* with verbs: options of all verbs */
    const Option *internal_options; /* used by other eden processes: accepted, but not documented */
    const Example *examples;        /* only without verbs */
    const Verb *verbs;              /* either this */
    RunFunction *run;               /* or this */
} Command;

/* In the order of commands.def; ends with NULL. */
extern const Command *const commands[];
const Command *command_find(Str name); /* by name or alias; NULL: not found */
/* NULL if the command has no such verb, or no verbs. */
const Verb *verb_find(const Command *command, Str name);
/* The verb that runs when none is given; NULL if one is required. */
const Verb *verb_default(const Command *command);
/* Appends "list|show|create". */
void verbs_put(const Command *command, Buf *out);

/* --- Arguments ------------------------------------------------------------------------------- */

bool argument_is_optional(const Argument *argument);
bool argument_repeats(const Argument *argument);
Str argument_name(const Argument *argument); /* "NODE" of "[NODE...]" */
uint32_t arguments_min(const Argument *args);
uint32_t arguments_max(const Argument *args); /* UINT32_MAX: any number */
/* The argument expected at a position, from 0; NULL if none. */
const Argument *arguments_at(const Argument *args, uint32_t position);
/* Appends " METHOD PATH"; nothing if there are no arguments. */
void arguments_put(const Argument *args, Buf *out);
/* Appends "eden nodes show [OPTION]... NODE". Without a verb, appends the usage of every verb,
 * separated by `separator`. */
void usage_put(const Command *command, const Verb *verb, const char *separator, Buf *out);

/* --- Options --------------------------------------------------------------------------------- */

/* Iterates over the options that a verb accepts: its own, those of the command, and the common
 * ones. Without a verb, over those of all verbs, each name once. Initialize with { 0 }. */
typedef struct OptionCursor {
    const Option *option;
    uint32_t verbs; /* bit i is set if the i-th verb has it; 0: all verbs have it */
    bool is_common; /* every command has it */
    uint32_t list, next;
} OptionCursor;
bool option_next(const Command *command, const Verb *verb, OptionCursor *cursor);
/* Like option_next() without a verb, but returns only the first option of each set of verbs. */
bool option_next_group(const Command *command, OptionCursor *cursor);
/* NULL if not found. `verb` may be NULL, as for OptionCursor. */
const Option *option_find(const Command *command, const Verb *verb, Str name);
const Option *option_find_letter(const Command *command, const Verb *verb, char letter);
/* Appends the verbs of a cursor: "list", "list and show", "list, show and label". `quote` surrounds
 * each. */
void option_put_verbs(const Command *command, uint32_t verbs, const char *quote, Buf *out);

/* Iterates over the examples of a verb, or of the whole command if there is no verb. */
typedef struct ExampleCursor {
    const Example *example;
    bool is_first;
    uint32_t list, next;
} ExampleCursor;
bool example_next(const Command *command, const Verb *verb, ExampleCursor *cursor);
