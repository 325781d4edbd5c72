/* The steps of a run and what they wait for.
 *
 * graph_build resolves every requisite to edges between steps, adds the implicit ones, applies
 * `use`, refuses what cannot be resolved or ordered, and puts everything in order. It is pure: the
 * same steps give the same edges in the same order, always. All problems are told at once.
 *
 * Deciding from results whether a step runs is decide.h's work, handing steps out schedule.h's. */
#pragma once

#include "base/problems.h"
#include "model/step.h"

/* Where an edge comes from. */
typedef enum EdgeOrigin {
    EDGE_WRITTEN,    /* a requisite of `from` */
    EDGE_WRITTEN_IN, /* a requisite of `to` in its reversed form: require_in ... */
    EDGE_RESULT,     /* a parameter of `from` uses steps['x'], or `from: [{file: x}]` */
    EDGE_CONDITION,  /* a condition of `from` uses steps['x'] */
    EDGE_CLAIM,      /* both claim the same resource */
    EDGE_NEED,       /* `to` makes what `from` needs: its parent directory, its owner, its group;
                        or the other way round when `to` must not change it before */
} EdgeOrigin;
const char *edge_origin_name(EdgeOrigin origin);

/* `from` depends on `to`: A `require` B is {from A, to B}. So it is with `prereq` too, where `from`
 * nevertheless runs before `to`: what it waits for is the check of `to`. */
typedef struct Edge {
    uint32_t from; /* indices into the steps of the graph */
    uint32_t to;
    uint8_t kind;   /* RequisiteKind; implicit ones are REQUISITE_REQUIRE or REQUISITE_ORDER */
    uint8_t origin; /* EdgeOrigin */
    bool any, all;  /* require_any, watch_any, onfail_all ... */
    Str detail;     /* the reference as written, the step's name in steps['x'], or the resource */
    const Value *place; /* the reference, or the step that the implicit edge comes from */
} Edge;

/* What is ordered: a step's run and, for the target of a prereq, its check before that. */
typedef struct Vertex {
    uint32_t step;
    bool check;
} Vertex;

enum {
    VERTEX_NONE = UINT32_MAX,
    GRAPH_EDGES_MAX = 1 << 21,
};

/* A slice of an array of vertices or edges by number. */
typedef struct Numbers {
    const uint32_t *items;
    uint32_t count;
} Numbers;

typedef struct Edges {
    const Edge *items;
    uint32_t count;
} Edges;

/* Read only, and reached by the functions below. */
typedef struct Graph {
    Steps steps;            /* as given, with the parameters that `use` brought */
    const Sources *sources; /* for places in messages */
    Edge *edges;            /* by `from`; of one step: written ones first, in their order */
    uint32_t edge_count;
    uint32_t *edge_start; /* of each step's edges; one more than steps */
    uint32_t *in_edges;   /* numbers of edges, by `to` and then by `from` */
    uint32_t *in_start;
    Vertex *vertices; /* the first `steps.count` are the runs, in the order of steps */
    uint32_t vertex_count;
    uint32_t *check_of; /* by step: its check vertex, or VERTEX_NONE */
    uint32_t *next;     /* vertices that wait for a vertex; one with two reasons is there twice */
    uint32_t *next_start;
    uint32_t *order;    /* all vertices, as mode `ansible` takes them */
    uint32_t *position; /* the reverse: of each vertex in `order` */
    uint32_t *rank;     /* of each step: its place by `order` and file, before requisites */
} Graph;

/* False when there were errors; `*out` is NULL then. `steps` and what hangs on it must outlive the
 * graph; steps themselves are copied. Warnings do not fail it. */
MUST_CHECK bool graph_build(Arena *arena, const Steps *steps, const Sources *sources, Graph **out,
                            Problems *problems);
/* What is wrong between steps of which some are broken themselves: only what holds whatever these
 * turn out to be. Nothing where a file of jobs could not be read at all. */
void graph_problems(Arena *arena, const Steps *steps, const Sources *sources, Problems *problems);

/* What a graph that was built consists of, to be put together again without resolving anything:
 * edges by `from`, and for each vertex what waits for it. Kept by reference. `rank` and `sources`
 * of the graph stay empty: it can be decided with, not printed. */
typedef struct GraphParts {
    Steps steps;
    Edge *edges;
    uint32_t edge_count;
    uint32_t vertex_count;
    uint32_t *next_start; /* one more than vertices */
    uint32_t *next;
    uint32_t *order;
    uint32_t order_count;
} GraphParts;

/* Fails with ERROR_INVALID when the parts do not belong together. */
MUST_CHECK bool graph_restore(Arena *arena, const GraphParts *parts, Graph **out, Error *err);

/* The edges of `step` to what it depends on, and (as numbers for graph_edge) those of the steps
 * that depend on it. */
Edges graph_edges(const Graph *graph, uint32_t step);
Numbers graph_edges_to(const Graph *graph, uint32_t step);
static inline const Edge *graph_edge(const Graph *graph, uint32_t number)
{
    return &graph->edges[number];
}
static inline const Step *graph_step(const Graph *graph, uint32_t step)
{
    return &graph->steps.items[step];
}
/* The vertices that wait for this one. */
Numbers graph_next(const Graph *graph, uint32_t vertex);

/* The step called `name`: its id "job#name", or its name when no other has it. False: none, or
 * several. For the command line. */
bool graph_find(const Graph *graph, Str name, uint32_t *out);
/* How to call `step` in a message about `near`: by name when both are of one job, else by id. */
Str graph_call(const Graph *graph, uint32_t step, uint32_t near);

/* For each vertex, the cost of the longest chain that starts with it, in milliseconds. */
uint64_t *graph_chain_costs(const Graph *graph, Arena *arena);
/* The longest chain of runs that wait for each other, first to last, weighed by what actions say
 * of their cost. Steps beside it can run meanwhile. */
Numbers graph_critical_path(const Graph *graph, Arena *arena);
