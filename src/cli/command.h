/* Commands as rows: one file and one row each, listed in commands.def; a command with verbs
 * (`eden nodes list`) has a row for each of them. Parsing, help, man pages, completion and
 * `eden help -o json` all come from these rows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/exit_codes.h"

/* What may stand for a word: tells the shell how to complete it. */
typedef enum WordKind {
    WORD_TEXT, /* anything; nothing to offer */
    WORD_FILE,
    WORD_DIRECTORY,
    WORD_COMMAND, /* the name of a command */
    WORD_TOPIC,   /* the name of a command, or a topic of `eden help` */
    WORD_VERB,    /* a verb of the command that is the argument before */
    WORD_SUBJECT, /* what `eden explain` knows */
    WORD_FACT,    /* the name of a fact */
    WORD_KIND,    /* of objects, or the whole API */
    WORD_SETTING, /* of the cluster, "title=" */
    WORD_NODE,    /* the name of a node, as the server knows it */
    WORD_TOKEN,   /* the public half of a token, likewise */
    WORD_ROLE,    /* the name of a role, likewise */
    WORD_CONTEXT, /* the name of a context of this user */
} WordKind;

/* "file", "directory" ...: how the description of the commands names it. */
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
    const char *choices;  /* "json|yaml": what the argument may be; NULL: anything */
    const char *fallback; /* value when not given; shown in help */
    const char *also;     /* "expires|expiry": other names for it, for suggestions */
    const char *alone;    /* the flag that the letter means when no argument follows it */
    const char *help;
} Option;

/* The row of -o. `formats` is "table|json", `usual` one of them. */
#define OUTPUT_OPTION(formats, usual, text)                                          \
    {                                                                                \
        .name = "output", .letter = 'o', .argument = "FORMAT", .choices = (formats), \
        .fallback = (usual), .help = (text)                                          \
    }

typedef struct Example {
    const char *command; /* NULL ends a list */
    const char *help;
} Example;

/* What is expected at one position behind a command or verb. */
typedef struct Argument {
    const char *usage;   /* "NODE", "[NODE]" if optional, "NODE..." if repeated; NULL ends a list */
    WordKind word;       /* how to complete it */
    const char *choices; /* "bash|zsh|fish"; NULL: anything */
} Argument;

enum {
    ARGUMENTS_MAX = 2,
    EXAMPLES_MAX = 4
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
    /* Its own. One that several verbs have is in the list of each, and the same in all of them: it
     * may be given before the verb. */
    const Option *options;
    Example examples[EXAMPLES_MAX + 1];
    RunFunction *run;
} Verb;

typedef struct Command {
    const char *name;
    const char *alias; /* or NULL */
    CommandGroup group;
    const char *kind;                 /* of the objects it is about, "Role"; or NULL */
    Argument args[ARGUMENTS_MAX + 1]; /* without verbs */
    const char *help;                 /* one line */
    const char *text;                 /* paragraphs for help and manual; may be NULL */
    const Option *options;            /* with verbs, of all of them */
    const Example *examples;          /* without verbs */
    const Verb *verbs;                /* either these */
    RunFunction *run;                 /* or this */
} Command;

/* Ends with NULL; in the order of commands.def. */
extern const Command *const commands[];
const Command *command_find(Str name); /* by name or alias; NULL: not found */
/* NULL if the command has no such verb, or no verbs. */
const Verb *verb_find(const Command *command, Str name);
/* The verb that is run when none is given; NULL: one is required. */
const Verb *verb_default(const Command *command);
/* Adds "list|show|create". */
void verbs_put(const Command *command, Buf *out);

/* --- Arguments ------------------------------------------------------------------------------- */

bool argument_is_optional(const Argument *argument);
bool argument_repeats(const Argument *argument);
Str argument_name(const Argument *argument); /* "NODE" of "[NODE...]" */
uint32_t arguments_min(const Argument *args);
uint32_t arguments_max(const Argument *args); /* UINT32_MAX: any number */
/* What is expected at a position, from 0; NULL: nothing. */
const Argument *arguments_at(const Argument *args, uint32_t position);
/* Adds " METHOD PATH", nothing if there are none. */
void arguments_put(const Argument *args, Buf *out);
/* Adds "eden nodes show [OPTION]... NODE"; without a verb that of every verb, with the separator
 * between them. */
void usage_put(const Command *command, const Verb *verb, const char *separator, Buf *out);

/* --- Options --------------------------------------------------------------------------------- */

/* Walks through the options that a verb accepts: its own, those of the command, and the common ones.
 * Without a verb, those of every verb, each name once. Starts as { 0 }. */
typedef struct OptionCursor {
    const Option *option;
    uint32_t verbs; /* bit i: the i-th verb has it; 0: the whole command has it */
    bool is_common; /* every command has it */
    uint32_t list, next;
} OptionCursor;
bool option_next(const Command *command, const Verb *verb, OptionCursor *cursor);
/* The same with the options of every verb, but only the first one of those that the same verbs have. */
bool option_next_group(const Command *command, OptionCursor *cursor);
/* NULL: not found. `verb` as above. */
const Option *option_find(const Command *command, const Verb *verb, Str name);
const Option *option_find_letter(const Command *command, const Verb *verb, char letter);
/* Adds "list", "list and show", "list, show and label": the verbs of a cursor. `quote` goes around
 * each of them. */
void option_put_verbs(const Command *command, uint32_t verbs, const char *quote, Buf *out);

/* Walks through the examples of a verb, or without one through all of the command's. */
typedef struct ExampleCursor {
    const Example *example;
    bool is_first;
    uint32_t list, next;
} ExampleCursor;
bool example_next(const Command *command, const Verb *verb, ExampleCursor *cursor);
