/* Numbers in the order of their keys, the smallest first, in an arena. A zeroed heap is empty.
 *
 * Adding and taking cost the logarithm of how many there are. Of equal keys any may come first:
 * who wants one order always makes keys that differ. */
#pragma once

#include "base/vec.h"

typedef struct HeapItem {
    uint64_t key;
    uint64_t value;
} HeapItem;

typedef VEC(HeapItem) Heap;

void heap_push(Arena *arena, Heap *heap, uint64_t key, uint64_t value);
/* There must be one. The first is also heap->items[0]. */
HeapItem heap_pop(Heap *heap);
