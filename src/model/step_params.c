#include "model/step_params.h"

#include "model/document_location.h"

enum {
    CLAIMS_EXPECTED = 3 /* of a typical step: itself, its owner, its group */
};

static bool is_set(uint64_t set, uint32_t index)
{
    return (set & (UINT64_C(1) << index)) != 0;
}

static DynamicOutcome convert(const StepSpec *spec, uint32_t index, const Sources *sources,
                              Arena *arena, Value value, Value *out, Problems *problems)
{
    const ParamSpec *param = &spec->action->params[index];
    Error err;
    if (param_convert(arena, sources, param, value, out, &err)) {
        return DYNAMIC_OK;
    }
    document_problem(problems, sources, SEVERITY_ERROR, "E0308", spec->params[index]->value,
                     "'%s' %s", param->name, err.text);
    return DYNAMIC_FAILED;
}

DynamicOutcome step_params_evaluate(const Step *step, StepEvaluate evaluate, void *context,
                                    const Sources *sources, Arena *arena, Value *out,
                                    Problems *problems)
{
    const StepSpec *spec = step->spec;
    uint32_t count = action_param_count(spec->action);
    DynamicOutcome outcome = DYNAMIC_OK;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = step->values[i];
        if (!value_is_missing(out[i]) || !is_set(spec->params_set, i)) {
            continue;
        }
        Value value;
        DynamicOutcome of_param = evaluate(context, spec->params[i], &value);
        if (of_param == DYNAMIC_OK && value.kind == VALUE_NULL) {
            continue; /* without a value it is absent, as in a document */
        }
        if (of_param == DYNAMIC_OK) {
            of_param = convert(spec, i, sources, arena, value, &out[i], problems);
        }
        if (of_param == DYNAMIC_FAILED || outcome == DYNAMIC_OK) {
            outcome = of_param;
        }
    }
    return outcome;
}

/* Suggests the missing parameter; in other tools the name of a command is the command itself. */
static void hint_at_missing(const StepSpec *spec, uint64_t params_set, uint32_t missing,
                            Problems *problems, Problem *problem)
{
    const ParamSpec *params = spec->action->params;
    const char *ids = action_id_params(spec->module, spec->action);
    problem->hint = arena_format(problems->arena, "add '%s: ...' (%s)", params[missing].name,
                                 params[missing].help);
    for (uint32_t i = 0; params[i].name != NULL; i++) {
        if (is_set(params_set, i) && id_params_include(ids, str_from_c(params[i].name)) &&
            id_params_include(ids, str_from_c(params[missing].name))) {
            problem->hint =
                arena_format(problems->arena, "'%s' is only a name: write '%s: ...' (%s)",
                             params[i].name, params[missing].name, params[missing].help);
        }
    }
}

bool step_params_complete(const StepSpec *spec, uint64_t params_set, const Sources *sources,
                          Problems *problems)
{
    bool ok = true;
    uint32_t count = spec->params_unreadable ? 0 : action_param_count(spec->action);
    for (uint32_t i = 0; i < count; i++) {
        if (spec->action->params[i].required && is_set(spec->params_by_foreign_name, i)) {
            ok = ok && is_set(params_set, i);
        } else if (spec->action->params[i].required && !is_set(params_set, i)) {
            Problem *problem =
                document_problem(problems, sources, SEVERITY_ERROR, "E0307", spec->action_location,
                                 "'%s.%s' requires the parameter '%s'", spec->module->name,
                                 spec->action->name, spec->action->params[i].name);
            hint_at_missing(spec, params_set, i, problems, problem);
            ok = false;
        }
    }
    return ok;
}

static bool are_all_known(const Step *step)
{
    const StepSpec *spec = step->spec;
    uint32_t count = spec->params_unreadable ? 0 : action_param_count(spec->action);
    for (uint32_t i = 0; i < count; i++) {
        bool input = is_set(spec->params_set, i);
        if (value_is_missing(step->values[i]) && (input || spec->action->params[i].required)) {
            return false;
        }
    }
    return !spec->params_unreadable && !spec->params_invalid;
}

bool step_params_verify(const Step *step, const Sources *sources, Arena *arena, Problems *problems)
{
    const StepSpec *spec = step->spec;
    const Action *action = spec->action;
    const char *pos = NULL;
    Error err;
    if ((action->verify == NULL || action->verify(arena, action, step->values, &pos, &err)) &&
        (action->verify_all == NULL || !are_all_known(step) ||
         action->verify_all(arena, action, step->values, &pos, &err))) {
        return true;
    }
    int index = pos == NULL ? -1 : action_param_index(spec->action, str_from_c(pos));
    document_problem(problems, sources, SEVERITY_ERROR, "E0308",
                     index >= 0 && is_set(spec->params_set, (uint32_t)index)
                         ? spec->params[index]->value
                         : spec->action_location,
                     "%s", err.text);
    return false;
}

static void add_claim(Arena *arena, const ParamSpec *spec, Value value, List *claims)
{
    if (value_is_string(value) && value.len > 0) {
        Str claim = arena_format(arena, "%s:%" STR_FMT, spec->claims, STR_ARG(value_str(value)));
        list_push(arena, claims, value_string(claim));
    }
    for (uint32_t i = 0; value.kind == VALUE_LIST && i < value.list->len; i++) {
        if (value_is_string(value.list->items[i])) {
            add_claim(arena, spec, value.list->items[i], claims);
        }
    }
}

static bool has_claims(const Action *action)
{
    bool any = action->claims != NULL;
    for (uint32_t i = 0; !any && action->params != NULL && action->params[i].name != NULL; i++) {
        any = action->params[i].claims != NULL;
    }
    return any;
}

void step_collect_claims(Step *step, Arena *arena)
{
    const Action *action = step->spec->action;
    if (!has_claims(action)) {
        return;
    }
    List *claims = list_new(arena, CLAIMS_EXPECTED);
    if (action->claims != NULL) {
        action->claims(arena, step->values, claims);
    }
    for (uint32_t i = 0; action->params != NULL && action->params[i].name != NULL; i++) {
        if (action->params[i].claims != NULL) {
            add_claim(arena, &action->params[i], step->values[i], claims);
        }
    }
    step->claims = claims->len > 0 ? claims : NULL;
}
