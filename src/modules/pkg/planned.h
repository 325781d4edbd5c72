/* What earlier steps of a plan would have done to packages, for the steps behind them. */
#pragma once

#include "modules/call.h"

/* It would be let go ('pkg.held' with 'hold: false'). */
void planned_release(Call *call, Str package);
/* False outside of plans. */
bool planned_is_released(Call *call, Str package);
