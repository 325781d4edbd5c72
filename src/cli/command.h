/* Commands as rows: one file and one row each, listed in commands.def. Parsing, help, man pages,
 * completion and `eden help -o json` all come from the row. */
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
    const char *verbs;    /* "create|list": those it is for; NULL: every one */
    const char *also; /* "expires|expiry": what others call it, to be suggested to who tries that */
    const char *alone; /* the flag that the letter means when no argument follows it */
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

typedef struct Invocation Invocation;

typedef struct Command {
    const char *name;
    const char *alias; /* another word for it; or NULL */
    CommandGroup group;
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

/* Ends with NULL; in the order of commands.def. */
extern const Command *const commands[];
const Command *command_find(Str name); /* NULL when there is none */

/* Options that every command has. */
extern const Option common_options[];
/* The command's own or a common one; NULL when there is none. */
const Option *option_find(const Command *command, Str name);
/* Adds "create, apply: ", when the option is for some verbs of its command only, and the help. */
void option_put_help(const Option *option, Buf *out);
const Option *option_find_letter(const Command *command, char letter);
