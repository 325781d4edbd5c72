/* Finds the steps of a run that requisites refer to. */
#pragma once

#include "base/vec.h"
#include "model/step.h"

typedef VEC(uint32_t) StepVec;

/* A reference under a requisite key, or an implicit one. */
typedef struct Reference {
    ReferenceKind kind;
    Str module;   /* for REFERENCE_MODULE: "file", or "file.managed" for only these steps */
    Str pattern;  /* name, ID or glob; "job#name" for a step of another job */
    bool literal; /* the pattern is not a glob */
} Reference;

typedef struct StepIndex StepIndex;

StepIndex *step_index_new(Arena *arena, const Steps *steps);

typedef enum FindResult {
    FIND_OK, /* `found` has the steps, in file order; for a job without steps, none */
    FIND_NONE,
    FIND_AMBIGUOUS, /* one name, several jobs: `found` has them all */
} FindResult;

/* Searches the job of `step` first, and the whole run only if that has no match. Globs, `job:` and
 * module IDs match all such steps except the step itself; a name matches a step of one job.
 * Instances of forEach are also found by their common name. Clears `found` first. */
FindResult step_index_find(const StepIndex *index, uint32_t step, const Reference *reference,
                           Arena *arena, StepVec *found);

/* The name closest to one that was not found. `*nearest_step` is a step that has it, or UINT32_MAX. */
bool step_index_suggest(const StepIndex *index, uint32_t step, const Reference *reference, Str *out,
                        uint32_t *nearest_step);
