#include "model/graph.h"

#include "base/enum_names.h"
#include "model/contradiction.h"
#include "model/graph_builder.h"
#include "model/step_params.h"

static const char *const origin_names[] = {
    [EDGE_EXPLICIT] = "written", [EDGE_EXPLICIT_REVERSED] = "written in",
    [EDGE_RESULT] = "result",    [EDGE_CONDITION] = "condition",
    [EDGE_CLAIM] = "claim",      [EDGE_NEED] = "need",
};

const char *edge_origin_name(EdgeOrigin origin)
{
    return enum_names_get(origin_names, COUNT_OF(origin_names), (size_t)origin, "EdgeOrigin");
}

/* Sorts by `from`, preserving the order of each step's edges, and removes duplicates. Returns the
 * offset of each step's edges. */
static uint32_t *sort_edges(Arena *arena, EdgeVec *edges, uint32_t step_count)
{
    uint32_t *start = arena_alloc_zero(arena, ((size_t)step_count + 2) * sizeof *start);
    for (uint32_t i = 0; i < edges->len; i++) {
        start[edges->items[i].from + 2]++;
    }
    for (uint32_t i = 2; i < step_count + 2; i++) {
        start[i] += start[i - 1];
    }
    Edge *sorted = ARENA_ARRAY(arena, Edge, edges->len);
    for (uint32_t i = 0; i < edges->len; i++) {
        sorted[start[edges->items[i].from + 1]++] = edges->items[i];
    }
    /* Now start[i] is the offset of step i. For each target, a bit per kind and form records
     * whether such an edge has been seen. */
    uint32_t *seen_by = ARENA_ARRAY(arena, uint32_t, step_count);
    uint32_t *seen = ARENA_ARRAY(arena, uint32_t, step_count);
    memset(seen_by, 0xff, step_count * sizeof *seen_by);
    uint32_t kept = 0;
    uint32_t pos = 0;
    for (uint32_t step = 0; step < step_count; step++) {
        uint32_t end = start[step + 1];
        start[step] = kept;
        for (; pos < end; pos++) {
            const Edge *edge = &sorted[pos];
            uint32_t bit = 1u << (edge->kind * 4 + (edge->any ? 1 : 0) + (edge->all ? 2 : 0));
            if (seen_by[edge->to] != step) {
                seen_by[edge->to] = step;
                seen[edge->to] = 0;
            }
            if ((seen[edge->to] & bit) == 0) {
                seen[edge->to] |= bit;
                sorted[kept++] = *edge;
            }
        }
    }
    start[step_count] = kept;
    edges->items = sorted;
    edges->cap = edges->len;
    edges->len = kept;
    return start;
}

_Static_assert(REQUISITE_KINDS * 4 <= 32, "sort_edges needs a bit for each kind and form");

static void sort_hard(GraphBuilder *builder)
{
    builder->hard_start = sort_edges(builder->scratch, &builder->hard, builder->graph->steps.count);
}

/* Whether the vertices of an edge's two ends are in the same strongly connected component, for any
 * of their pairs. */
static bool in_same_scc(const Graph *graph, const uint32_t *scc, const Edge *edge)
{
    uint32_t from_check = graph->check_of[edge->from];
    uint32_t to_check = graph->check_of[edge->to];
    return scc[edge->from] == scc[edge->to] ||
           (from_check != VERTEX_NONE && scc[from_check] == scc[edge->to]) ||
           (from_check != VERTEX_NONE && to_check != VERTEX_NONE &&
            scc[from_check] == scc[to_check]);
}

static uint32_t *positions(Arena *arena, const uint32_t *order, uint32_t count)
{
    uint32_t *position = ARENA_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        position[order[i]] = i;
    }
    return position;
}

/* Claims follow file order, requisites may not: if the two form a cycle, the requisites (and the
 * claims that are not part of it) determine the order, and all claims follow that order. */
static Digraph reorder_claims(GraphBuilder *builder, const Digraph *cyclic)
{
    Graph *graph = builder->graph;
    Arena *scratch = builder->scratch;
    uint32_t *scc, *sizes;
    digraph_sccs(cyclic, scratch, &scc, &sizes);
    bool *excluded = arena_alloc_zero(scratch, builder->soft.len);
    for (uint32_t i = 0; i < builder->soft.len; i++) {
        excluded[i] = in_same_scc(graph, scc, &builder->soft.items[i]);
    }
    Digraph digraph = graph_make_digraph(builder, &builder->soft, excluded, NULL);
    uint32_t *order = graph_order_digraph(scratch, graph, &digraph);
    uint32_t *position = positions(scratch, order, graph->vertex_count);
    builder->soft = (EdgeVec){ 0 };
    graph_add_claims(builder, position, false);
    return graph_make_digraph(builder, &builder->soft, NULL, position);
}

static Digraph add_claims(GraphBuilder *builder, Digraph digraph)
{
    graph_add_claims(builder, builder->graph->rank, true);
    if (builder->soft.len == 0) {
        return digraph;
    }
    Digraph with = graph_make_digraph(builder, &builder->soft, NULL, NULL);
    if (digraph_sort(&with, builder->scratch, NULL)) {
        return with;
    }
    return reorder_claims(builder, &with);
}

