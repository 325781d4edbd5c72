/* The desired state of an object, from a request. Pure. */
#pragma once

#include "api/kind.h"

/* The body of a request, as far as it is the caller's to say. */
typedef struct ObjectBody {
    Value metadata, spec; /* maps; missing: not given, or none */
    bool is_spec_wrong;   /* what stands there is no map: of its fields nothing can be said */
    Str name;             /* empty: not given */
    int64_t revision;     /* 0: not given */
} ObjectBody;

enum {
    OBJECT_VALUES_MAX = 10000, /* in a body */
    OBJECT_DEPTH_MAX = 6
};

/* Within those limits. Fails with ERROR_INVALID or ERROR_LIMIT when it is no JSON object. */
MUST_CHECK bool object_parse(Arena *arena, Str body, uint32_t size_max, Value *out, Error *err);

/* Fails with ERROR_INVALID or ERROR_LIMIT when it is no JSON object. Adds what is wrong around the
 * fields of `spec`, all of it: words that no object has, another kind, texts that are none. What the
 * server alone says (status, uuid, created) may stand there, and means nothing. What was read lives in
 * the arena, whatever becomes of the body. */
MUST_CHECK bool object_body_read(Arena *arena, const Kind *kind, Str body, ObjectBody *out,
                                 FieldProblems *problems, Error *err);

/* A draft of what the body says as a whole, or, with `is_patch`, of what it makes of the object as it
 * stands. Adds all that is wrong, also with the name of one that is to be made. */
void object_draft(Arena *arena, const Kind *kind, const ObjectBody *body, bool is_patch,
                  const KindItem *present, KindDraft *out, FieldProblems *problems);
