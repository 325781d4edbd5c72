/* Reads a record. The input may be any JSON document, so nothing in it is trusted. This does not
 * use lang/record.h: a step becomes vertices, edges and actions that refer to each other, not a
 * struct. */
#include "run/recorded.h"

#include "base/bug.h"
#include "base/str_map.h"

enum {
    WORKERS_MAX = 1 << 16
};

typedef struct Reader {
    Arena *arena;
    Recorded *out;
    const List *steps;
    GraphParts parts;
    StepStatus *results;
    uint16_t *owed;
    VEC(Edge) edges;
    StrMap actions; /* from name to Action */
    Error *err;
} Reader;

PRINTF_LIKE(2, 3)
static bool wrong(const Reader *reader, const char *format, ...)
{
    Buf text = buf_make_in(reader->arena, 400);
    va_list args;
    va_start(args, format);
    buf_put_format_v(&text, format, args);
    va_end(args);
    return error_set(reader->err, ERROR_INVALID, "the record is damaged: %" STR_FMT,
                     STR_ARG(buf_str(&text)));
}

/* Returns false if there is no such number, or it is out of range. */
static bool get_number(Value map, const char *key, int64_t least, int64_t most, int64_t *out)
{
    const Value *value = value_get(map, str_from_c(key));
    if (value == NULL || value->kind != VALUE_INT || value->integer < least ||
        value->integer > most) {
        return false;
    }
    *out = value->integer;
    return true;
}

static const List *get_list(Value map, const char *key)
{
    const Value *value = value_get(map, str_from_c(key));
    return value != NULL && value->kind == VALUE_LIST ? value->list : NULL;
}

/* A name from one of the tables; if it is absent, `*out` is unchanged. */
#define GET_NAME(map, key, from_name, out) \
    (value_get((map), str_from_c(key)) == NULL || from_name(value_get_text((map), (key)), (out)))

static bool kind_from_name(Str name, int *out)
{
    for (int kind = 0; kind < REQUISITE_KINDS; kind++) {
        if (str_eq_c(name, requisite_kind_name((RequisiteKind)kind))) {
            *out = kind;
            return true;
        }
    }
    return false;
}

static bool origin_from_name(Str name, int *out)
{
    for (int origin = EDGE_EXPLICIT; origin <= EDGE_NEED; origin++) {
        if (str_eq_c(name, edge_origin_name((EdgeOrigin)origin))) {
            *out = origin;
            return true;
        }
    }
    return false;
}

static bool phase_from_name(Str name, WorkPhase *out)
{
    for (int phase = PHASE_CHECK; phase <= PHASE_REACT; phase++) {
        if (str_eq_c(name, work_phase_name((WorkPhase)phase))) {
            *out = (WorkPhase)phase;
            return true;
        }
    }
    return false;
}

static bool decision_from_name(Str name, DecisionKind *out)
{
    for (int kind = DECIDE_RUN; kind <= DECIDE_UNKNOWN; kind++) {
        if (str_eq_c(name, decision_kind_name((DecisionKind)kind))) {
            *out = (DecisionKind)kind;
            return true;
        }
    }
    return false;
}

/* --- Steps ----------------------------------------------------------------------------------- */

static bool read_edges(Reader *reader, Value step, uint32_t index)
{
    const List *edges = get_list(step, "edges");
    for (uint32_t i = 0; edges != NULL && i < edges->len; i++) {
        Value edge = edges->items[i];
        int64_t to;
        int kind, origin = EDGE_EXPLICIT;
        if (!kind_from_name(value_get_text(edge, "kind"), &kind) ||
            !GET_NAME(edge, "origin", origin_from_name, &origin) ||
            !get_number(edge, "to", 1, reader->steps->len, &to)) {
            return wrong(reader, "edge %u of step %u", i + 1, index + 1);
        }
        VEC_PUSH(reader->arena, &reader->edges,
                 (Edge){ .from = index,
                         .to = (uint32_t)(to - 1),
                         .kind = (uint8_t)kind,
                         .origin = (uint8_t)origin,
                         .any = value_get_bool(edge, "any"),
                         .all = value_get_bool(edge, "all"),
                         .detail = value_get_text(edge, "detail") });
    }
    return true;
}

