#include "run/executor_report.h"

#include "lang/scrub.h"

enum {
    OUTPUT_RETAINED = 1 << 20 /* bytes of command output kept in a report */
};

Str executor_scrub(const RunCoreOps *environment, Arena *arena, Str text)
{
    return text.len > 0 && environment->scrub != NULL
               ? environment->scrub(environment->context, text, arena)
               : arena_copy(arena, text);
}

static Str shown_text(void *context, Str text, Arena *arena)
{
    return executor_scrub(context, arena, text);
}

static Value scrub_value(const RunCoreOps *environment, Arena *arena, Value value)
{
    return secrets_replace(arena, value, shown_text, (void *)environment);
}

/* The output of a command, verbatim for later steps, and without secrets for everything else. */
static Str keep_output(const RunCoreOps *environment, Arena *arena, Str text, bool secret,
                       Str *shown, StepReport *report)
{
    Str kept = arena_copy(arena, str_slice(text, 0, OUTPUT_RETAINED));
    if (secret) {
        report->secret_out = true;
        *shown = text.len > 0 ? STR(SCRUB_MARK "\n") : STR_EMPTY;
        return kept;
    }
    /* before truncation, which may split a secret */
    Str clean = executor_scrub(environment, arena, text);
    if (!str_eq(clean, text)) {
        report->secret_out = true;
    }
    *shown = str_slice(clean, 0, OUTPUT_RETAINED);
    return kept;
}

static void learn_secrets(const RunCoreOps *environment, const Outcome *outcome)
{
    if (environment->learn != NULL) {
        environment->learn(environment->context, outcome->value);
        if (outcome->files != NULL) {
            environment->learn(environment->context, value_list(outcome->files));
        }
    }
}

static Map *marked(Arena *arena, const Map *map)
{
    Map *all = map_new(arena, map->len);
    for (uint32_t i = 0; i < map->len; i++) {
        map_append(arena, all, map->entries[i].key, value_with_secret(map->entries[i].value));
    }
    return all;
}

void executor_report_redact(const RunCoreOps *environment, Task *task)
{
    Outcome *outcome = &task->outcome;
    Arena *arena = &task->arena;
    outcome->secret = true;
    outcome->value.flags |= VALUE_SECRET;
    if (environment->learn != NULL) {
        environment->learn(environment->context, value_with_secret(value_string(outcome->out)));
        environment->learn(environment->context,
                           value_with_secret(value_string(outcome->error_out)));
    }
    if (outcome->changes != NULL) {
        outcome->changes = marked(arena, outcome->changes);
    }
    if (outcome->diff.len > 0) {
        outcome->diff = STR(SCRUB_MARK "\n");
    }
    for (uint32_t i = 0; outcome->files != NULL && i < outcome->files->len; i++) {
        const Value file = outcome->files->items[i];
        MapEntry *content = file.kind == VALUE_MAP ? map_find_str(file.map, STR("content")) : NULL;
        if (content != NULL) {
            content->value.flags |= VALUE_SECRET;
        }
    }
    if (task->failed && outcome->has_exit_code) {
        error_set(&task->error, task->error.kind, "exited with %d; its output is secret",
                  outcome->exit_code);
    } else if (task->failed) {
        error_set(&task->error, task->error.kind, "failed; the reason is hidden (secret)");
    }
}

Arena *executor_report_arena(Arena **own, Arena *run, bool is_retried)
{
    if (!is_retried) {
        return run;
    }
    if (*own == NULL) {
        *own = ARENA_NEW(run, Arena);
        arena_init(*own, ARENA_UNLIMITED);
    } else {
        arena_reset(*own);
    }
    return *own;
}

void executor_report_arena_clear(Arena *own)
{
    if (own != NULL) {
        arena_clear(own);
    }
}

void executor_report_empty(StepReport *report)
{
    report->changes = NULL;
    report->diff = report->comment = report->state = STR_EMPTY;
    report->out = report->shown_out = report->error_out = report->shown_error_out = STR_EMPTY;
    report->secret_out = report->has_exit_code = false;
    report->value = value_null();
    report->files = NULL;
    report->observed = STR_EMPTY;
    report->shutdown = NULL;
}

