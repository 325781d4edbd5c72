/* The order of a run: dependencies between vertices, the order for one worker, and the critical
 * path.
 *
 * Requisites are between steps, but order is between their phases. The target of a prereq is
 * checked before it runs, and the steps that have it as prereq are in between:
 *
 *     B's other requisites  ->  check of B  ->  A (prereq B)  ->  B
 *
 * The check waits for everything that B's run waits for, except what can only come later: A
  * itself, if B requires it too, and the runs of other targets of A, whose checks it waits for
  * instead.
 *
 * The order is determined by requisites first, then by `order`, then by the file. Dependencies come
 * as early as the first step that waits for them would. */
#include <stdlib.h>

#include "base/bug.h"
#include "base/heap.h"
#include "model/graph.h"
#include "model/graph_builder.h"

/* --- Vertices --------------------------------------------------------------------------------- */

typedef struct DigraphBuilder {
    GraphBuilder *builder;
    PairVec pairs;
    const uint32_t *position;     /* of vertices; NULL: not used */
    const uint32_t *prereq_start; /* offsets of the steps that have each step as prereq */
    const uint32_t *prereq_items;
} DigraphBuilder;

void graph_set_vertices(Arena *arena, Graph *graph, const Edge *edges, uint32_t edge_count)
{
    uint32_t count = graph->steps.count;
    uint32_t checks = 0;
    graph->check_of = ARENA_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        graph->check_of[i] = VERTEX_NONE;
    }
    for (uint32_t i = 0; i < edge_count; i++) {
        const Edge *edge = &edges[i];
        if (edge->kind == REQUISITE_PREREQ && graph->check_of[edge->to] == VERTEX_NONE) {
            graph->check_of[edge->to] = 0;
            checks++;
        }
    }
    graph->vertex_count = count + checks;
    graph->vertices = ARENA_ARRAY(arena, Vertex, graph->vertex_count);
    uint32_t next = count;
    for (uint32_t i = 0; i < count; i++) {
        graph->vertices[i] = (Vertex){ .step = i };
        if (graph->check_of[i] != VERTEX_NONE) {
            graph->check_of[i] = next;
            graph->vertices[next++] = (Vertex){ .step = i, .check = true };
        }
    }
}

static void push_pair(DigraphBuilder *builder_state, uint32_t dependent, uint32_t target)
{
    VEC_PUSH(builder_state->builder->scratch, &builder_state->pairs,
             (DigraphPair){ .target = target, .dependent = dependent });
}

static bool has_prereq(const DigraphBuilder *builder_state, uint32_t step, uint32_t target)
{
    for (uint32_t i = builder_state->prereq_start[target];
         i < builder_state->prereq_start[target + 1]; i++) {
        if (builder_state->prereq_items[i] == step) {
            return true;
        }
    }
    return false;
}

static bool share_prereq(const DigraphBuilder *builder_state, uint32_t a, uint32_t b)
{
    for (uint32_t i = builder_state->prereq_start[a]; i < builder_state->prereq_start[a + 1]; i++) {
        if (has_prereq(builder_state, builder_state->prereq_items[i], b)) {
            return true;
        }
    }
    return false;
}

static void push_check(DigraphBuilder *builder_state, const Edge *edge, uint32_t check)
{
    const Graph *graph = builder_state->builder->graph;
    uint32_t target = edge->to;
    if (has_prereq(builder_state, target, edge->from)) {
        return;
    }
    if (edge->kind == REQUISITE_PREREQ || (graph->check_of[target] != VERTEX_NONE &&
                                           share_prereq(builder_state, edge->from, target))) {
        target = graph->check_of[target];
    }
    if (builder_state->position == NULL ||
        builder_state->position[target] < builder_state->position[check]) {
        push_pair(builder_state, check, target);
    }
}

static void push_edge(DigraphBuilder *builder_state, const Edge *edge)
{
    if (edge->kind == REQUISITE_LISTEN || edge->kind == REQUISITE_USE) {
        return;
    }
    const Graph *graph = builder_state->builder->graph;
    if (edge->kind == REQUISITE_PREREQ) {
        push_pair(builder_state, edge->from, graph->check_of[edge->to]);
        push_pair(builder_state, edge->to, edge->from);
    } else {
        push_pair(builder_state, edge->from, edge->to);
    }
    if (graph->check_of[edge->from] != VERTEX_NONE) {
        push_check(builder_state, edge, graph->check_of[edge->from]);
    }
}

/* Collects, for each step, the steps that have it as prereq. */
static void find_prereqs(DigraphBuilder *builder_state)
{
    GraphBuilder *builder = builder_state->builder;
    PairVec pairs = { 0 };
    for (uint32_t i = 0; i < builder->hard.len; i++) {
        const Edge *edge = &builder->hard.items[i];
        if (edge->kind == REQUISITE_PREREQ) {
            VEC_PUSH(builder->scratch, &pairs,
                     (DigraphPair){ .target = edge->to, .dependent = edge->from });
        }
    }
    Digraph digraph =
        digraph_make(builder->scratch, builder->graph->steps.count, pairs.items, pairs.len);
    builder_state->prereq_start = digraph.start;
    builder_state->prereq_items = digraph.next;
}

