/* What earlier steps of a plan may bring: which obstacle goes before a step is reached, and which
 * stays.
 *
 * Steps say what they bring by their claims (model/module.h): what they manage, what lies below a
 * directory that they fill, and "brings:" for the rest. Only the thread that decides settles steps;
 * workers ask. */
#pragma once

#include "base/own.h"
#include "model/decide.h"

typedef struct Provisions Provisions;

Provisions *provisions_new(const Graph *graph);
void provisions_free(Provisions *provisions); /* NULL is fine */
DEFINE_AUTO(Provisions, provisions_free)

/* What became of a step. One that changes nothing brings nothing. */
void provisions_settle(Provisions *provisions, uint32_t step, StepResult result);
/* Whether a step before `step` may bring what it lacks. `class` and `name` as in a claim: "user",
 * "path"; a path that ends in "/" means anything below. `why` names the step, in `arena`. */
bool provisions_find(Provisions *provisions, uint32_t step, const char *class, Str name,
                     Arena *arena, Str *why);
