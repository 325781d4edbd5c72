/* What the printers of a graph share. */
#pragma once

#include "model/graph_print.h"

/* Of each step: whether it is on the critical path. */
bool *graph_critical_marks(const Graph *graph, Arena *arena);
/* Whether the arrow of an edge starts at `from`: only that of a prereq does. */
static inline bool edge_points_on(const Edge *edge)
{
    return edge->kind == REQUISITE_PREREQ;
}
/* "require", "watch_any", "onfail_all" */
Str edge_kind_text(const Edge *edge, Arena *arena);

void graph_print_svg(const Graph *graph, Arena *arena, Buf *out); /* graph_svg.c */
