/* `use`: copies parameters of another step that this one does not set. Never its ID, never its
 * requisites, and never what the other step got from `use` itself. */
#include "model/graph_builder.h"
#include "model/step_params.h"

typedef struct UseCopy {
    StepSpec *spec;
    Value *spec_values;
    Value *step_values;
} UseCopy;

static Value *values_copy(Arena *arena, const Value *values, uint32_t count)
{
    Value *copy = ARENA_ARRAY(arena, Value, count);
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = values == NULL ? value_missing() : values[i];
    }
    return copy;
}

static UseCopy copy_make(Arena *arena, Step *step)
{
    uint32_t count = action_param_count(step->spec->action);
    UseCopy copy = { .spec = arena_alloc(arena, sizeof *copy.spec),
                     .spec_values = values_copy(arena, step->spec->values, count),
                     .step_values = values_copy(arena, step->values, count) };
    *copy.spec = *step->spec;
    copy.spec->params = ARENA_ARRAY(arena, const Dynamic *, count);
    for (uint32_t i = 0; i < count; i++) {
        copy.spec->params[i] = step->spec->params[i];
    }
    copy.spec->values = copy.spec_values;
    step->spec = copy.spec;
    step->values = copy.step_values;
    return copy;
}

/* Values known at load time are copied if the parameter has the same type there; others are
 * evaluated from the template when the step runs. */
static void copy_param(UseCopy *copy, const Step *from, uint32_t source_index,
                       uint32_t target_index)
{
    const ParamSpec *a = &from->spec->action->params[source_index];
    const ParamSpec *b = &copy->spec->action->params[target_index];
    copy->spec->params[target_index] = from->spec->params[source_index];
    copy->spec->params_set |= (uint64_t)1 << target_index;
    bool same = a->kind == b->kind && a->choices == b->choices;
    copy->spec_values[target_index] =
        same && from->spec->values != NULL ? from->spec->values[source_index] : value_missing();
    copy->step_values[target_index] =
        same && from->values != NULL ? from->values[source_index] : value_missing();
}

static void copy_params(UseCopy *copy, const Step *from)
{
    const char *source_ids = action_id_params(from->spec->module, from->spec->action);
    const char *target_ids = action_id_params(copy->spec->module, copy->spec->action);
    uint32_t count = action_param_count(from->spec->action);
    for (uint32_t i = 0; i < count; i++) {
        Str name = str_from_c(from->spec->action->params[i].name);
        if ((from->spec->params_set >> i & 1) == 0 || id_params_include(source_ids, name) ||
            id_params_include(target_ids, name)) {
            continue;
        }
        int target_index = action_param_index(copy->spec->action, name);
        if (target_index >= 0 && (copy->spec->params_set >> target_index & 1) == 0) {
            copy_param(copy, from, i, (uint32_t)target_index);
        }
    }
}

/* If steps lend parameters to others (use_in), missing parameters have not been checked yet: see
 * expand.c. Steps that got any have been checked. */
static void check_unchanged_steps(GraphBuilder *builder, const Step *before)
{
    const Steps *steps = &builder->graph->steps;
    const StepSpec *checked = NULL;
    for (uint32_t i = 0; i < steps->count; i++) {
        const StepSpec *spec = steps->items[i].spec;
        if (spec == before[i].spec && spec != checked) {
            step_params_complete(spec, spec->params_set, builder->graph->sources,
                                 builder->problems);
        }
        checked = spec;
    }
}

void graph_apply_use(GraphBuilder *builder)
{
    Step *steps = builder->graph->steps.items;
    const EdgeVec *edges = &builder->hard;
    /* Copies what was written, so the original steps are preserved. */
    Step *before = NULL;
    for (uint32_t i = 0; i < edges->len;) {
        uint32_t from = edges->items[i].from;
        uint32_t end = i;
        bool uses = false;
        for (; end < edges->len && edges->items[end].from == from; end++) {
            uses |= edges->items[end].kind == REQUISITE_USE;
        }
        if (uses) {
            if (before == NULL) {
                before = ARENA_ARRAY(builder->scratch, Step, builder->graph->steps.count);
                memcpy(before, steps, builder->graph->steps.count * sizeof *before);
            }
            UseCopy copy = copy_make(builder->arena, &steps[from]);
            for (; i < end; i++) {
                if (edges->items[i].kind == REQUISITE_USE) {
                    copy_params(&copy, &before[edges->items[i].to]);
                }
            }
            step_collect_claims(&steps[from], builder->arena);
            step_params_complete(copy.spec, copy.spec->params_set, builder->graph->sources,
                                 builder->problems);
        }
        i = end;
    }
    if (before != NULL) {
        check_unchanged_steps(builder, before);
    }
}
