#include "run/reaction.h"

#include "sys/clock.h"

void change_time_note(ChangeTime *time, const Task *task)
{
    if (task->applied) {
        time->applied_us = clock_monotonic_us() - task->duration_us;
    }
    if (task->outcome.changed) {
        time->changed_us = clock_monotonic_us();
        time->changed_ms = clock_now_ms();
    }
}

void change_time_fill_call(const Graph *graph, const ChangeTime *times, Work work, Call *call)
{
    Edges edges = graph_edges(graph, work.step);
    RequisiteKind kind = work.phase == PHASE_REACT ? REQUISITE_LISTEN : REQUISITE_WATCH;
    int64_t last_us = 0;
    for (uint32_t i = 0; i < edges.count; i++) {
        const ChangeTime *target = &times[edges.items[i].to];
        if (edges.items[i].kind == kind && target->changed_us > last_us) {
            last_us = target->changed_us;
            call->change_ms = target->changed_ms;
        }
    }
    int64_t applied_us = times[work.step].applied_us;
    call->ran_after_change = applied_us > 0 && applied_us >= last_us;
}

Str reaction_forecast(Arena *arena, const Graph *graph, const StepStatus *statuses, uint32_t step,
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
            return arena_format(arena, "would %s because '%" STR_FMT "' changes", does,
                                STR_ARG(graph_step(graph, edge->to)->id));
        }
    }
    return arena_format(arena, "would %s, owed from an earlier run", does);
}

void reaction_plan(Arena *arena, const Graph *graph, const StepStatus *statuses, uint32_t step,
                   Task *task)
{
    Outcome *outcome = &task->outcome;
    if (task->call.action->react == NULL || outcome->changed) {
        return;
    }
    Str words = reaction_forecast(arena, graph, statuses, step, REQUISITE_WATCH, task->call.params);
    outcome->changed = words.len > 0;
    outcome->comment = words.len > 0 ? words : outcome->comment;
}
