#include "base/heap.h"

void heap_push(Arena *arena, Heap *heap, uint64_t key, uint64_t value)
{
    HeapItem item = { key, value };
    VEC_PUSH(arena, heap, item);
    uint32_t pos = heap->len - 1;
    while (pos > 0 && heap->items[(pos - 1) / 2].key > key) {
        heap->items[pos] = heap->items[(pos - 1) / 2];
        pos = (pos - 1) / 2;
    }
    heap->items[pos] = item;
}

HeapItem heap_pop(Heap *heap)
{
    HeapItem *items = heap->items;
    HeapItem first = items[0];
    HeapItem last = VEC_POP(heap);
    uint32_t pos = 0;
    for (uint32_t child = 1; child < heap->len; child = 2 * pos + 1) {
        if (child + 1 < heap->len && items[child + 1].key < items[child].key) {
            child++;
        }
        if (items[child].key >= last.key) {
            break;
        }
        items[pos] = items[child];
        pos = child;
    }
    if (heap->len > 0) {
        items[pos] = last;
    }
    return first;
}
