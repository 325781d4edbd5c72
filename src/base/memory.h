/* Memory outside arenas, for objects that live longer than a unit of work. */
#pragma once

#include "base/own.h"

/* Zeroed; never NULL; freed with free(). */
void *memory_new(size_t size);

/* Called by every allocator if malloc fails. */
NO_RETURN void memory_exhausted(size_t wanted);
