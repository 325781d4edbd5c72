/* What is wrong with what a user wrote: a list, because all of it is told at once.
 *
 *     error[E0207]: no step named 'instal vnstat'
 *       --> tasks/vnstat.yaml:14:18   (from jobs/base.yaml:3)
 *     14 |       - require: instal vnstat
 *        |                  ^^^^^^^^^^^^^ did you mean 'install vnstat'?
 *        = in item 17 of the loop at jobs/base.yaml:9
 *        = eden explain E0207
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/source.h"

typedef enum Severity {
    SEVERITY_ERROR,
    SEVERITY_WARNING,
    SEVERITY_HINT
} Severity;

/* One step of how we came to the place: the including template, the job that names a file. */
typedef struct ProblemOrigin {
    Str file;
    uint32_t line;              /* 0: not known */
    struct ProblemOrigin *next; /* further out */
} ProblemOrigin;

/* Something that helps to understand it, perhaps about another place. */
typedef struct ProblemNote {
    Str message; /* "in item 17 of the loop" */
    Str file;
    uint32_t line; /* 0: no place */
    struct ProblemNote *next;
} ProblemNote;

/* What repairs it: this text in the place of the columns from `column` up to, not including,
 * `end_column`. Only where nothing is left to decide. */
typedef struct ProblemFix {
    uint32_t line; /* 0: there is none */
    uint32_t column;
    uint32_t end_column;
    Str text;
} ProblemFix;

typedef struct Problem {
    Severity severity;
    Str code; /* "E0101"; see `eden explain`; may be empty */
    Str message;
    Str file;
    uint32_t line; /* 0: no place */
    uint32_t column;
    uint32_t span; /* code points to underline; what lies past the end of the line is left out */
    Str excerpt;   /* the line, or the part of a very long one around the place; may be empty */
    uint32_t excerpt_column; /* column where the excerpt starts; 0 means 1 */
    bool excerpt_cut;        /* the line goes on behind it */
    Str hint;                /* shown behind the caret; may be empty */
    ProblemFix fix;
    ProblemOrigin *origin;
    ProblemNote *notes;
    /* Of what a server has said; else empty. */
    Str server_code; /* "not-found" */
    Str pointer;     /* "/spec/rules/0" */
} Problem;

typedef struct Problems {
    Arena *arena;
    Problem *items;
    uint32_t count;
    uint32_t cap;
    uint32_t errors;  /* how many are errors, those dropped included */
    uint32_t dropped; /* found beyond the maximum and only counted */
    Problem scratch;  /* handed out for those */
} Problems;

enum {
    PROBLEMS_MAX = 200,
    PROBLEM_MESSAGE_MAX = 2000, /* bytes; longer ones end in "..." */
};

void problems_init(Problems *problems, Arena *arena);

/* Adds an error at `length` bytes from `offset` of `source` (NULL: no place). Strings are copied.
 * Returns the problem so that a caller can add origin or hint, valid until the next one is added;
 * past the maximum that is a scratch one. */
PRINTF_LIKE(6, 7)
Problem *problems_add(Problems *problems, const char *code, const Source *source, uint32_t offset,
                      uint32_t length, const char *format, ...);
/* The same for what is worth telling but does not fail the command. */
PRINTF_LIKE(7, 8)
Problem *problems_add_as(Problems *problems, Severity severity, const char *code,
                         const Source *source, uint32_t offset, uint32_t length, const char *format,
                         ...);
/* Adds a copy of a problem of another list that is as long-lived; its strings are borrowed. */
void problems_take(Problems *problems, const Problem *problem);
/* Whether something of the same code is told at the place of `problem` already. */
bool problems_told(const Problems *problems, const Problem *problem);
/* Adds those of another list, found later, that are not told yet. Where an error is known already, what
 * was found later is its consequence. */
void problems_take_new(Problems *problems, const Problems *found);
/* Takes back what a reader who knew less had to say about this place, unless it is an error. */
void problems_withdraw(Problems *problems, const char *code, const Source *source, uint32_t offset);
/* Puts the problems of each file in the order of their places; files stay in their order. */
void problems_sort(Problems *problems);
/* Says that `text` in the place of what is underlined repairs it, or in that of `length` bytes from
 * `offset`. Strings are copied; an empty text that is no fix has no data. */
void problem_fix(Arena *arena, Problem *problem, Str text);
void problem_fix_at(Arena *arena, Problem *problem, const Source *source, uint32_t offset,
                    uint32_t length, Str text);
/* Adds one step outward to how we came to the place. `file` is borrowed. */
void problem_add_origin(Arena *arena, Problem *problem, Str file, uint32_t line);
/* Adds a note. Strings are borrowed. */
void problem_add_note(Arena *arena, Problem *problem, Str message, Str file, uint32_t line);

typedef struct ProblemStyle {
    bool color;
} ProblemStyle;

void problem_print(const Problem *problem, ProblemStyle style, Buf *out);
/* All of them, errors first and otherwise as found; a closing count when there are several. */
void problems_print(const Problems *problems, ProblemStyle style, Buf *out);
/* {"format":"eden.problems/1","problems":[{"severity","code","message","file","line","column",
 * "hint","fix":{"line","column","end_column","text"},"from":[{"file","line"}],
 * "notes":[{"message","file","line"}]}]} and a line end; what is not known is null. What a server has said has "server_code" and "pointer" too. */
void problems_print_json(const Problems *problems, Buf *out);
