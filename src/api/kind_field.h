/* Fields of objects: what may stand in them, checked and described. Pure. */
#pragma once

#include "base/buf.h"
#include "base/own.h"
#include "lang/value.h"

typedef enum FieldType {
    KIND_FIELD_TEXT,
    KIND_FIELD_CHOICE,   /* one of `choices` */
    KIND_FIELD_DURATION, /* "90m" */
    KIND_FIELD_TIME,     /* "2026-01-31T08:15:30Z" */
    KIND_FIELD_INT,      /* from `min` to `max` */
    KIND_FIELD_BOOL,
    KIND_FIELD_SELECTOR, /* of nodes */
    KIND_FIELD_OBJECT,   /* of `fields` */
    KIND_FIELD_ANY,      /* whatever JSON has */
} FieldType;

typedef enum FieldShape {
    KIND_FIELD_ONE,
    KIND_FIELD_LIST, /* of those */
    KIND_FIELD_MAP,  /* from texts to those */
} FieldShape;

typedef struct KindField KindField;
struct KindField {
    const char *name; /* NULL ends a list */
    FieldType type;
    FieldShape shape;
    bool is_required;
    bool is_secret;      /* shown once, and never logged */
    bool is_nullable;    /* in what the server says: null stands for none */
    bool is_fixed;       /* cannot be changed later */
    bool is_plain;       /* of a text: no control characters */
    const char *choices; /* "join|access" */
    int64_t min, max;    /* of a number; milliseconds of a span of time; bytes of other texts */
    const KindField *fields;
    const char *help;
};

/* One thing that is wrong. */
typedef struct FieldProblem {
    Str pointer; /* "/spec/rules/0/verbs" */
    Str text;
    bool is_name;    /* it is the name that is wrong, not what stands under it */
    uint32_t column; /* within the text that stands there, from 1 on; 0: it is about all of it */
} FieldProblem;

enum {
    FIELD_PROBLEMS_MAX = 20
};

typedef struct FieldProblems {
    FieldProblem items[FIELD_PROBLEMS_MAX];
    uint32_t count;       /* further ones are not kept */
    FieldProblem scratch; /* handed out for those */
} FieldProblems;

/* Returns the problem, for what else is known of it. */
PRINTF_LIKE(4, 5)
FieldProblem *field_problem(Arena *arena, FieldProblems *problems, Str pointer, const char *format,
                            ...);
/* Whether something is known to be wrong there, or below. */
bool field_is_told(const FieldProblems *problems, Str pointer);
/* The pointer to what stands under `name` there, as RFC 6901 writes it. */
Str field_below(Arena *arena, Str pointer, Str name);
/* NULL: there is none of that name. */
const KindField *fields_find(const KindField *fields, Str name);
/* What is wrong with a name that none of them has: which one may be meant. */
void fields_tell_unknown(Arena *arena, const KindField *fields, Str name, Str pointer,
                         FieldProblems *problems);
/* Checks a map against fields; `pointer` is where it stands. Adds what is wrong, all of it at once. */
void fields_check(Arena *arena, const KindField *fields, Value map, Str pointer,
                  FieldProblems *problems);

/* Appends "type":"object",... of an object that was opened: a JSON Schema as OpenAPI 3.0 has them. */
void fields_schema(Buf *out, const KindField *fields);
