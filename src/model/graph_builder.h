/* Shared by the files that build a graph; graph.c calls them in this order. Private. */
#pragma once

#include "base/vec.h"
#include "model/digraph.h"
#include "model/graph.h"
#include "model/step_index.h"

typedef VEC(Edge) EdgeVec;
typedef VEC(DigraphPair) PairVec;

typedef struct GraphBuilder {
    Arena *arena;   /* of the graph */
    Arena *scratch; /* freed when the graph is built */
    Graph *graph;
    Problems *problems;
    const StepIndex *index; /* created for the first reference */
    StepVec found;          /* steps that the last reference resolved to */
    EdgeVec hard;           /* requisites, explicit and implicit: strict */
    /* offsets of each step's edges, once they are sorted; one more than steps */
    uint32_t *hard_start;
    EdgeVec soft;  /* claims and needs: dropped if they contradict requisites */
    bool too_many; /* edge limit exceeded and reported */
} GraphBuilder;

/* Returns false if there are too many; the problem is reported once, at `location`. */
bool graph_builder_push(GraphBuilder *builder, EdgeVec *edges, Edge edge);

/* graph_resolve.c: resolves a reference of `step` into builder->found. Reports a problem at `location`
 * if it matches nothing, or a name that several jobs have. */
bool graph_resolve(GraphBuilder *builder, uint32_t step, const Reference *reference,
                   const Value *location);
/* Adds every requisite of every step as hard edges. */
void graph_add_requisites(GraphBuilder *builder);

/* graph_use.c: copies parameters along `use`. Call it after graph_add_requisites. */
void graph_apply_use(GraphBuilder *builder);

/* graph_implicit.c: adds hard edges to steps whose results are used. */
void graph_add_implicit(GraphBuilder *builder);

/* graph_claims.c: adds soft edges between steps with the same resource, for steps in the order
 * `pos`. With `hoist`, dependencies of a step come before it wherever they are. */
void graph_add_claims(GraphBuilder *builder, const uint32_t *pos, bool hoist);
/* Orders checks: a check sees the resource after and before the same changes as in the order
 * `position`, in every mode. */
void graph_order_checks(GraphBuilder *builder, const uint32_t *position, PairVec *pairs);

/* graph_order.c: creates the vertices: one for each step, and another for the target of a
 * prereq. */
void graph_set_vertices(Arena *arena, Graph *graph, const Edge *edges, uint32_t edge_count);
/* Creates the net of dependencies. `soft` may be empty; edges marked in `excluded` (NULL: none) are
 * left out, and so are those to a check that precedes their target in `position` (NULL: none
 * are). */
Digraph graph_make_digraph(GraphBuilder *builder, const EdgeVec *soft, const bool *excluded,
                           const uint32_t *position);

uint32_t *graph_rank_steps(Arena *arena, const Steps *steps);
/* The order in which one worker processes the vertices of an acyclic net. */
uint32_t *graph_order_digraph(Arena *arena, const Graph *graph, const Digraph *digraph);

/* graph_cycle.c: reports a problem for each cycle of requisites. Returns false if there is one. */
bool graph_check_cycles(GraphBuilder *builder, const Digraph *digraph);
bool graph_check_use_cycles(GraphBuilder *builder);
