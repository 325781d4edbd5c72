/* Problems in user input: a list, because all of them are reported at once.
 *
 *     error[E0207]: no step named 'instal vnstat'
 *       --> tasks/vnstat.yaml:14:18   (from jobs/base.yaml:3)
 *     14 |       - require: instal vnstat
 *        |                  ^^^^^^^^^^^^^ did you mean 'install vnstat'?
 *        = in item 17 of the loop at jobs/base.yaml:9
 *        = eden explain E0207 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/source.h"

typedef enum Severity {
    SEVERITY_ERROR,
    SEVERITY_WARNING,
    SEVERITY_HINT
} Severity;

/* One step of the path to the location: the including template, or the job that names a file. */
typedef struct ProblemOrigin {
    Str file;
    uint32_t line;              /* 0 if unknown */
    struct ProblemOrigin *next; /* next one outward */
} ProblemOrigin;

/* Additional information, possibly about another location. */
typedef struct ProblemNote {
    Str message; /* "in item 17 of the loop" */
    Str file;
    uint32_t line; /* 0: no location */
    struct ProblemNote *next;
} ProblemNote;

/* A fix: this text replaces the columns from `column` up to, but excluding, `end_column`. Only set
 * if the fix is unambiguous. */
typedef struct ProblemFix {
    uint32_t line; /* 0: no fix */
    uint32_t column;
    uint32_t end_column;
    Str text;
} ProblemFix;

typedef struct Problem {
    Severity severity;
    Str code; /* "E0101"; see `eden explain`; may be empty */
    Str message;
    Str file;
    uint32_t line; /* 0: no location */
    uint32_t column;
    uint32_t span; /* code points to underline; clipped at the end of the line */
    Str excerpt;   /* the line, or the part of a very long one around the location; may be empty */
    uint32_t excerpt_column; /* column where the excerpt starts; 0 means 1 */
    bool excerpt_cut;        /* the line continues after it */
    Str hint;                /* shown after the caret; may be empty */
    ProblemFix fix;
    ProblemOrigin *origin;
    ProblemNote *notes;
    /* From the response of a server; empty otherwise. */
    Str server_code; /* "not-found" */
    Str pointer;     /* "/spec/rules/0" */
} Problem;

typedef struct Problems {
    Arena *arena;
    Problem *items;
    uint32_t count;
    uint32_t cap;
    uint32_t errors;  /* number of errors, including dropped ones */
    uint32_t dropped; /* number beyond the maximum, which are only counted */
    Problem scratch;  /* returned for those */
} Problems;

enum {
    PROBLEMS_MAX = 200,
    PROBLEM_MESSAGE_MAX = 2000, /* bytes; longer ones are truncated with "..." */
};

void problems_init(Problems *problems, Arena *arena);

/* Adds an error at `length` bytes from `offset` of `source` (NULL: no location). Strings are
 * copied. Returns the problem so that the caller can add an origin or a hint; it is valid until the
 * next one is added. Beyond the maximum it is a scratch problem. */
PRINTF_LIKE(6, 7)
Problem *problems_add(Problems *problems, const char *code, const Source *source, uint32_t offset,
                      uint32_t length, const char *format, ...);
/* The same for problems that do not make the command fail. */
PRINTF_LIKE(7, 8)
Problem *problems_add_severity(Problems *problems, Severity severity, const char *code,
                               const Source *source, uint32_t offset, uint32_t length,
                               const char *format, ...);
/* Adds a copy of a problem from another list with the same lifetime; its strings are borrowed. */
void problems_add_copy(Problems *problems, const Problem *problem);
/* Whether a problem with the same code and location exists. */
bool problems_contain(const Problems *problems, const Problem *problem);
/* Adds the problems of another list, found later, that are not in this one. Problems at the
 * location of an existing error are dropped as its consequences. */
void problems_merge(Problems *problems, const Problems *found);
/* Removes a warning that an earlier pass with less information added at this location; errors
 * stay. */
void problems_remove_warning(Problems *problems, const char *code, const Source *source,
                             uint32_t offset);
/* Sorts the problems of each file by location; the order of files is preserved. */
void problems_sort(Problems *problems);
/* Sets the fix: `text` replaces what is underlined, or `length` bytes from `offset`. Strings are
 * copied; no fix is an empty text without data. */
void problem_fix(Arena *arena, Problem *problem, Str text);
void problem_fix_at(Arena *arena, Problem *problem, const Source *source, uint32_t offset,
                    uint32_t length, Str text);
/* Adds one step outward to the path to the location. `file` is borrowed. */
void problem_add_origin(Arena *arena, Problem *problem, Str file, uint32_t line);
/* Adds a note. Strings are borrowed. */
void problem_add_note(Arena *arena, Problem *problem, Str message, Str file, uint32_t line);

typedef struct ProblemStyle {
    bool color;
} ProblemStyle;

void problem_print(const Problem *problem, ProblemStyle style, Buf *out);
/* Prints all problems, errors first and otherwise in order; a closing count if there are
 * several. */
void problems_print(const Problems *problems, ProblemStyle style, Buf *out);
/* {"format":"eden.problems/1","problems":[{"severity","code","message","file","line","column",
 * "hint","fix":{"line","column","end_column","text"},"from":[{"file","line"}],
 * "notes":[{"message","file","line"}]}]} and a newline; unknown fields are null. Problems from a
 * server also have "server_code" and "pointer". */
void problems_print_json(const Problems *problems, Buf *out);
