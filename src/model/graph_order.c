/* The order of a run: requisites first, then `order`, then the file. */
#include <stdlib.h>

#include "base/heap.h"
#include "model/graph_builder.h"

typedef struct Ranked {
    OrderKind order;
    int64_t number;
    uint32_t step;
} Ranked;

static int compare_ranked(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    if (x->order != y->order) {
        return x->order < y->order ? -1 : 1;
    }
    if (x->number != y->number) {
        return x->number < y->number ? -1 : 1;
    }
    return x->step < y->step ? -1 : 1;
}

uint32_t *graph_rank_steps(Arena *arena, const Steps *steps)
{
    uint32_t *rank = ARENA_ARRAY(arena, uint32_t, steps->count);
    Ranked *ranked = ARENA_ARRAY(arena, Ranked, steps->count);
    bool sorted = true;
    for (uint32_t i = 0; i < steps->count; i++) {
        const StepSpec *spec = steps->items[i].spec;
        ranked[i] = (Ranked){ .order = spec->order,
                              .number = spec->order == ORDER_NUMBER ? spec->order_number : 0,
                              .step = i };
        sorted &= i == 0 || compare_ranked(&ranked[i - 1], &ranked[i]) < 0;
    }
    if (!sorted) {
        qsort(ranked, steps->count, sizeof *ranked, compare_ranked);
    }
    for (uint32_t i = 0; i < steps->count; i++) {
        rank[ranked[i].step] = i;
    }
    return rank;
}

/* A check stands right before its run when nothing says otherwise. */
static uint32_t vertex_rank(const Graph *graph, uint32_t vertex)
{
    Vertex v = graph->vertices[vertex];
    return graph->rank[v.step] * 2 + (v.check ? 0 : 1);
}

/* What others wait for comes as early as the first of them would: a step written first pulls what
 * it requires before it, instead of waiting until the file comes to that. */
uint32_t *graph_order_net(Arena *arena, const Graph *graph, const Net *net)
{
    uint32_t *sorted;
    BUG_IF(!net_sort(net, arena, &sorted));
    uint32_t *wanted = ARENA_ARRAY(arena, uint32_t, net->count);
    for (uint32_t i = net->count; i > 0; i--) {
        uint32_t vertex = sorted[i - 1];
        uint32_t earliest = vertex_rank(graph, vertex);
        for (uint32_t j = net->start[vertex]; j < net->start[vertex + 1]; j++) {
            uint32_t theirs = wanted[net->next[j]];
            earliest = theirs < earliest ? theirs : earliest;
        }
        wanted[vertex] = earliest;
    }

    Heap heap = { 0 };
    VEC_RESERVE(arena, &heap, net->count);
    uint32_t *waits = net_waits(net, arena);
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, net->count);
    uint32_t ordered = 0;
    for (uint32_t i = 0; i < net->count; i++) {
        if (waits[i] == 0) {
            heap_push(arena, &heap, (uint64_t)wanted[i] << 32 | vertex_rank(graph, i), i);
        }
    }
    while (heap.len > 0) {
        uint32_t vertex = (uint32_t)heap_pop(&heap).value;
        order[ordered++] = vertex;
        for (uint32_t j = net->start[vertex]; j < net->start[vertex + 1]; j++) {
            uint32_t waiter = net->next[j];
            if (--waits[waiter] == 0) {
                heap_push(arena, &heap, (uint64_t)wanted[waiter] << 32 | vertex_rank(graph, waiter),
                          waiter);
            }
        }
    }
    return order;
}
