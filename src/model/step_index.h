/* Finds the steps of a run by what requisites say of them. */
#pragma once

#include "base/vec.h"
#include "model/step.h"

typedef VEC(uint32_t) StepVec;

/* What stands under a requisite key, or what an implicit reference comes to. */
typedef struct Reference {
    ReferenceKind kind;
    Str module;   /* of REFERENCE_MODULE: "file", or "file.managed" for its steps alone */
    Str pattern;  /* name, id or glob; "job#name" for a step of another job */
    bool literal; /* the pattern is no glob whatever is in it */
} Reference;

typedef struct StepIndex StepIndex;

StepIndex *step_index_new(Arena *arena, const Steps *steps);

typedef enum FindResult {
    FIND_OK, /* `found` holds the steps, in file order; of a job without steps, none */
    FIND_NOTHING,
    FIND_AMBIGUOUS, /* one name, several jobs: `found` holds them all */
} FindResult;

/* The own job of `step` is searched first, and the run only when it has nothing. Globs, `job:` and
 * module ids mean all that match, less the step itself; a name means a step of one job. Instances
 * of forEach are found by the name that they share too. `found` is emptied first. */
FindResult step_index_find(const StepIndex *index, uint32_t step, const Reference *reference,
                           Arena *arena, StepVec *found);

/* The known name nearest to what was not found. `*near` is a step that has it, or UINT32_MAX. */
bool step_index_suggest(const StepIndex *index, uint32_t step, const Reference *reference, Str *out,
                        uint32_t *near);