static const ShutdownRequest *copy_shutdown(Arena *arena, const ShutdownRequest *asked)
{
    ShutdownRequest *shutdown = ARENA_NEW(arena, ShutdownRequest);
    *shutdown = *asked;
    shutdown->message = arena_copy(arena, asked->message);
    shutdown->kernel = arena_copy(arena, asked->kernel);
    shutdown->initrd = arena_copy(arena, asked->initrd);
    shutdown->command_line = arena_copy(arena, asked->command_line);
    return shutdown;
}

void executor_report_fill(StepReport *report, const Outcome *outcome, bool adds,
                          const RunCoreOps *environment, Arena *arena)
{
    learn_secrets(environment, outcome);
    if (!adds) {
        executor_report_empty(report);
    }
    if (outcome->changes != NULL) {
        Map *changes = scrub_value(environment, arena, value_map(outcome->changes)).map;
        for (uint32_t i = 0; report->changes != NULL && i < changes->len; i++) {
            map_set(arena, report->changes, changes->entries[i].key, changes->entries[i].value);
        }
        report->changes = report->changes != NULL ? report->changes : changes;
    }
    if (outcome->diff.len > 0) {
        report->diff = executor_scrub(environment, arena, outcome->diff);
    }
    if (outcome->comment.len > 0) {
        report->comment = executor_scrub(environment, arena, outcome->comment);
    }
    if (outcome->observed.len > 0) {
        report->observed = arena_copy(arena, outcome->observed);
    }
    if (outcome->shutdown != NULL) {
        report->shutdown = copy_shutdown(arena, outcome->shutdown);
    }
    if (outcome->state.len > 0) {
        report->state = executor_scrub(environment, arena, outcome->state);
    }
    if (outcome->has_exit_code || outcome->out.len > 0 || outcome->error_out.len > 0) {
        report->exit_code = outcome->exit_code;
        report->has_exit_code = outcome->has_exit_code;
        report->out = keep_output(environment, arena, outcome->out, outcome->secret,
                                  &report->shown_out, report);
        report->error_out = keep_output(environment, arena, outcome->error_out, outcome->secret,
                                        &report->shown_error_out, report);
    }
    if (outcome->value.kind != VALUE_NULL) {
        report->value = value_copy(arena, outcome->value);
    }
    if (outcome->files != NULL) {
        report->files = value_copy(arena, value_list(outcome->files)).list;
    }
}

Value step_name_place(const StepSpec *spec)
{
    return value_is_missing(spec->name_location) ? spec->location : spec->name_location;
}

Value step_error_place(const StepSpec *spec, const Value *params, const char *blamed, Str text)
{
    Value place = value_missing();
    int at = blamed == NULL ? -1 : action_param_index(spec->action, str_from_c(blamed));
    if (at >= 0 && (spec->params_set >> at & 1) != 0) {
        return spec->params[at]->value;
    }
    size_t longest = 1; /* single characters match anywhere */
    for (uint32_t i = 0; params != NULL && spec->action->params[i].name != NULL; i++) {
        bool given = (spec->params_set >> i & 1) != 0;
        bool shown = given && value_is_string(params[i]) && !value_is_secret(params[i]);
        Str value = shown ? value_str(params[i]) : STR_EMPTY;
        bool is_id = id_params_include(action_id_params(spec->module, spec->action),
                                       str_from_c(spec->action->params[i].name));
        if (given && is_id && value_is_missing(place)) {
            place = spec->params[i]->value;
        }
        if (value.len > longest && str_find(text, value, 0) != STR_NOT_FOUND) {
            longest = value.len;
            place = spec->params[i]->value;
        }
    }
    return value_is_missing(place) || place.source == SOURCE_NONE ? step_name_place(spec) : place;
}

Str executor_test_text(const Dynamic *test)
{
    return value_is_string(test->value) ? value_str(test->value) : STR("its condition");
}

void executor_scrub_problem(const RunCoreOps *environment, Arena *arena, Problem *problem)
{
    problem->message = executor_scrub(environment, arena, problem->message);
    problem->hint = executor_scrub(environment, arena, problem->hint);
    problem->fix = (ProblemFix){ 0 };
    for (ProblemNote *note = problem->notes; note != NULL; note = note->next) {
        note->message = executor_scrub(environment, arena, note->message);
    }
    if (!str_eq(executor_scrub(environment, arena, problem->excerpt), problem->excerpt)) {
        problem->excerpt = STR_EMPTY; /* the caret would be misplaced */
    }
}
