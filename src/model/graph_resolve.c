/* Resolves references to edges. */
#include "base/glob.h"
#include "model/document_location.h"
#include "model/graph_builder.h"

bool graph_builder_push(GraphBuilder *builder, EdgeVec *edges, Edge edge)
{
    if (builder->hard.len + builder->soft.len >= GRAPH_EDGES_MAX) {
        if (!builder->too_many) {
            problems_add(builder->problems, "E0405",
                         sources_get(builder->graph->sources, edge.location->source),
                         edge.location->start, edge.location->span,
                         "the requisites expand to more than %d pairs of steps", GRAPH_EDGES_MAX);
        }
        builder->too_many = true;
        return false;
    }
    VEC_PUSH(builder->scratch, edges, edge);
    return true;
}

static const Source *source_of(const GraphBuilder *builder, const Value *location)
{
    return sources_get(builder->graph->sources, location->source);
}

static Str reference_text(const Reference *reference, Arena *arena)
{
    switch (reference->kind) {
    case REFERENCE_JOB:
        return arena_format(arena, "job named '%" STR_FMT "'", STR_ARG(reference->pattern));
    case REFERENCE_MODULE:
        return arena_format(arena, "step with '%" STR_FMT ": %" STR_FMT "'",
                            STR_ARG(reference->module), STR_ARG(reference->pattern));
    case REFERENCE_STEP: break;
    }
    return arena_format(arena, "step named '%" STR_FMT "'", STR_ARG(reference->pattern));
}

/* A step of that module whose ID is not known yet, such as '/etc/{{ item }}.conf' without a node
 * or "{{ macros['path'] }}" at load time. It may be the target. */
static const Step *step_without_id(const GraphBuilder *builder, const Reference *reference)
{
    const Steps *steps = &builder->graph->steps;
    for (uint32_t i = 0; reference->kind == REFERENCE_MODULE && i < steps->count; i++) {
        const StepSpec *spec = steps->items[i].spec;
        if (spec->module != NULL && str_eq_c(reference->module, spec->module->name) &&
            steps->items[i].id_count == 0) {
            return &steps->items[i];
        }
    }
    return NULL;
}

/* Whether it refers to a step whose forEach is empty on this node. */
static bool refers_to_empty_for_each(const GraphBuilder *builder, uint32_t step,
                                     const Reference *reference)
{
    const Steps *steps = &builder->graph->steps;
    const Job *own = graph_step(builder->graph, step)->spec->job;
    for (uint32_t i = 0; reference->kind != REFERENCE_JOB && i < steps->empty_for_each_count; i++) {
        const StepSpec *spec = steps->empty_for_each[i];
        if (reference->kind == REFERENCE_MODULE &&
            (spec->module == NULL ||
             !str_starts(reference->module, str_from_c(spec->module->name)))) {
            continue;
        }
        Str id = arena_format(builder->scratch, "%" STR_FMT "#%" STR_FMT, STR_ARG(spec->job->name),
                              STR_ARG(spec->name));
        bool glob = !reference->literal && glob_is_pattern(reference->pattern);
        bool by_name = glob ? glob_match(reference->pattern, spec->name)
                            : str_eq(reference->pattern, spec->name);
        if ((by_name && (spec->job == own || reference->kind == REFERENCE_STEP)) ||
            str_eq(reference->pattern, id)) {
            return true;
        }
    }
    return false;
}

static void report_missing(GraphBuilder *builder, uint32_t step, const Reference *reference,
                           const Value *location)
{
    if (builder->graph->steps.is_invalid && reference->kind == REFERENCE_MODULE) {
        return; /* a step with an invalid action or parameters may be the target */
    }
    Problem *problem = problems_add(builder->problems, "E0401", source_of(builder, location),
                                    location->start, location->span, "no %" STR_FMT " in this run",
                                    STR_ARG(reference_text(reference, builder->scratch)));
    Str nearest;
    uint32_t nearest_step;
    Arena *arena = builder->problems->arena;
    if (!step_index_suggest(builder->index, step, reference, &nearest, &nearest_step)) {
        const Step *candidate = step_without_id(builder, reference);
        problem->hint =
            candidate == NULL
                ? STR_EMPTY
                : arena_format(arena,
                               "if you mean step '%" STR_FMT
                               "', refer to it by name: its ID is not known before it runs",
                               STR_ARG(candidate->name));
        return;
    }
    const StepSpec *spec =
        nearest_step == UINT32_MAX ? NULL : graph_step(builder->graph, nearest_step)->spec;
    const Source *source = spec == NULL ? NULL : source_of(builder, &spec->location);
    Str where = STR_EMPTY;
    if (source != NULL) {
        bool named = spec->name_location.source == spec->location.source;
        const Value *printed = named ? &spec->name_location : &spec->location;
        unsigned line = source_location(source, printed->start).line;
        where = source == source_of(builder, location)
                    ? arena_format(arena, "line %u", line)
                    : arena_format(arena, "%" STR_FMT ":%u", STR_ARG(source->name), line);
        if (!str_eq(nearest, spec->name)) { /* an ID: the line is that of the name */
            where = arena_format(arena, "step '%" STR_FMT "', %" STR_FMT, STR_ARG(spec->name),
                                 STR_ARG(where));
        }
        where = arena_format(arena, " (%" STR_FMT ")", STR_ARG(where));
    }
    problem->hint = arena_format(arena, "did you mean '%" STR_FMT "'%" STR_FMT "?",
                                 STR_ARG(nearest), STR_ARG(where));
    document_fix(arena, problem, builder->graph->sources, *location, nearest);
}