/* Claims determine the order of steps; some checks come earlier, and a resource may change in
 * between. Whatever the mode, a check must see the resource as it would with a single worker. */
static Digraph add_checks(GraphBuilder *builder, Digraph digraph)
{
    Graph *graph = builder->graph;
    if (graph->vertex_count == graph->steps.count || builder->soft.len == 0) {
        return digraph;
    }
    PairVec pairs = { 0 };
    for (uint32_t i = 0; i < digraph.count; i++) {
        for (uint32_t j = digraph.start[i]; j < digraph.start[i + 1]; j++) {
            VEC_PUSH(builder->scratch, &pairs,
                     (DigraphPair){ .target = i, .dependent = digraph.next[j] });
        }
    }
    const uint32_t *order = graph_order_digraph(builder->scratch, graph, &digraph);
    graph_order_checks(builder, positions(builder->scratch, order, graph->vertex_count), &pairs);
    return digraph_make(builder->arena, graph->vertex_count, pairs.items, pairs.len);
}

static void keep_edges(GraphBuilder *builder)
{
    Graph *graph = builder->graph;
    Arena *arena = builder->arena;
    for (uint32_t i = 0; i < builder->soft.len; i++) {
        VEC_PUSH(builder->scratch, &builder->hard, builder->soft.items[i]);
    }
    if (builder->soft.len > 0) {
        sort_hard(builder);
    }
    graph->edge_count = builder->hard.len;
    graph->edges = ARENA_ARRAY(arena, Edge, graph->edge_count);
    memcpy(graph->edges, builder->hard.items, graph->edge_count * sizeof *graph->edges);
    graph->edge_start = ARENA_ARRAY(arena, uint32_t, graph->steps.count + 1);
    memcpy(graph->edge_start, builder->hard_start,
           (graph->steps.count + 1) * sizeof *graph->edge_start);

    DigraphPair *pairs = ARENA_ARRAY(builder->scratch, DigraphPair, graph->edge_count);
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        pairs[i] = (DigraphPair){ .target = graph->edges[i].to, .dependent = i };
    }
    Digraph in = digraph_make(arena, graph->steps.count, pairs, graph->edge_count);
    graph->in_edges = in.next;
    graph->in_start = in.start;
}

/* Once for each step as written: instances of forEach would repeat it. */
static bool verify_params(GraphBuilder *builder)
{
    const Steps *steps = &builder->graph->steps;
    bool ok = true;
    for (uint32_t i = 0; i < steps->count; i++) {
        bool repeated = i > 0 && !ok && steps->items[i].spec == steps->items[i - 1].spec;
        ok = (repeated || step_params_verify(&steps->items[i], builder->graph->sources,
                                             builder->scratch, builder->problems)) &&
             ok;
    }
    return ok;
}

static bool build(GraphBuilder *builder)
{
    Graph *graph = builder->graph;
    uint32_t errors = builder->problems->errors;
    graph_add_requisites(builder);
    sort_hard(builder);
    graph_check_use_cycles(builder);
    graph_apply_use(builder);
    graph_add_implicit(builder);
    sort_hard(builder);
    graph->rank = graph_rank_steps(builder->arena, &graph->steps);
    graph_set_vertices(builder->arena, graph, builder->hard.items, builder->hard.len);
    Digraph digraph = graph_make_digraph(builder, &builder->soft, NULL, NULL);
    if (!graph_check_cycles(builder, &digraph) || builder->problems->errors > errors) {
        keep_edges(builder);
        (void)!verify_params(builder);
        (void)!contradictions_check(graph, builder->problems);
        return false;
    }
    digraph = add_checks(builder, add_claims(builder, digraph));
    keep_edges(builder);
    graph->next = digraph.next;
    graph->next_start = digraph.start;
    graph->order = graph_order_digraph(builder->arena, graph, &digraph);
    graph->position = positions(builder->arena, graph->order, graph->vertex_count);
    bool verified = verify_params(builder);
    return contradictions_check(graph, builder->problems) && verified &&
           builder->problems->errors == errors;
}

bool graph_build(Arena *arena, const Steps *steps, const Sources *sources, Graph **out,
                 Problems *problems)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    Graph *graph = ARENA_NEW(arena, Graph);
    graph->steps = *steps;
    graph->steps.items = ARENA_ARRAY(arena, Step, steps->count);
    if (steps->count > 0) {
        memcpy(graph->steps.items, steps->items, steps->count * sizeof *steps->items);
    }
    graph->sources = sources;
    GraphBuilder builder = {
        .arena = arena, .scratch = &scratch, .graph = graph, .problems = problems
    };
    bool built = build(&builder);
    *out = built ? graph : NULL;
    return built;
}

