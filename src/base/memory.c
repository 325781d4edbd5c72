#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

void *memory_new(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL) {
        memory_exhausted(size);
    }
    return memory;
}

void memory_exhausted(size_t wanted)
{
    fprintf(stderr, "eden: out of memory (requested %zu bytes)\n", wanted);
    abort();
}