static void report_ambiguous(GraphBuilder *builder, const Reference *reference,
                             const Value *location)
{
    enum {
        SHOWN = 5
    };
    Buf list = buf_make_in(builder->scratch, 4096);
    const Job *last = NULL;
    uint32_t jobs = 0;
    const Step *first = graph_step(builder->graph, builder->found.items[0]);
    for (uint32_t i = 0; i < builder->found.len; i++) {
        const Step *step = graph_step(builder->graph, builder->found.items[i]);
        if (step->spec->job == last) {
            continue;
        }
        last = step->spec->job;
        if (jobs++ < SHOWN) {
            buf_put_format(&list, "%s'%" STR_FMT "'", jobs > 1 ? ", " : "", STR_ARG(last->name));
        }
    }
    Problem *problem = problems_add(
        builder->problems, "E0402", source_of(builder, location), location->start, location->span,
        "%u jobs have a step named '%" STR_FMT "': %" STR_FMT "%s", jobs,
        STR_ARG(reference->pattern), STR_ARG(buf_str(&list)), jobs > SHOWN ? " ..." : "");
    problem->hint =
        arena_format(builder->problems->arena, "specify the job: '%" STR_FMT "#%" STR_FMT "'",
                     STR_ARG(first->spec->job->name), STR_ARG(reference->pattern));
}

bool graph_resolve(GraphBuilder *builder, uint32_t step, const Reference *reference,
                   const Value *location)
{
    if (builder->index == NULL) {
        builder->index = step_index_new(builder->scratch, &builder->graph->steps);
    }
    switch (step_index_find(builder->index, step, reference, builder->scratch, &builder->found)) {
    case FIND_OK: return true;
    case FIND_NONE:
        if (refers_to_empty_for_each(builder, step, reference)) {
            return true;
        }
        if (!builder->graph->steps.without_node || step_without_id(builder, reference) == NULL) {
            report_missing(builder, step, reference, location);
        }
        break;
    case FIND_AMBIGUOUS: report_ambiguous(builder, reference, location); break;
    }
    return false;
}

static Str written_text(const Requisite *requisite, Arena *arena)
{
    switch (requisite->reference) {
    case REFERENCE_JOB: return arena_format(arena, "job: %" STR_FMT, STR_ARG(requisite->pattern));
    case REFERENCE_MODULE:
        return arena_format(arena, "%" STR_FMT ": %" STR_FMT, STR_ARG(requisite->module),
                            STR_ARG(requisite->pattern));
    case REFERENCE_STEP: break;
    }
    return requisite->pattern;
}

static bool add_requisite(GraphBuilder *builder, uint32_t step, const Requisite *requisite)
{
    Reference reference = { .kind = requisite->reference,
                            .module = requisite->module,
                            .pattern = requisite->pattern };
    if (!graph_resolve(builder, step, &reference, &requisite->location)) {
        return true;
    }
    Edge edge = { .kind = (uint8_t)requisite->kind,
                  .origin = requisite->in ? EDGE_EXPLICIT_REVERSED : EDGE_EXPLICIT,
                  .any = requisite->any,
                  .all = requisite->all,
                  .detail = written_text(requisite, builder->arena),
                  .location = &requisite->location };
    if (builder->found.len == 0 && !requisite->in) {
        builder->graph->steps.items[step].kinds_without_targets |=
            (uint16_t)(1u << requisite->kind);
    }
    for (uint32_t i = 0; i < builder->found.len; i++) {
        uint32_t other = builder->found.items[i];
        edge.from = requisite->in ? other : step;
        edge.to = requisite->in ? step : other;
        if (!graph_builder_push(builder, &builder->hard, edge)) {
            return false;
        }
    }
    return true;
}

void graph_add_requisites(GraphBuilder *builder)
{
    const Steps *steps = &builder->graph->steps;
    for (uint32_t i = 0; i < steps->count; i++) {
        const StepSpec *spec = steps->items[i].spec;
        for (uint32_t j = 0; j < spec->requisite_count; j++) {
            if (!add_requisite(builder, i, &spec->requisites[j])) {
                return;
            }
        }
    }
}