static bool read_kinds(Reader *reader, Value step, const char *name, uint16_t *out)
{
    const List *kinds = get_list(step, name);
    for (uint32_t i = 0; kinds != NULL && i < kinds->len; i++) {
        int kind;
        if (!value_is_string(kinds->items[i]) ||
            !kind_from_name(value_str(kinds->items[i]), &kind)) {
            return wrong(reader, "'%s' of '%" STR_FMT "'", name,
                         STR_ARG(value_get_text(step, "id")));
        }
        *out |= (uint16_t)(1u << kind);
    }
    return true;
}

/* These replace functions of an action: deciding needs only their presence. */
static bool some_reaction(Call *call, Outcome *outcome, Error *err)
{
    BUG("a recorded step was executed");
}

static void some_merge(MergedCall *calls, uint32_t count)
{
    BUG("%u recorded steps were executed", count);
}

/* Steps with the same action share it again. */
static Action *read_action(Reader *reader, Value step)
{
    Str name = value_get_text(step, "action");
    Action *action = str_map_find(&reader->actions, name);
    if (action != NULL) {
        return action;
    }
    action = ARENA_NEW(reader->arena, Action);
    int64_t number = 0;
    action->may_sleep = value_get_bool(step, "waits");
    action->react = value_get_bool(step, "reacts") ? some_reaction : NULL;
    action->merge = value_get_bool(step, "merges") ? some_merge : NULL;
    if (get_number(step, "stage", STAGE_ANY, STAGE_PACKAGES, &number)) {
        action->stage = (ActionStage)number;
    }
    if (get_number(step, "cost_ms", 0, UINT32_MAX, &number)) {
        action->cost_ms = (uint32_t)number;
    }
    str_map_put(&reader->actions, name, action);
    return action;
}

/* What the schedule needs to know about a step, as separate rows: the record may be from another
 * version with other modules. */
static const StepSpec *read_spec(Reader *reader, Value step, const Job *job)
{
    StepSpec *spec = ARENA_NEW(reader->arena, StepSpec);
    Str order = value_get_text(step, "order");
    spec->job = job;
    spec->action = read_action(reader, step);
    spec->order = str_eq(order, STR("first"))  ? ORDER_FIRST
                  : str_eq(order, STR("last")) ? ORDER_LAST
                                               : ORDER_NONE;
    if (get_number(step, "order", INT64_MIN, INT64_MAX, &spec->order_number)) {
        spec->order = ORDER_NUMBER;
    }
    RunOptions *run = ARENA_NEW(reader->arena, RunOptions);
    run->retry.is_set = get_number(step, "retry", 0, INT64_MAX, &run->retry.limit);
    spec->run = run;
    spec->when = spec->success = spec->proceed = &condition_none;
    return spec;
}

static const Job *read_job(const Reader *reader, StrMap *jobs, Str name)
{
    Job *job = str_map_find(jobs, name);
    if (job == NULL) {
        job = ARENA_NEW(reader->arena, Job);
        job->name = name;
        str_map_put(jobs, name, job);
    }
    return job;
}

static bool read_steps(Reader *reader)
{
    uint32_t count = reader->steps->len;
    Step *steps = ARENA_ARRAY(reader->arena, Step, count + 1);
    StrMap jobs;
    str_map_init(&jobs, reader->arena);
    str_map_init(&reader->actions, reader->arena);
    reader->results = arena_alloc_zero(reader->arena, (count + 1) * sizeof(StepStatus));
    reader->owed = arena_alloc_zero(reader->arena, (count + 1) * sizeof(uint16_t));
    reader->out->steps = ARENA_ARRAY(reader->arena, RecordedStep, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        Value step = reader->steps->items[i];
        steps[i] = (Step){ .index = i,
                           .id = value_get_text(step, "id"),
                           .name = value_get_text(step, "name"),
                           .item = value_missing() };
        if (steps[i].id.len == 0 ||
            !step_result_from_name(value_get_text(step, "result"), &reader->results[i].result)) {
            return wrong(reader, "step %u", i + 1);
        }
        reader->results[i].changed = value_get_bool(step, "changed");
        steps[i].spec =
            read_spec(reader, step, read_job(reader, &jobs, value_get_text(step, "job")));
        reader->out->steps[i] = (RecordedStep){ step, UINT32_MAX };
        if (!read_edges(reader, step, i) || !read_kinds(reader, step, "owed", &reader->owed[i]) ||
            !read_kinds(reader, step, "untargeted", &steps[i].kinds_without_targets)) {
            return false;
        }
    }
    reader->parts.steps = (Steps){ .items = steps, .count = count };
    reader->parts.edges = reader->edges.items;
    reader->parts.edge_count = reader->edges.len;
    return true;
}

