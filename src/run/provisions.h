/* What earlier steps of a plan may provide, which decides whether an obstacle will be gone when a
 * step is reached.
 *
 * Steps declare this in their claims (model/module.h): what they manage, what is under a directory
 * that they fill, and "provides:" for the rest. Only the thread of the executor settles steps;
 * workers may query. */
#pragma once

#include "base/own.h"
#include "model/decide.h"

typedef struct Provisions Provisions;

Provisions *provisions_new(const Graph *graph);
void provisions_free(Provisions *provisions); /* NULL is allowed */
DEFINE_AUTO(Provisions, provisions_free)

/* Records the result of a step. One that changes nothing provides nothing. */
void provisions_settle(Provisions *provisions, uint32_t step, StepResult result);
/* Whether a step before `step` may provide what it lacks. `class` and `name` are as in a claim:
 * "user", "path"; a path that ends in "/" means anything below it. `why` names the step, in
 * `arena`. */
bool provisions_find(Provisions *provisions, uint32_t step, const char *class, Str name,
                     Arena *arena, Str *why);
