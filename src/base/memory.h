/* Memory beside arenas, for what lives longer than a unit of work. */
#pragma once

#include "base/own.h"

/* Zeroed; never NULL, and given back with free(). */
void *memory_new(size_t size);

/* What every allocator calls when malloc fails. */
NO_RETURN void memory_exhausted(size_t wanted);
