/* What the files that build a graph share; graph.c calls them in this order. Nobody else includes
 * it. */
#pragma once

#include "base/vec.h"
#include "model/graph.h"
#include "model/graph_net.h"
#include "model/step_index.h"

typedef VEC(Edge) EdgeVec;
typedef VEC(NetPair) PairVec;

typedef struct GraphBuilder {
    Arena *arena;   /* the graph's */
    Arena *scratch; /* gone when the graph is built */
    Graph *graph;
    Problems *problems;
    const StepIndex *index; /* made for the first reference */
    StepVec found;          /* what the last reference meant */
    EdgeVec hard;           /* requisites, written and implicit: they hold or there is no graph */
    uint32_t *hard_start;   /* of each step's, once they are sorted; one more than steps */
    EdgeVec soft;           /* claims and needs: they bend where requisites say otherwise */
    bool too_many;          /* edges; told already */
} GraphBuilder;

/* False when there are too many; the problem is told once, at `place`. */
bool graph_builder_push(GraphBuilder *builder, EdgeVec *edges, Edge edge);

/* graph_resolve.c: what a reference of `step` means, into builder->found. A problem at `place`
 * when it means nothing, or one name of several jobs. */
bool graph_resolve(GraphBuilder *builder, uint32_t step, const Reference *reference,
                   const Value *place);
/* Every requisite of every step, as hard edges. */
void graph_add_requisites(GraphBuilder *builder);

/* graph_use.c: copies parameters along `use`. Before it come the written requisites. */
void graph_apply_use(GraphBuilder *builder);

/* graph_implicit.c: steps whose results are used, as hard edges. */
void graph_add_implicit(GraphBuilder *builder);

/* graph_claims.c: soft edges between steps of one resource, for steps in the order `at`. With
 * `hoist`, what a step needs comes before it wherever it stands. */
void graph_add_claims(GraphBuilder *builder, const uint32_t *at, bool hoist);
/* Where a check sees a resource: after and before the same changes of it as in the order that
 * `position` gives, in every mode. */
void graph_order_checks(GraphBuilder *builder, const uint32_t *position, PairVec *pairs);

/* graph_order.c: makes the vertices: one for each step, and one more for the target of a
 * prereq. */
void graph_set_vertices(Arena *arena, Graph *graph, const Edge *edges, uint32_t edge_count);
/* What waits for what. `soft` may be empty; of its edges, those of which `left_out` says so are
 * left out (NULL: none), and those to a check that lies before their target in `position` (NULL:
 * all are taken). */
Net graph_make_net(GraphBuilder *builder, const EdgeVec *soft, const bool *left_out,
                   const uint32_t *position);

uint32_t *graph_rank_steps(Arena *arena, const Steps *steps);
/* The order in which one worker takes the vertices of a net without knots. */
uint32_t *graph_order_net(Arena *arena, const Graph *graph, const Net *net);

/* graph_cycle.c: a problem for each knot of requisites. False when there is one. */
bool graph_check_cycles(GraphBuilder *builder, const Net *net);
bool graph_check_use_cycles(GraphBuilder *builder);
