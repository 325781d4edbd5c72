/* What a plan can say of a step beyond what its check saw. Pure. */
#pragma once

#include "model/decide.h"

/* "would restart: 'web#config' changes", for a step that reacts to what it watches or listens to;
 * empty when its parameters leave nothing to do. `statuses` are those of all steps. */
Str forecast_reaction(Arena *arena, const Graph *graph, const StepStatus *statuses, uint32_t step,
                      RequisiteKind kind, const Value *params);
