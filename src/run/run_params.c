/* Parameters: from the site to the modules. */
#include "model/step_params.h"
#include "run/run_inner.h"

typedef struct Evaluation {
    Run *run;
    const Step *step;
    Arena *arena;
    Problems *problems;
} Evaluation;

static DynamicOutcome evaluate(void *context, const Dynamic *dynamic, Value *out)
{
    const Evaluation *evaluation = context;
    return scope_evaluate(evaluation->run->scope, evaluation->step->index, dynamic, false,
                          evaluation->arena, out, evaluation->problems);
}

/* The location of a parameter in the site. */
static Value place_of(const Step *step, uint32_t param)
{
    const StepSpec *spec = step->spec;
    return (spec->params_set >> param & 1) != 0 ? spec->params[param]->value : spec->location;
}

PRINTF_LIKE(4, 5)
static DynamicOutcome fail_at(const Evaluation *evaluation, Value place, const char *code,
                              const char *format, ...)
{
    Buf text = buf_make_in(evaluation->arena, PROBLEM_MESSAGE_MAX);
    va_list args;
    va_start(args, format);
    buf_put_format_v(&text, format, args);
    va_end(args);
    problems_add(evaluation->problems, code, sources_get(evaluation->run->sources, place.source),
                 place.start, place.span, "%" STR_FMT, STR_ARG(buf_str(&text)));
    return DYNAMIC_FAILED;
}

/* A path under a directory of the site; site_files ensures that it cannot escape. */
static Str site_path(Arena *arena, const char *directory, Str path)
{
    return arena_format(arena, "%s/%" STR_FMT, directory, STR_ARG(path));
}

static DynamicOutcome read_file(const Evaluation *evaluation, Value place, Value *value)
{
    Error err;
    Str content;
    Str path = site_path(evaluation->arena, "files", value_str(*value));
    if (!site_files_read(evaluation->run->files, path, &content, &err)) {
        return fail_at(evaluation, place, "E0605", "%s", err.text);
    }
    *value = value_string(content);
    return DYNAMIC_OK;
}

/* With the step's `context` on top of its scope. */
static DynamicOutcome render_template(const Evaluation *evaluation, const Value *params,
                                      Value place, Value *value)
{
    int at = action_param_index(evaluation->step->spec->action, STR("context"));
    if (at >= 0 && value_is_missing(params[at]) &&
        (evaluation->step->spec->params_set >> at & 1) != 0) {
        *value = value_missing(); /* the context is known only at run time */
        return DYNAMIC_UNKNOWN;
    }
    Value context = at >= 0 && params[at].kind == VALUE_MAP ? params[at] : value_null();
    Value text = value_missing();
    DynamicOutcome outcome =
        scope_render_file(evaluation->run->scope, evaluation->step->index, value_str(*value),
                          context, place, evaluation->arena, &text, evaluation->problems);
    *value = text;
    return outcome;
}

/* The steps that an entry of `from` refers to, as resolved by the graph: by name or by path, and
 * all instances of a forEach. */
static bool find_publishers(const Evaluation *evaluation, Str name, StepVec *found)
{
    Run *run = evaluation->run;
    if (run->index == NULL) {
        run->index = step_index_new(run->arena, &run->graph->steps);
    }
    Reference reference = {
        .kind = REFERENCE_MODULE, .module = STR("file"), .pattern = name, .literal = true
    };
    return step_index_find(run->index, evaluation->step->index, &reference, evaluation->arena,
                           found) == FIND_OK;
}

static DynamicOutcome take_published(const Evaluation *evaluation, Value name, List *files)
{
    Run *run = evaluation->run;
    StepVec found = { 0 };
    if (!find_publishers(evaluation, value_str(name), &found)) {
        return fail_at(evaluation, name, "E0606", "step '%" STR_FMT "' not found",
                       STR_ARG(value_str(name)));
    }
    for (uint32_t i = 0; i < found.len; i++) {
        const StepReport *report = run_result_of(run, found.items[i]);
        if (report == NULL || report->files == NULL) {
            return run->config.planning
                       ? DYNAMIC_UNKNOWN
                       : fail_at(evaluation, name, "E0606",
                                 "step '%" STR_FMT "' published no files",
                                 STR_ARG(graph_step(run->graph, found.items[i])->name));
        }
        for (uint32_t j = 0; j < report->files->len; j++) {
            list_push(evaluation->arena, files, report->files->items[j]);
        }
    }
    return DYNAMIC_OK;
}

/* Converts [{file: STEP}] to what those steps published. */
static DynamicOutcome collect_published(const Evaluation *evaluation, Value place, Value *value)
{
    List *files = list_new(evaluation->arena, 4);
    DynamicOutcome outcome = DYNAMIC_OK;
    for (uint32_t i = 0; value->kind == VALUE_LIST && i < value->list->len; i++) {
        const Value *name = value_get(value->list->items[i], STR("file"));
        if (name == NULL || !value_is_string(*name)) {
            return fail_at(evaluation, place, "E0606", "an entry of 'from' must be {file: STEP}");
        }
        outcome = take_published(evaluation, *name, files);
        if (outcome != DYNAMIC_OK) {
            break;
        }
    }
    *value = outcome == DYNAMIC_OK ? value_list(files) : value_missing();
    return outcome;
}

static DynamicOutcome resolve(const Evaluation *evaluation, Value *params, uint32_t at)
{
    const ParamSpec *spec = &evaluation->step->spec->action->params[at];
    Value place = place_of(evaluation->step, at);
    if (value_is_missing(params[at])) {
        return DYNAMIC_OK;
    }
    switch (spec->kind) {
    case PARAM_SITE_FILE: return read_file(evaluation, place, &params[at]);
    case PARAM_SITE_TEMPLATE: return render_template(evaluation, params, place, &params[at]);
    case PARAM_PUBLISHED: return collect_published(evaluation, place, &params[at]);
    default: return DYNAMIC_OK;
    }
}

static void learn_secrets(Run *run, const Value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        secrets_add_computed(run->secrets, values[i]);
    }
}

DynamicOutcome run_params(Run *run, const Step *step, Arena *arena, Value *out, Problems *problems)
{
    Evaluation evaluation = { run, step, arena, problems };
    DynamicOutcome outcome =
        step_params_evaluate(step, evaluate, &evaluation, run->sources, arena, out, problems);
    uint32_t count = action_param_count(step->spec->action);
    learn_secrets(run, out, count); /* file names too */
    for (uint32_t i = 0; i < count && outcome != DYNAMIC_FAILED; i++) {
        DynamicOutcome resolved = resolve(&evaluation, out, i);
        outcome = resolved == DYNAMIC_OK ? outcome : resolved;
    }
    learn_secrets(run, out, count);
    return outcome;
}
