/* Implicit edges: a step that uses the result of another one runs after it.
 *
 * If a parameter uses the result, the other step must also have succeeded, unless the step handles
 * its failure. For a condition only the order matters: conditions are evaluated to find out how
 * something went. */
#include "model/graph_builder.h"

typedef struct Use {
    Reference reference;
    const Value *location;
    bool in_condition;
    bool self_allowed; /* evaluated after the action, when its own result is available */
} Use;

/* Uses of a StepSpec, shared by the instances of a forEach. */
typedef struct Uses {
    const StepSpec *spec;
    VEC(Use) items;
    bool computed;
} Uses;

static void add_step_uses(Arena *arena, const Dynamic *dynamic, Use use, Uses *uses)
{
    if (dynamic_is_constant(dynamic)) {
        return;
    }
    List *names = list_new(arena, 4);
    bool computed = false;
    dynamic_steps_used(dynamic, arena, names, &computed);
    uses->computed |= computed;
    for (uint32_t i = 0; i < names->len; i++) {
        use.reference = (Reference){ .kind = REFERENCE_STEP,
                                     .pattern = value_str(names->items[i]),
                                     .literal = true };
        use.location = &dynamic->value;
        VEC_PUSH(arena, &uses->items, use);
    }
}

/* from: [{file: STEP}]; an entry that contains a template needs a requisite. */
static void add_published(Arena *arena, const Dynamic *dynamic, Uses *uses)
{
    Value value = dynamic->value;
    for (uint32_t i = 0; value.kind == VALUE_LIST && i < value.list->len; i++) {
        const Value *name = value_get(value.list->items[i], STR("file"));
        if (name == NULL || !value_is_string(*name) ||
            (dynamic->kind != DYNAMIC_CONSTANT &&
             str_find(value_str(*name), STR("{{"), 0) != STR_NOT_FOUND)) {
            continue;
        }
        Use use = { .reference = { .kind = REFERENCE_MODULE,
                                   .module = STR("file"),
                                   .pattern = value_str(*name),
                                   .literal = true },
                    .location = name };
        VEC_PUSH(arena, &uses->items, use);
    }
}

static void add_condition(Arena *arena, const Condition *condition, bool self_allowed, Uses *uses)
{
    if (condition->is_set) {
        add_step_uses(arena, &condition->test,
                      (Use){ .in_condition = true, .self_allowed = self_allowed }, uses);
    }
}

static void collect_uses(Arena *arena, const StepSpec *spec, Uses *uses)
{
    *uses = (Uses){ .spec = spec };
    uint32_t count = action_param_count(spec->action);
    for (uint32_t i = 0; i < count; i++) {
        if ((spec->params_set >> i & 1) == 0) {
            continue;
        }
        add_step_uses(arena, spec->params[i], (Use){ 0 }, uses);
        if (spec->action->params[i].kind == PARAM_PUBLISHED) {
            add_published(arena, spec->params[i], uses);
        }
    }
    add_condition(arena, spec->when, false, uses);
    for (uint32_t i = 0; i < spec->job->gate_count; i++) {
        for (const JobGate *gate = spec->job->gates[i]; gate != NULL; gate = gate->outer) {
            add_condition(arena, &gate->when, false, uses);
        }
    }
    add_condition(arena, spec->success, true, uses);
    add_condition(arena, spec->proceed, true, uses);
    if (spec->run->retry.is_set) {
        add_step_uses(arena, &spec->run->retry.until,
                      (Use){ .in_condition = true, .self_allowed = true }, uses);
    }
}

/* Marks in `named` the `onfail` targets of each step, step by step. */
static uint32_t mark_onfail(const EdgeVec *edges, uint32_t pos, uint32_t step, uint32_t *named,
                            bool *any)
{
    *any = false;
    for (; pos < edges->len && edges->items[pos].from == step; pos++) {
        uint8_t kind = edges->items[pos].kind;
        *any |= kind != REQUISITE_USE && kind != REQUISITE_LISTEN;
        if (kind == REQUISITE_ONFAIL) {
            named[edges->items[pos].to] = step;
        }
    }
    return pos;
}

static bool add_use(GraphBuilder *builder, const Step *step, const Use *use,
                    const uint32_t *onfail_of)
{
    if (!graph_resolve(builder, step->index, &use->reference, use->location)) {
        return true;
    }
    Edge edge = { .from = step->index,
                  .origin = use->in_condition ? EDGE_CONDITION : EDGE_RESULT,
                  .detail = use->reference.pattern,
                  .location = use->location };
    for (uint32_t i = 0; i < builder->found.len; i++) {
        edge.to = builder->found.items[i];
        if (edge.to == step->index && use->self_allowed) {
            continue;
        }
        bool order_only = use->in_condition || onfail_of[edge.to] == step->index;
        edge.kind = order_only ? REQUISITE_ORDER : REQUISITE_REQUIRE;
        if (!graph_builder_push(builder, &builder->hard, edge)) {
            return false;
        }
    }
    return true;
}

void graph_add_implicit(GraphBuilder *builder)
{
    const Steps *steps = &builder->graph->steps;
    EdgeVec explicit_edges = builder->hard; /* sorted; new edges are appended to the original */
    uint32_t *onfail_of = ARENA_ARRAY(builder->scratch, uint32_t, steps->count);
    memset(onfail_of, 0xff, steps->count * sizeof *onfail_of);
    Uses uses = { 0 };
    uint32_t pos = 0;
    for (uint32_t i = 0; i < steps->count; i++) {
        const Step *step = &steps->items[i];
        bool any;
        uint32_t first = pos;
        /* Pushing may move builder->hard, but `explicit_edges` still points to valid memory in the
         * arena. */
        pos = mark_onfail(&explicit_edges, first, i, onfail_of, &any);
        if (uses.spec != step->spec) {
            collect_uses(builder->scratch, step->spec, &uses);
        }
        if (uses.computed && !any) {
            const Value *location = &step->spec->name_location;
            location = location->source == SOURCE_NONE ? &step->spec->location : location;
            Problem *problem = problems_add(
                builder->problems, "E0406", sources_get(builder->graph->sources, location->source),
                location->start, location->span,
                "'%" STR_FMT "' computes the name of the step whose result it uses",
                STR_ARG(step->name));
            problem->hint = STR("add a requisite that names the steps that must run before it");
        }
        for (uint32_t j = 0; j < uses.items.len; j++) {
            if (!add_use(builder, step, &uses.items.items[j], onfail_of)) {
                return;
            }
        }
    }
}
