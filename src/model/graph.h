/* The steps of a run and their dependencies.
 *
 * graph_build resolves every requisite to edges between steps, adds the implicit ones, applies
 * `use`, rejects what cannot be resolved or ordered, and orders everything. It is pure: the same
 * steps give the same edges in the same order, always. All problems are reported at once.
 *
 * decide.h decides from results whether a step runs, schedule.h hands out steps. */
#pragma once

#include "base/problems.h"
#include "model/step.h"

/* The origin of an edge. */
typedef enum EdgeOrigin {
    EDGE_EXPLICIT,          /* a requisite of `from` */
    EDGE_EXPLICIT_REVERSED, /* a requisite of `to` in its reversed form: require_in ... */
    EDGE_RESULT,            /* a parameter of `from` uses steps['x'], or `from: [{file: x}]` */
    EDGE_CONDITION,         /* a condition of `from` uses steps['x'] */
    EDGE_CLAIM,             /* both claim the same resource */
    /* `to` creates what `from` needs: its parent directory, its owner, its group; or the reverse if
     * `to` must not change it before */
    EDGE_NEED,
} EdgeOrigin;
const char *edge_origin_name(EdgeOrigin origin);

/* `from` depends on `to`: A `require` B is {from A, to B}. This also applies to `prereq`, although
 * `from` runs before `to` then: it waits for the check of `to`. */
typedef struct Edge {
    uint32_t from; /* indices into the steps of the graph */
    uint32_t to;
    uint8_t kind;   /* RequisiteKind; implicit ones are REQUISITE_REQUIRE or REQUISITE_ORDER */
    uint8_t origin; /* EdgeOrigin */
    bool any, all;  /* require_any, watch_any, onfail_all ... */
    Str detail;     /* the reference as written, the step's name in steps['x'], or the resource */
    const Value *location; /* the reference, or the step that causes the implicit edge */
} Edge;

/* A unit of the order: the run of a step and, for the target of a prereq, its preceding check. */
typedef struct Vertex {
    uint32_t step;
    bool check;
} Vertex;

enum {
    VERTEX_NONE = UINT32_MAX,
    GRAPH_EDGES_MAX = 1 << 21,
};

/* A slice of an array of vertex or edge indices. */
typedef struct IndexSlice {
    const uint32_t *items;
    uint32_t count;
} IndexSlice;

typedef struct Edges {
    const Edge *items;
    uint32_t count;
} Edges;

/* Read-only; use the functions below. */
typedef struct Graph {
    Steps steps;            /* as passed to graph_build, with the parameters from `use` */
    const Sources *sources; /* for locations in messages */
    Edge *edges;            /* by `from`; for each step: explicit ones first, in their order */
    uint32_t edge_count;
    uint32_t *edge_start; /* offsets of each step's edges; one more than steps */
    uint32_t *in_edges;   /* indices of edges, by `to` and then by `from` */
    uint32_t *in_start;
    Vertex *vertices; /* the first `steps.count` are the runs, in the order of steps */
    uint32_t vertex_count;
    uint32_t *check_of; /* by step: its check vertex, or VERTEX_NONE */
    uint32_t *next;     /* vertices that wait for a vertex; one with two reasons occurs twice */
    uint32_t *next_start;
    uint32_t *order;    /* all vertices, in the order of mode `ansible` */
    uint32_t *position; /* the inverse: position of each vertex in `order` */
    uint32_t *rank;     /* of each step: its position by `order` and file, before requisites */
} Graph;

/* Returns false if there were errors; `*out` is NULL then. `steps` and everything it points to must
 * outlive the graph; the steps themselves are copied. Warnings do not cause failure. */
MUST_CHECK bool graph_build(Arena *arena, const Steps *steps, const Sources *sources, Graph **out,
                            Problems *problems);
/* Reports problems between steps of which some are broken themselves: only those that do not depend
 * on how the broken ones are fixed, or on the content of job files that could not be read. */
void graph_problems(Arena *arena, const Steps *steps, const Sources *sources, Problems *problems);

/* The parts of a built graph, to restore it without resolving anything: edges by `from`, and for
 * each vertex its successors. Stored by reference. `rank` and `sources` of the graph stay empty: it
 * can be used for decisions, but not printed. */
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

/* Fails with ERROR_INVALID if the parts are inconsistent. */
MUST_CHECK bool graph_restore(Arena *arena, const GraphParts *parts, Graph **out, Error *err);

/* The edges of `step` to its dependencies, and (as indices for graph_edge) those of the steps that
 * depend on it. */
Edges graph_edges(const Graph *graph, uint32_t step);
IndexSlice graph_edges_to(const Graph *graph, uint32_t step);
static inline const Edge *graph_edge(const Graph *graph, uint32_t number)
{
    return &graph->edges[number];
}
static inline const Step *graph_step(const Graph *graph, uint32_t step)
{
    return &graph->steps.items[step];
}
/* The vertices that wait for this one. */
IndexSlice graph_next(const Graph *graph, uint32_t vertex);

/* Finds a step by its ID "job#name", or by its name if that is unique. False: none, or several. For
 * the command line. */
bool graph_find(const Graph *graph, Str name, uint32_t *out);
/* How to refer to `step` in a message about `context_step`: by name if both are in the same job, otherwise
 * by ID. */
Str graph_step_label(const Graph *graph, uint32_t step, uint32_t context_step);

/* For each vertex, the cost of the longest chain that starts there, in milliseconds. */
uint64_t *graph_chain_costs(const Graph *graph, Arena *arena);
/* The longest chain of runs that wait for each other, first to last, weighted by the cost that
 * actions declare. Other steps can run in parallel. */
IndexSlice graph_critical_path(const Graph *graph, Arena *arena);
