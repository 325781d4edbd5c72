/* An engine that keeps everything in memory, for simulation and tests. */
#pragma once

#include "store/engine.h"

Engine *memory_engine_new(void);
