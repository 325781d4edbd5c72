#include "run/forecast.h"

Str forecast_reaction(Arena *arena, const Graph *graph, const StepStatus *statuses, uint32_t step,
                      RequisiteKind kind, const Value *params)
{
    const Action *action = graph_step(graph, step)->spec->action;
    const char *does = action->reaction == NULL ? "react" : action->reaction(action, params);
    if (does == NULL) {
        return STR_EMPTY;
    }
    Edges edges = graph_edges(graph, step);
    for (uint32_t i = 0; i < edges.count; i++) {
        const Edge *edge = &edges.items[i];
        if (edge->kind == kind && statuses[edge->to].changed) {
            return arena_format(arena, "would %s: '%" STR_FMT "' changes", does,
                                STR_ARG(graph_step(graph, edge->to)->id));
        }
    }
    return arena_format(arena, "would %s: an earlier run owes it", does);
}