Digraph graph_make_digraph(GraphBuilder *builder, const EdgeVec *soft, const bool *excluded,
                           const uint32_t *position)
{
    Graph *graph = builder->graph;
    DigraphBuilder builder_state = { .builder = builder };
    find_prereqs(&builder_state);
    for (uint32_t i = 0; i < builder->hard.len; i++) {
        push_edge(&builder_state, &builder->hard.items[i]);
    }
    builder_state.position = position;
    for (uint32_t i = 0; i < soft->len; i++) {
        if (excluded == NULL || !excluded[i]) {
            push_edge(&builder_state, &soft->items[i]);
        }
    }
    for (uint32_t i = graph->steps.count; i < graph->vertex_count; i++) {
        push_pair(&builder_state, graph->vertices[i].step, i);
    }
    return digraph_make(builder->arena, graph->vertex_count, builder_state.pairs.items,
                        builder_state.pairs.len);
}

/* --- Order ------------------------------------------------------------------------------------ */

typedef struct RankedStep {
    StepOrderKind order;
    int64_t number;
    uint32_t step;
} RankedStep;

static int compare_ranked(const void *a, const void *b)
{
    const RankedStep *x = a, *y = b;
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
    RankedStep *ranked = ARENA_ARRAY(arena, RankedStep, steps->count);
    bool sorted = true;
    for (uint32_t i = 0; i < steps->count; i++) {
        const StepSpec *spec = steps->items[i].spec;
        ranked[i] = (RankedStep){ .order = spec->order,
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

/* By default, a check comes immediately before its run. */
static uint32_t vertex_rank(const Graph *graph, uint32_t vertex)
{
    Vertex v = graph->vertices[vertex];
    return graph->rank[v.step] * 2 + (v.check ? 0 : 1);
}

/* Dependencies come as early as the first step that waits for them would: a step at the start of
 * the file pulls what it requires before it, instead of waiting until the file reaches that. */
uint32_t *graph_order_digraph(Arena *arena, const Graph *graph, const Digraph *digraph)
{
    uint32_t *sorted;
    BUG_IF(!digraph_sort(digraph, arena, &sorted));
    uint32_t *wanted = ARENA_ARRAY(arena, uint32_t, digraph->count);
    for (uint32_t i = digraph->count; i > 0; i--) {
        uint32_t vertex = sorted[i - 1];
        uint32_t earliest = vertex_rank(graph, vertex);
        for (uint32_t j = digraph->start[vertex]; j < digraph->start[vertex + 1]; j++) {
            uint32_t theirs = wanted[digraph->next[j]];
            earliest = theirs < earliest ? theirs : earliest;
        }
        wanted[vertex] = earliest;
    }

    Heap heap = { 0 };
    VEC_RESERVE(arena, &heap, digraph->count);
    uint32_t *waits = digraph_dependency_counts(digraph, arena);
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, digraph->count);
    uint32_t ordered = 0;
    for (uint32_t i = 0; i < digraph->count; i++) {
        if (waits[i] == 0) {
            heap_push(arena, &heap, (uint64_t)wanted[i] << 32 | vertex_rank(graph, i), i);
        }
    }
    while (heap.len > 0) {
        uint32_t vertex = (uint32_t)heap_pop(&heap).value;
        order[ordered++] = vertex;
        for (uint32_t j = digraph->start[vertex]; j < digraph->start[vertex + 1]; j++) {
            uint32_t dependent = digraph->next[j];
            if (--waits[dependent] == 0) {
                heap_push(arena, &heap,
                          (uint64_t)wanted[dependent] << 32 | vertex_rank(graph, dependent),
                          dependent);
            }
        }
    }
    return order;
}

/* --- Critical path ---------------------------------------------------------------------------- */

/* Steps without cost count a little, so that a long chain of them costs more than a short one. */
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
        IndexSlice next = graph_next(graph, vertex);
        for (uint32_t j = 0; j < next.count; j++) {
            uint64_t theirs = costs[next.items[j]];
            longest = theirs > longest ? theirs : longest;
        }
        costs[vertex] = longest + vertex_cost(graph, vertex);
    }
    return costs;
}

IndexSlice graph_critical_path(const Graph *graph, Arena *arena)
{
    if (graph->vertex_count == 0) {
        return (IndexSlice){ 0 };
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
        /* The first vertex in order whose chain costs as much as what remains. */
        uint64_t left = costs[here] - vertex_cost(graph, here);
        IndexSlice next = graph_next(graph, here);
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
    return (IndexSlice){ steps, count };
}
