/* What an extension module writes to its standard output: any number of {"progress": TEXT}, then one
 * object that answers, and nothing more. Pure. */
#pragma once

#include "lang/value.h"
#include "modules/extension_rows.h"

enum {
    EXTENSION_OUTPUT_MAX = 4 << 20, /* bytes */
    EXTENSION_NODES_MAX = 200000,   /* values in it */
    EXTENSION_DEPTH_MAX = 64,
    EXTENSION_KEEPS_MAX = 1000,
    EXTENSION_LINE_MAX = 1000, /* bytes of a line for people */
    EXTENSION_STATE_MAX = 32,
};

typedef struct ExtensionAnswer {
    bool failed;
    Str failure; /* its reason */
    bool changed;
    bool unknown;
    Str comment, state, diff;
    Map *changes; /* NULL: none */
    Value value;  /* null: none */
    Value found;  /* null: none */
    List *keeps;  /* paths that apply is going to change; NULL: none */
} ExtensionAnswer;

/* The one object of a text; what it must hold depends on who asks. Strings may borrow `text`. */
MUST_CHECK bool extension_object_read(Arena *arena, Str text, Value *out, Error *err);
MUST_CHECK bool extension_answer_read(Arena *arena, Str text, ExtensionOp op, ExtensionAnswer *out,
                                      Error *err);
/* Whether a line of output tells of progress. */
bool extension_progress_read(Arena *arena, Str line, Str *out);