/* --- The graph ------------------------------------------------------------------------------- */

static bool read_numbers(const Reader *reader, const List *list, uint32_t *out)
{
    for (uint32_t i = 0; i < list->len; i++) {
        Value number = list->items[i];
        if (number.kind != VALUE_INT || number.integer < 0 || number.integer > UINT32_MAX) {
            return wrong(reader, "the order of its steps");
        }
        out[i] = (uint32_t)number.integer;
    }
    return true;
}

static bool read_graph(Reader *reader, Graph **out)
{
    GraphParts *parts = &reader->parts;
    const Value *graph = value_get(reader->out->value, STR("graph"));
    const List *order = graph == NULL ? NULL : get_list(*graph, "order");
    const List *next = graph == NULL ? NULL : get_list(*graph, "next");
    if (order == NULL || next == NULL) {
        return wrong(reader, "it has no graph");
    }
    parts->order = ARENA_ARRAY(reader->arena, uint32_t, order->len + 1);
    parts->order_count = order->len;
    parts->vertex_count = next->len;
    parts->next_start = ARENA_ARRAY(reader->arena, uint32_t, next->len + 1);
    uint32_t total = 0;
    for (uint32_t i = 0; i < next->len; i++) {
        if (next->items[i].kind != VALUE_LIST) {
            return wrong(reader, "the order of its steps");
        }
        parts->next_start[i] = total;
        total += next->items[i].list->len;
    }
    parts->next_start[next->len] = total;
    parts->next = ARENA_ARRAY(reader->arena, uint32_t, total + 1);
    for (uint32_t i = 0; i < next->len; i++) {
        if (!read_numbers(reader, next->items[i].list, &parts->next[parts->next_start[i]])) {
            return false;
        }
    }
    return read_numbers(reader, order, parts->order) &&
           graph_restore(reader->arena, parts, out, reader->err);
}

/* --- Turns ----------------------------------------------------------------------------------- */

static bool read_decision(const Graph *graph, Value from, Turn *turn)
{
    turn->decided = value_get(from, STR("decision")) != NULL;
    if (!turn->decided) {
        return true;
    }
    Decision *decision = &turn->decision;
    decision->react = value_get_bool(from, "react");
    decision->reason = value_get_text(from, "reason");
    int64_t because;
    if (value_get(from, STR("because")) != NULL) {
        if (!get_number(from, "because", 1, graph->edge_count, &because)) {
            return false;
        }
        decision->decisive_edge = graph_edge(graph, (uint32_t)(because - 1));
    }
    return decision_from_name(value_get_text(from, "decision"), &decision->kind);
}

static bool read_asked(Reader *reader, Value from, Turn *turn)
{
    Turns *turns = &reader->out->turns;
    const List *list = get_list(from, "asked");
    turn->first_evaluation = turns->evaluations.len;
    turn->evaluation_count = list == NULL ? 0 : list->len;
    for (uint32_t i = 0; i < turn->evaluation_count; i++) {
        ConditionEvaluation asked = { .text = value_get_text(list->items[i], "text") };
        asked.retries = get_number(list->items[i], "limit", 0, INT64_MAX, &asked.limit);
        if (!condition_from_name(value_get_text(list->items[i], "condition"), &asked.condition) ||
            !answer_from_name(value_get_text(list->items[i], "answer"), &asked.answer)) {
            return false;
        }
        VEC_PUSH(reader->arena, &turns->evaluations, asked);
    }
    return true;
}

