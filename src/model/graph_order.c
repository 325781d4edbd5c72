/* The order of a run: dependencies between vertices, the order for one worker, and the critical
 * path.
 *
 * Requisites are between steps, but order is between their phases. The target of a prereq is
 * checked before it runs, and the steps that have it as prereq are in between:
 *
 *     B's other requisites  ->  check of B  ->  A (prereq B)  ->  B
 *
 * The check waits for everything that B's run waits for, except what can only come later: A itself,
 * if B requires it too, and other targets of A, for which the check counts then.
 *
 * The order is determined by requisites first, then by `order`, then by the file. Dependencies come
 * as early as the first step that waits for them would. */
#include <stdlib.h>

#include "base/bug.h"
#include "base/heap.h"
#include "model/graph.h"
#include "model/graph_builder.h"

/* --- Vertices --------------------------------------------------------------------------------- */

typedef struct NetMaker {
    GraphBuilder *builder;
    PairVec pairs;
    const uint32_t *position;     /* of vertices; NULL: not used */
    const uint32_t *prereq_start; /* offsets of the steps that have each step as prereq */
    const uint32_t *prereq_items;
} NetMaker;

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

static void push_pair(NetMaker *maker, uint32_t waiter, uint32_t target)
{
    VEC_PUSH(maker->builder->scratch, &maker->pairs,
             (NetPair){ .target = target, .waiter = waiter });
}

static bool has_prereq(const NetMaker *maker, uint32_t step, uint32_t target)
{
    for (uint32_t i = maker->prereq_start[target]; i < maker->prereq_start[target + 1]; i++) {
        if (maker->prereq_items[i] == step) {
            return true;
        }
    }
    return false;
}

static bool share_prereq(const NetMaker *maker, uint32_t a, uint32_t b)
{
    for (uint32_t i = maker->prereq_start[a]; i < maker->prereq_start[a + 1]; i++) {
        if (has_prereq(maker, maker->prereq_items[i], b)) {
            return true;
        }
    }
    return false;
}

static void push_check(NetMaker *maker, const Edge *edge, uint32_t check)
{
    const Graph *graph = maker->builder->graph;
    uint32_t target = edge->to;
    if (has_prereq(maker, target, edge->from)) {
        return;
    }
    if (edge->kind == REQUISITE_PREREQ ||
        (graph->check_of[target] != VERTEX_NONE && share_prereq(maker, edge->from, target))) {
        target = graph->check_of[target];
    }
    if (maker->position == NULL || maker->position[target] < maker->position[check]) {
        push_pair(maker, check, target);
    }
}

static void push_edge(NetMaker *maker, const Edge *edge)
{
    if (edge->kind == REQUISITE_LISTEN || edge->kind == REQUISITE_USE) {
        return;
    }
    const Graph *graph = maker->builder->graph;
    if (edge->kind == REQUISITE_PREREQ) {
        push_pair(maker, edge->from, graph->check_of[edge->to]);
        push_pair(maker, edge->to, edge->from);
    } else {
        push_pair(maker, edge->from, edge->to);
    }
    if (graph->check_of[edge->from] != VERTEX_NONE) {
        push_check(maker, edge, graph->check_of[edge->from]);
    }
}

/* Collects, for each step, the steps that have it as prereq. */
static void find_prereqs(NetMaker *maker)
{
    GraphBuilder *builder = maker->builder;
    PairVec pairs = { 0 };
    for (uint32_t i = 0; i < builder->hard.len; i++) {
        const Edge *edge = &builder->hard.items[i];
        if (edge->kind == REQUISITE_PREREQ) {
            VEC_PUSH(builder->scratch, &pairs,
                     (NetPair){ .target = edge->to, .waiter = edge->from });
        }
    }
    Net net = net_make(builder->scratch, builder->graph->steps.count, pairs.items, pairs.len);
    maker->prereq_start = net.start;
    maker->prereq_items = net.next;
}

Net graph_make_net(GraphBuilder *builder, const EdgeVec *soft, const bool *left_out,
                   const uint32_t *position)
{
    Graph *graph = builder->graph;
    NetMaker maker = { .builder = builder };
    find_prereqs(&maker);
    for (uint32_t i = 0; i < builder->hard.len; i++) {
        push_edge(&maker, &builder->hard.items[i]);
    }
    maker.position = position;
    for (uint32_t i = 0; i < soft->len; i++) {
        if (left_out == NULL || !left_out[i]) {
            push_edge(&maker, &soft->items[i]);
        }
    }
    for (uint32_t i = graph->steps.count; i < graph->vertex_count; i++) {
        push_pair(&maker, graph->vertices[i].step, i);
    }
    return net_make(builder->arena, graph->vertex_count, maker.pairs.items, maker.pairs.len);
}

/* --- Order ------------------------------------------------------------------------------------ */

typedef struct Ranked {
    StepOrderKind order;
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

/* By default, a check is immediately before its run. */
static uint32_t vertex_rank(const Graph *graph, uint32_t vertex)
{
    Vertex v = graph->vertices[vertex];
    return graph->rank[v.step] * 2 + (v.check ? 0 : 1);
}

/* Dependencies come as early as the first step that waits for them would: a step at the start of
 * the file pulls what it requires before it, instead of waiting until the file reaches that. */
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
    uint32_t *waits = net_dependency_counts(net, arena);
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

/* --- Critical path ---------------------------------------------------------------------------- */

/* Even free steps count a little, so that a long chain of them is longer than a short one. */
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
        /* The first in order whose chain is as long as the remaining cost. */
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
