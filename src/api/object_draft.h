/* The desired state of an object, from a request. Pure. */
#pragma once

#include "api/kind.h"

/* The body of a request, limited to what callers may set. */
typedef struct ObjectBody {
    Value metadata, spec; /* maps; may be missing */
    bool is_spec_invalid; /* it is not a map, so its fields cannot be checked */
    Str name;             /* may be empty */
    int64_t revision;     /* 0: not given */
} ObjectBody;

enum {
    OBJECT_VALUES_MAX = 10000, /* values per body */
    OBJECT_DEPTH_MAX = 6
};

/* Parses within these limits. Fails with ERROR_INVALID or ERROR_LIMIT if it is not a JSON
 * object. */
MUST_CHECK bool object_parse(Arena *arena, Str body, uint32_t size_max, Value *out, Error *err);

/* Fails with ERROR_INVALID or ERROR_LIMIT if it is not a JSON object. Adds all problems outside of
 * `spec`: unknown fields, a different kind, values of the wrong type. Fields set by the server
 * (status, uuid, created) are ignored. The result is in the arena and does not refer to the
 * body. */
MUST_CHECK bool object_body_read(Arena *arena, const Kind *kind, Str body, ObjectBody *out,
                                 FieldProblems *problems, Error *err);

/* Builds a draft from the entire body or, with `is_patch`, by applying it to the current object.
 * Adds all problems, including those of the name of a new object. */
void object_draft(Arena *arena, const Kind *kind, const ObjectBody *body, bool is_patch,
                  const KindItem *present, KindDraft *out, FieldProblems *problems);
