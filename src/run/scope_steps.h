/* `steps` and `step` in templates: the results of steps as objects. */
#pragma once

#include "base/str_map.h"
#include "lang/template/object.h"
#include "model/step.h"
#include "run/report.h"

typedef enum StepsMode {
    STEPS_FORBIDDEN, /* in variables and macros */
    STEPS_UNKNOWN,   /* at load time */
    STEPS_RUNNING,
} StepsMode;

typedef struct StepsObject {
    Object object;
    StepsMode mode;
    Arena *arena;
    const Steps *steps;
    const StepReport *reports; /* NULL: every result is unknown */
    bool planning;
    uint32_t asking; /* the step whose template is evaluated */
    /* Created on first use: the first step of each name, linked to the next ones. */
    bool indexed;
    StrMap names;   /* of steps; for forEach also without the key */
    uint32_t *next; /* index + 1; 0: end */
} StepsObject;

void steps_object_init(StepsObject *object, StepsMode mode, Arena *arena);
void steps_object_set_run(StepsObject *object, const Steps *steps, const StepReport *reports,
                          bool planning);
static inline Value steps_object_value(StepsObject *object)
{
    return value_object(&object->object);
}

/* `step`: the step's own result, right after the action. */
typedef struct StepObject {
    Object object;
    const StepsObject *owner;
    const uint32_t *steps; /* one step, or all instances of forEach */
    uint32_t count;
    bool group;    /* named without a key although it has instances */
    bool own;      /* counts as having run, whatever its status */
    uint32_t only; /* storage for `steps` if it is one */
} StepObject;
void step_object_init(StepObject *object, const StepsObject *owner, uint32_t step);
