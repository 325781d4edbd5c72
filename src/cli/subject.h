/* Everything documented by a row: commands, filters, tests, global functions, methods, kinds of
 * objects, problem codes, exit codes. `eden explain NAME` explains one, `eden help TOPIC` lists a
 * kind, and docs/reference is the same in Markdown. */
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
    const char *singular; /* "filter" */
    const char *name;     /* "filters": the argument of `eden help`; NULL ends the table */
    const char *title;    /* "Filters" */
    const char *help;     /* one line, for the overview */
    const char *text;     /* how its subjects are used */
    bool is_unnamed;      /* its rows cannot be found by name */
} SubjectTopic;

extern const SubjectTopic subject_topics[];
const SubjectTopic *subject_topic_find(Str name); /* NULL if not found */
const SubjectTopic *subject_topic_of(SubjectKind kind);

/* A way to mark or pass a secret. */
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

/* All subjects of a kind: those of the template language sorted by name, others in the order of
 * their tables. */
void subjects_add_kind(Arena *arena, SubjectKind kind, Subjects *out);
/* All subjects that can be found by name. */
void subjects_add_all(Arena *arena, Subjects *out);
/* All subjects that match the name: "upper" is a filter, a test and a method of str. */
void subjects_add_named(Arena *arena, Str name, Subjects *out);
/* Finds a similar name, for "did you mean"; returns false if there is none. */
bool subjects_suggest(Arena *arena, Str name, Str *out);

/* Appends the syntax: "indent(width=4, first=false, blank=false)", "str.upper()", "render FILE". */
void subject_put_signature(const Subject *subject, Buf *out);
/* One line. */
const char *subject_help(const Subject *subject);
