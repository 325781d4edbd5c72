/* Chains of steps by what they cost. */
#include "base/bug.h"
#include "model/graph.h"

/* Even what costs nothing counts a little, so that a long chain of it is longer than a short one. */
static uint64_t vertex_cost(const Graph *graph, uint32_t vertex)
{
    return (uint64_t)graph_step(graph, graph->vertices[vertex].step)->spec->action->cost_ms + 1;
}

uint64_t *graph_chain_costs(const Graph *graph, Arena *arena)
{
    uint64_t *costs = ARENA_ARRAY(arena, uint64_t, graph->vertex_count);
    for (uint32_t i = graph->vertex_count; i > 0; i--) {
        uint32_t vertex = graph->order[i - 1];
        uint64_t longest = 0;
        Numbers next = graph_next(graph, vertex);
        for (uint32_t j = 0; j < next.count; j++) {
            uint64_t theirs = costs[next.items[j]];
            longest = theirs > longest ? theirs : longest;
        }
        costs[vertex] = longest + vertex_cost(graph, vertex);
    }
    return costs;
}

Numbers graph_critical_path(const Graph *graph, Arena *arena)
{
    if (graph->vertex_count == 0) {
        return (Numbers){ 0 };
    }
    uint64_t *costs = graph_chain_costs(graph, arena);
    uint32_t *steps = ARENA_ARRAY(arena, uint32_t, graph->vertex_count);
    uint32_t count = 0;
    uint32_t here = graph->order[0];
    for (uint32_t i = 1; i < graph->vertex_count; i++) {
        here = costs[graph->order[i]] > costs[here] ? graph->order[i] : here;
    }
    while (here != VERTEX_NONE) {
        if (!graph->vertices[here].check) {
            steps[count++] = graph->vertices[here].step;
        }
        /* The first in order of those that are as long as what is left. */
        uint64_t left = costs[here] - vertex_cost(graph, here);
        Numbers next = graph_next(graph, here);
        uint32_t best = VERTEX_NONE;
        for (uint32_t j = 0; left > 0 && j < next.count; j++) {
            uint32_t there = next.items[j];
            if (costs[there] == left &&
                (best == VERTEX_NONE || graph->position[there] < graph->position[best])) {
                best = there;
            }
        }
        here = best;
    }
    return (Numbers){ steps, count };
}
