/* A binary min-heap of numbers by key, in an arena. A zeroed heap is empty.
 *
 * Adding and removing take logarithmic time. The order of equal keys is unspecified: callers that
 * need a deterministic order use distinct keys. */
#pragma once

#include "base/vec.h"

typedef struct HeapItem {
    uint64_t key;
    uint64_t value;
} HeapItem;

typedef VEC(HeapItem) Heap;

void heap_push(Arena *arena, Heap *heap, uint64_t key, uint64_t value);
/* Must not be empty. The first item is also heap->items[0]. */
HeapItem heap_pop(Heap *heap);
