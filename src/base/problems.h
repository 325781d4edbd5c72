/* What is wrong with what a user wrote: a list, because all of it is told at once.
 *
 * Rendering (EXPERIENCE 1):
 *
 *     error[E0207]: no step named 'instal vnstat'
 *       --> tasks/vnstat.yaml:14:18   (from jobs/base.yaml:3)
 *     14 |       - require: instal vnstat
 *        |                  ^^^^^^^^^^^^^ did you mean 'install vnstat'?
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
    uint32_t line;
    struct ProblemOrigin *next; /* further out */
} ProblemOrigin;

typedef struct Problem {
    Severity severity;
    Str code; /* "E0101"; see `eden explain` */
    Str message;
    Str file;
    uint32_t line; /* 0: no place */
    uint32_t column;
    uint32_t span; /* code points to underline, at least 1 */
    Str excerpt;   /* the line itself; empty when not known */
    Str hint;      /* shown behind the caret; may be empty */
    ProblemOrigin *origin;
} Problem;

typedef struct Problems {
    Arena *arena;
    Problem *items;
    uint32_t count;
    uint32_t cap;
    uint32_t errors;  /* how many of them are errors */
    uint32_t dropped; /* found beyond the maximum and only counted */
} Problems;

enum {
    PROBLEMS_MAX = 200
};

void problems_init(Problems *problems, Arena *arena);

/* Adds a problem at `length` bytes from `offset` of `source` (NULL: no place). Strings are copied.
 * Returns the problem so that a caller can add origin or hint; a scratch one past the maximum. */
PRINTF_LIKE(6, 7)
Problem *problems_add(Problems *problems, const char *code, const Source *source, uint32_t offset,
                      uint32_t length, const char *format, ...);

typedef struct ProblemStyle {
    bool color;
} ProblemStyle;

void problem_print(const Problem *problem, ProblemStyle style, Buf *out);
/* All of them, errors first as found, and a closing count. */
void problems_print(const Problems *problems, ProblemStyle style, Buf *out);
