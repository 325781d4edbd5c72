/* Prints a graph for people and programs. */
#pragma once

#include "base/buf.h"
#include "model/graph.h"

typedef enum GraphFormat {
    GRAPH_TREE, /* the order of the run, and below each step its dependencies */
    GRAPH_DOT,  /* for Graphviz */
    GRAPH_SVG,
    GRAPH_JSON,
} GraphFormat;
const char *graph_format_name(GraphFormat format);
bool graph_format_from_name(Str name, GraphFormat *out);

/* Ends with a newline. Arrows point from earlier to later steps; the critical path is marked.
 * `with_locations`: a tree includes the location of each step and requisite. `arena` is scratch. JSON:
 *
 *     {"format":"eden.graph/1",
 *      "steps":[{"id","index","name","job","action","run_order","critical":bool}],
 *      "edges":[{"from","to","kind","form":null|"any"|"all","origin","detail"}],
 *      "order":[{"id","phase":"check"|"run"}],
 *      "critical_path":[id]}
 *
 * where `from` depends on `to`, steps are in file order, and index and run_order start at 1. */
void graph_print(const Graph *graph, GraphFormat format, bool with_locations, Arena *arena,
                 Buf *out);