void graph_problems(Arena *arena, const Steps *steps, const Sources *sources, Problems *problems)
{
    Problems found;
    Graph *graph;
    problems_init(&found, problems->arena);
    (void)!graph_build(arena, steps, sources, &graph, &found);
    for (uint32_t i = 0; i < found.count; i++) {
        /* A parameter may come from a broken step (via `use`), and the target of a reference may be
         * in a file that could not be read. */
        Str code = found.items[i].code;
        bool uncertain =
            str_eq(code, STR("E0307")) || (steps->has_unread_files && str_eq(code, STR("E0401")));
        if (!uncertain) {
            problems_add_copy(problems, &found.items[i]);
        }
    }
}

/* --- Restoring a graph ------------------------------------------------------------------------ */

/* For a recorded run, in which nothing is resolved again. The parts come from a file that may be
 * corrupted, so every number is checked before it is used as an index. */

static bool invalid(Error *err, const char *what, uint32_t pos)
{
    return error_set(err, ERROR_INVALID, "the graph is corrupted: %s %u", what, pos);
}

static bool take_edges(Arena *arena, const GraphParts *parts, Graph *graph, Error *err)
{
    uint32_t count = graph->steps.count;
    graph->edges = parts->edges;
    graph->edge_count = parts->edge_count;
    graph->edge_start = arena_alloc_zero(arena, ((size_t)count + 1) * sizeof(uint32_t));
    DigraphPair *pairs = ARENA_ARRAY(arena, DigraphPair, parts->edge_count + 1);
    for (uint32_t i = 0; i < parts->edge_count; i++) {
        const Edge *edge = &parts->edges[i];
        if (edge->from >= count || edge->to >= count || edge->kind >= REQUISITE_KINDS ||
            edge->origin > EDGE_NEED || (i > 0 && edge->from < edge[-1].from)) {
            return invalid(err, "edge", i + 1);
        }
        graph->edge_start[edge->from + 1]++;
        pairs[i] = (DigraphPair){ .target = edge->to, .dependent = i };
    }
    for (uint32_t i = 0; i < count; i++) {
        graph->edge_start[i + 1] += graph->edge_start[i];
    }
    Digraph in = digraph_make(arena, count, pairs, parts->edge_count);
    graph->in_edges = in.next;
    graph->in_start = in.start;
    return true;
}

static bool take_order(Arena *arena, const GraphParts *parts, Graph *graph, Error *err)
{
    uint32_t count = graph->vertex_count;
    if (parts->order_count != count) {
        return invalid(err, "length of the order", parts->order_count);
    }
    graph->order = parts->order;
    graph->position = ARENA_ARRAY(arena, uint32_t, count + 1);
    memset(graph->position, 0xff, count * sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t vertex = parts->order[i];
        if (vertex >= count || graph->position[vertex] != VERTEX_NONE) {
            return invalid(err, "position in the order", i + 1);
        }
        graph->position[vertex] = i;
    }
    return true;
}

/* A waiting vertex comes later in the order, so there can be no cycle. */
static bool take_next(const GraphParts *parts, Graph *graph, Error *err)
{
    graph->next = parts->next;
    graph->next_start = parts->next_start;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        for (uint32_t j = parts->next_start[i]; j < parts->next_start[i + 1]; j++) {
            uint32_t dependent = parts->next[j];
            if (dependent >= graph->vertex_count ||
                graph->position[dependent] <= graph->position[i]) {
                return invalid(err, "successor of vertex", i + 1);
            }
        }
    }
    return true;
}

bool graph_restore(Arena *arena, const GraphParts *parts, Graph **out, Error *err)
{
    Graph *graph = ARENA_NEW(arena, Graph);
    graph->steps = parts->steps;
    if (!take_edges(arena, parts, graph, err)) {
        return false;
    }
    graph_set_vertices(arena, graph, graph->edges, graph->edge_count);
    if (parts->vertex_count != graph->vertex_count) {
        return invalid(err, "number of vertices", parts->vertex_count);
    }
    if (!take_order(arena, parts, graph, err) || !take_next(parts, graph, err)) {
        return false;
    }
    *out = graph;
    return true;
}

/* --- Accessors -------------------------------------------------------------------------------- */

Edges graph_edges(const Graph *graph, uint32_t step)
{
    uint32_t start = graph->edge_start[step];
    return (Edges){ &graph->edges[start], graph->edge_start[step + 1] - start };
}

IndexSlice graph_edges_to(const Graph *graph, uint32_t step)
{
    uint32_t start = graph->in_start[step];
    return (IndexSlice){ &graph->in_edges[start], graph->in_start[step + 1] - start };
}

IndexSlice graph_next(const Graph *graph, uint32_t vertex)
{
    uint32_t start = graph->next_start[vertex];
    return (IndexSlice){ &graph->next[start], graph->next_start[vertex + 1] - start };
}

bool graph_find(const Graph *graph, Str name, uint32_t *out)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        if (str_eq(graph->steps.items[i].id, name)) {
            *out = i;
            return true;
        }
        if (str_eq(graph->steps.items[i].name, name)) {
            *out = i;
            found++;
        }
    }
    return found == 1;
}

Str graph_step_label(const Graph *graph, uint32_t step, uint32_t context_step)
{
    const Step *steps = graph->steps.items;
    return steps[step].spec->job == steps[context_step].spec->job ? steps[step].name
                                                                  : steps[step].id;
}