static bool read_seen(Value from, Turn *turn)
{
    const List *saw = get_list(from, "saw");
    turn->has_observation = saw != NULL;
    for (uint32_t i = 0; saw != NULL && i < saw->len; i++) {
        Str word = value_is_string(saw->items[i]) ? value_str(saw->items[i]) : STR_EMPTY;
        bool *flag = str_eq(word, STR("changed"))   ? &turn->observation.changed
                     : str_eq(word, STR("unknown")) ? &turn->observation.unknown
                     : str_eq(word, STR("failed"))  ? &turn->observation.failed
                     : str_eq(word, STR("reacted")) ? &turn->observation.reacted
                     : str_eq(word, STR("leaves"))  ? &turn->observation.requests_reboot
                                                    : NULL;
        if (flag == NULL) {
            return false;
        }
        *flag = true;
    }
    return true;
}

static bool read_turn(Reader *reader, const Graph *graph, Value from, Turn *turn)
{
    int64_t step;
    *turn = (Turn){ .kind = TURN_START, .work.phase = PHASE_RUN, .end = TURN_ENDED };
    if (!get_number(from, "step", 1, graph->steps.count, &step) ||
        !GET_NAME(from, "do", turn_kind_from_name, &turn->kind) ||
        !GET_NAME(from, "phase", phase_from_name, &turn->work.phase) ||
        !GET_NAME(from, "bar", turn_override_from_name, &turn->override) ||
        !GET_NAME(from, "params", turn_params_from_name, &turn->params) ||
        !GET_NAME(from, "end", turn_end_from_name, &turn->end) ||
        !GET_NAME(from, "result", step_result_from_name, &turn->status.result) ||
        !GET_NAME(from, "pending", step_result_from_name, &turn->status.pending) ||
        !read_decision(graph, from, turn) || !read_asked(reader, from, turn) ||
        !read_seen(from, turn)) {
        return false;
    }
    turn->work.step = (uint32_t)(step - 1);
    turn->status.changed = value_get_bool(from, "changed");
    turn->status.reacted = value_get_bool(from, "reacted");
    /* The graph must contain every work item. */
    return turn->work.phase != PHASE_CHECK || graph->check_of[turn->work.step] != VERTEX_NONE;
}

static bool read_turns(Reader *reader, const Graph *graph)
{
    const List *list = get_list(reader->out->value, "turns");
    if (list == NULL) {
        return wrong(reader, "it has no turns");
    }
    Turns *turns = &reader->out->turns;
    VEC_RESERVE(reader->arena, &turns->list, list->len);
    for (uint32_t i = 0; i < list->len; i++) {
        Turn turn;
        if (!read_turn(reader, graph, list->items[i], &turn)) {
            return wrong(reader, "turn %u", i + 1);
        }
        RecordedStep *step = &reader->out->steps[turn.work.step];
        if (turn.decided && (turn.work.phase == PHASE_RUN ||
                             (turn.work.phase == PHASE_CHECK && step->last_turn == UINT32_MAX))) {
            step->last_turn = i;
        }
        VEC_PUSH(reader->arena, &turns->list, turn);
    }
    return true;
}

bool recorded_read(Arena *arena, Value record, Recorded *out, Error *err)
{
    *out = (Recorded){ .value = record };
    Reader reader = { .arena = arena, .out = out, .err = err };
    reader.steps = get_list(record, "steps");
    int64_t workers;
    OrderMode order;
    if (reader.steps == NULL || !get_number(record, "workers", 1, WORKERS_MAX, &workers) ||
        !order_mode_from_name(value_get_text(record, "order"), &order)) {
        return wrong(&reader, "it has no steps, order or workers");
    }
    Graph *graph;
    if (!read_steps(&reader) || !read_graph(&reader, &graph) || !read_turns(&reader, graph)) {
        return false;
    }
    out->recording = (Recording){ .graph = graph,
                                  .order = order,
                                  .workers = (uint32_t)workers,
                                  .planning = value_get_bool(record, "planning"),
                                  .owed = reader.owed,
                                  .turns = &out->turns,
                                  .results = reader.results };
    return true;
}
