/* Everything that has a row and can be asked for by name: commands, filters, tests, global
 * functions, methods, kinds of objects, problem codes, exit codes. `eden explain NAME` tells about one, `eden help
 * TOPIC` lists a kind, and docs/reference is the same in Markdown. */
#pragma once

#include "api/kind.h"
#include "base/buf.h"
#include "base/vec.h"
#include "cli/codes.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "lang/template/native.h"
#include "lang/value.h"
#include "model/module.h"
#include "model/selector_forms.h"
#include "model/step_keys.h"

typedef enum SubjectKind {
    SUBJECT_COMMAND,
    SUBJECT_ACTION,
    SUBJECT_STEP_KEY,
    SUBJECT_SELECTOR,
    SUBJECT_SECRET,
    SUBJECT_FILTER,
    SUBJECT_TEST,
    SUBJECT_GLOBAL,
    SUBJECT_METHOD,
    SUBJECT_OBJECT_KIND,
    SUBJECT_CODE,
    SUBJECT_EXIT_CODE,
} SubjectKind;

typedef struct SubjectTopic {
    SubjectKind kind;
    const char *one;   /* "filter" */
    const char *name;  /* "filters": what `eden help` takes; NULL ends the table */
    const char *title; /* "Filters" */
    const char *help;  /* one line, for the overview */
    const char *text;  /* how they are used */
    bool only_listed;  /* the names of its rows are no words that anybody would ask for */
} SubjectTopic;

extern const SubjectTopic subject_topics[];
const SubjectTopic *subject_topic_find(Str name); /* NULL when there is none */
const SubjectTopic *subject_topic_of(SubjectKind kind);

/* A way to mark a secret, or to hand one over. */
typedef struct SecretForm {
    const char *text; /* "pw: !secret VALUE"; NULL ends the table */
    const char *help;
} SecretForm;

typedef struct Subject {
    SubjectKind kind;
    Str name; /* "upper", "str.upper", "E0204", "render", "64" */
    union {
        const Command *command;
        const Action *action;
        StepKey step_key;
        const SelectorForm *form;
        const SecretForm *secret;
        const Native *native;
        const Kind *object_kind;
        const Code *code;
        const ExitRow *exit;
    };
} Subject;

typedef VEC(Subject) Subjects;

/* All of one kind: rows of the language by name, the others in the order of their tables. */
void subjects_add_kind(Arena *arena, SubjectKind kind, Subjects *out);
/* Of every kind, but those that are only listed. */
void subjects_add_all(Arena *arena, Subjects *out);
/* All that answer to the name: "upper" is a filter, a test and a method of str. */
void subjects_add_named(Arena *arena, Str name, Subjects *out);
/* "did you mean"; false when no name is near. */
bool subjects_suggest(Arena *arena, Str name, Str *out);

/* How it is written: "indent(width=4, first=false, blank=false)", "str.upper()", "render FILE". */
void subject_put_signature(const Subject *subject, Buf *out);
/* One line. */
const char *subject_help(const Subject *subject);
