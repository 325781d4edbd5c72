/* Parser for the standard output of an extension module: any number of {"progress": TEXT}, followed
 * by exactly one response object. Pure. */
#pragma once

#include "lang/value.h"
#include "modules/extension_rows.h"

enum {
    EXTENSION_OUTPUT_MAX = 4 << 20, /* bytes */
    EXTENSION_NODES_MAX = 200000,   /* maximum number of values */
    EXTENSION_DEPTH_MAX = 64,
    EXTENSION_KEEPS_MAX = 1000,
    EXTENSION_LINE_MAX = 1000, /* maximum length of a displayed line, in bytes */
    EXTENSION_STATE_MAX = 32,
};

typedef struct ExtensionResponse {
    bool failed;
    Str failure; /* reason for the failure */
    bool changed;
    bool unknown;
    Str comment, state, diff;
    Map *changes; /* NULL: none */
    Value value;  /* null: none */
    Value found;  /* null: none */
    List *keeps;  /* paths that apply will change; NULL: none */
} ExtensionResponse;

/* Parses a single object; the caller checks its fields. Strings may point into `text`. */
MUST_CHECK bool extension_object_read(Arena *arena, Str text, Value *out, Error *err);
MUST_CHECK bool extension_response_read(Arena *arena, Str text, ExtensionOp op,
                                        ExtensionResponse *out, Error *err);
/* Returns true if a line of output reports progress. */
bool extension_progress_read(Arena *arena, Str line, Str *out);
