#include "run/scope_steps.h"

#include "lang/template/host_object.h"
#include "lang/template/ops.h"
#include "model/step_fields.h"

/* --- One step -------------------------------------------------------------------------------- */

static const StepReport *report_of(const StepObject *object, uint32_t i)
{
    static const StepReport unknown = { .status.result = RESULT_UNKNOWN };
    const StepReport *reports = object->owner->reports;
    return reports == NULL ? &unknown : &reports[object->steps[i]];
}

static const Step *step_of(const StepObject *object, uint32_t i)
{
    return &object->owner->steps->items[object->steps[i]];
}

static bool has_run(StepResult result)
{
    return result == RESULT_OK || result == RESULT_CHANGED || result == RESULT_FAILED;
}

/* Checks that the step has finished with a known result. */
static bool check_ended(Render *r, const StepObject *object, uint32_t i)
{
    const StepReport *report = report_of(object, i);
    Str name = step_of(object, i)->name;
    if (object->own) {
        return true;
    }
    if (report->status.result == RESULT_UNKNOWN) {
        return render_raise(r, FAULT_UNKNOWN,
                            "the result of step '%" STR_FMT "' is not known before the run",
                            STR_ARG(name));
    }
    if (report->status.result == RESULT_PENDING) {
        render_raise(r, FAULT_RUNTIME, "step '%" STR_FMT "' has not run yet", STR_ARG(name));
        return render_hint(r, "add it to 'require' of this step");
    }
    if (report->status.result == RESULT_WAITING) {
        return render_raise(r, FAULT_RUNTIME, "step '%" STR_FMT "' is still waiting%s%" STR_FMT,
                            STR_ARG(name), report->reason.len > 0 ? ": " : "",
                            STR_ARG(report->reason));
    }
    return true;
}

/* Whether it ran, so that there is output. */
static bool check_ran(Render *r, const StepObject *object, uint32_t i)
{
    const StepReport *report = report_of(object, i);
    Str name = step_of(object, i)->name;
    if (!check_ended(r, object, i)) {
        return false;
    }
    if (object->own) {
        return true;
    }
    if (!has_run(report->status.result)) {
        return render_raise(r, FAULT_RUNTIME,
                            "step '%" STR_FMT "' did not run: it was %s%s%" STR_FMT, STR_ARG(name),
                            step_result_name(report->status.result),
                            report->reason.len > 0 ? ", " : "", STR_ARG(report->reason));
    }
    if (object->owner->planning && report->status.result == RESULT_CHANGED) {
        return render_raise(r, FAULT_UNKNOWN,
                            "the output of step '%" STR_FMT "' is not known before the run",
                            STR_ARG(name));
    }
    return true;
}

static StepResult result_of(const StepObject *object, uint32_t i)
{
    const StepReport *report = report_of(object, i);
    if (object->own && report->status.result == RESULT_PENDING) {
        return report->status.changed ? RESULT_CHANGED : RESULT_OK;
    }
    return report->status.result;
}

/* Worse results have higher ranks. */
static unsigned rank(StepResult result)
{
    static const unsigned ranks[] = {
        [RESULT_PENDING] = 0, [RESULT_SKIPPED] = 1, [RESULT_OK] = 2,      [RESULT_CHANGED] = 3,
        [RESULT_UNKNOWN] = 4, [RESULT_WAITING] = 5, [RESULT_BLOCKED] = 6, [RESULT_FAILED] = 7,
    };
    return ranks[result];
}

static StepResult worst_result(const StepObject *object)
{
    StepResult worst = RESULT_SKIPPED;
    for (uint32_t i = 0; i < object->count; i++) {
        StepResult result = result_of(object, i);
        worst = rank(result) > rank(worst) ? result : worst;
    }
    return worst;
}

static bool any_changed(const StepObject *object)
{
    for (uint32_t i = 0; i < object->count; i++) {
        const StepReport *report = report_of(object, i);
        if (report->status.changed || report->status.result == RESULT_CHANGED) {
            return true;
        }
    }
    return false;
}

/* --- Fields of one or several steps ----------------------------------------------------------- */

static bool check_all(Render *r, const StepObject *object,
                      bool (*check)(Render *, const StepObject *, uint32_t))
{
    for (uint32_t i = 0; i < object->count; i++) {
        if (!render_charge(r, 1) || !check(r, object, i)) {
            return false;
        }
    }
    return true;
}

/* If at least one instance ran, the missing output of others does not matter. */
static bool check_output(Render *r, const StepObject *object)
{
    bool any = false;
    for (uint32_t i = 0; i < object->count; i++) {
        any = any || has_run(result_of(object, i));
    }
    for (uint32_t i = 0; i < object->count; i++) {
        bool needed =
            !any || has_run(result_of(object, i)) || result_of(object, i) == RESULT_UNKNOWN;
        if (!render_charge(r, 1) || (needed && !check_ran(r, object, i))) {
            return false;
        }
    }
    return true;
}

/* Like `$(...)` in a shell, which drops trailing newlines: the following words stay on the command
 * line. */
static Str without_line_ends(Str text)
{
    while (str_ends(text, STR("\n"))) {
        text.len -= str_ends(text, STR("\r\n")) ? 2 : 1;
    }
    return text;
}

static bool put_output(Render *r, const StepObject *object, StepField field, Value *out)
{
    bool errors = field == FIELD_STDERR || field == FIELD_RAW_STDERR;
    bool raw = field == FIELD_RAW_STDOUT || field == FIELD_RAW_STDERR;
    bool secret = false;
    Str text = STR_EMPTY;
    Buf all = render_buf(r);
    for (uint32_t i = 0; i < object->count; i++) {
        const StepReport *report = report_of(object, i);
        secret = secret || report->secret_out;
        text = errors ? report->error_out : report->out;
        if (object->count > 1) {
            buf_put(&all, text);
        }
    }
    if (object->count > 1) {
        if (!render_take(r, &all, out)) {
            return false;
        }
        text = value_str(*out);
    }
    *out = value_string(raw ? text : without_line_ends(text));
    out->flags |= secret ? VALUE_SECRET : 0;
    render_note_external(r, *out);
    return true;
}

static Value exit_code(const StepObject *object)
{
    Value code = value_null();
    for (uint32_t i = 0; i < object->count; i++) {
        const StepReport *report = report_of(object, i);
        if (report->has_exit_code && (code.kind == VALUE_NULL || code.integer == 0)) {
            code = value_int(report->exit_code);
        }
    }
    return code;
}

/* The state if all instances have the same one, otherwise their results. */
static bool state_of(Render *r, const StepObject *object, Value *out)
{
    Str state = STR_EMPTY;
    for (uint32_t i = 0; i < object->count; i++) {
        const StepReport *report = report_of(object, i);
        if (object->owner->planning && report->status.result == RESULT_CHANGED && !object->own) {
            return check_ran(r, object, i);
        }
        Str one = report->state.len > 0 ? report->state
                                        : str_from_c(step_result_name(result_of(object, i)));
        if (i > 0 && !str_eq(one, state)) {
            state = str_from_c(step_result_name(worst_result(object)));
            break;
        }
        state = one;
    }
    *out = value_string(object->count > 0 ? state : STR("skipped"));
    return true;
}

/* Files that check already publishes are known in a plan too. */
static bool files_of(Render *r, const StepObject *object, Value *out)
{
    List *all = list_new(r->arena, 4);
    for (uint32_t i = 0; i < object->count; i++) {
        const StepReport *report = report_of(object, i);
        if (report->files == NULL && !check_ran(r, object, i)) {
            return false;
        }
        for (uint32_t k = 0; report->files != NULL && k < report->files->len; k++) {
            if (!render_charge(r, 1)) {
                return false;
            }
            list_push(r->arena, all, report->files->items[k]);
        }
    }
    *out = value_list(all);
    render_note_external(r, *out);
    return true;
}

static bool value_of(Render *r, const StepObject *object, Value *out)
{
    const StepReport *report = object->count == 1 ? report_of(object, 0) : NULL;
    if (report == NULL || value_is_missing(report->value)) {
        *out = value_null();
        return true;
    }
    *out = report->value;
    render_note_external(r, *out);
    return true;
}

static Value text_or_null(Str text)
{
    return text.len > 0 ? value_string(text) : value_null();
}

static Value step_object_new(Render *r, const StepObject *from, const uint32_t *step);
static Value items_new(Render *r, const StepObject *of);

static Value no_items(Render *r, const StepObject *object)
{
    return undefined_hint(r, "step '%" STR_FMT "' has no items because it has no 'forEach'",
                          STR_ARG(step_of(object, 0)->name));
}

static bool get_field(Render *r, StepObject *object, StepField field, Value *out)
{
    bool one = object->count == 1;
    switch (field) {
    case FIELD_STATE: return check_all(r, object, check_ended) && state_of(r, object, out);
    case FIELD_STDOUT:
    case FIELD_STDERR:
    case FIELD_RAW_STDOUT:
    case FIELD_RAW_STDERR: return check_output(r, object) && put_output(r, object, field, out);
    case FIELD_EXIT_CODE: *out = exit_code(object); return check_output(r, object);
    case FIELD_CHANGED: *out = value_bool(any_changed(object)); break;
    case FIELD_RESULT:
        *out = value_string(str_from_c(step_result_name(worst_result(object))));
        break;
    case FIELD_FILES: return check_all(r, object, check_ended) && files_of(r, object, out);
    case FIELD_VALUE: return check_output(r, object) && value_of(r, object, out);
    case FIELD_REASON: *out = text_or_null(one ? report_of(object, 0)->reason : STR_EMPTY); break;
    case FIELD_ERROR:
        *out = one && report_of(object, 0)->error != NULL
                   ? value_string(report_of(object, 0)->error->message)
                   : value_null();
        break;
    case FIELD_NAME:
        *out = object->count == 0 ? value_null()
               : object->group    ? value_string(step_of(object, 0)->spec->name)
                                  : value_string(step_of(object, 0)->name);
        return true;
    case FIELD_KEY: *out = text_or_null(one ? step_of(object, 0)->key : STR_EMPTY); return true;
    case FIELD_ITEM:
        *out = one && !value_is_missing(step_of(object, 0)->item) ? step_of(object, 0)->item
                                                                  : value_null();
        render_note_external(r, *out);
        return true;
    default: *out = object->group ? items_new(r, object) : no_items(r, object); return true;
    }
    return check_all(r, object, check_ended);
}

static bool step_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    StepField field = step_field_find(name);
    *found = field < FIELD_COUNT;
    return !*found || get_field(r, (StepObject *)object, field, out);
}

static bool step_get_item(Render *r, Object *object, Value key, Value *out, bool *found)
{
    *found = false;
    return !value_is_string(key) || step_get_attr(r, object, value_str(key), out, found);
}

/* The printed form. */
static bool step_force(Render *r, Object *object, Value *out)
{
    Map *map = map_new(r->arena, FIELD_FILES);
    for (StepField field = 0; field < FIELD_FILES; field++) {
        Value value;
        if (!get_field(r, (StepObject *)object, field, &value)) {
            return false;
        }
        map_append(r->arena, map, value_string(str_from_c(step_field_names[field])), value);
    }
    *out = value_map(map);
    return true;
}

static bool step_iterate(Render *r, Object *object, Iter *iter)
{
    List *names = list_new(r->arena, FIELD_COUNT);
    for (StepField field = 0; field < FIELD_COUNT; field++) {
        list_push(r->arena, names, value_string(str_from_c(step_field_names[field])));
    }
    return iter_start(r, value_list(names), iter);
}

static const ObjectType step_type = { .name = "step",
                                      .get_attr = step_get_attr,
                                      .get_item = step_get_item,
                                      .force = step_force,
                                      .iterate = step_iterate,
                                      .mapping = true };

void step_object_init(StepObject *object, const StepsObject *owner, uint32_t step)
{
    *object = (StepObject){ .object = { &step_type }, .owner = owner, .count = 1, .own = true };
    object->only = step;
    object->steps = &object->only;
}

static Value step_object_new(Render *r, const StepObject *from, const uint32_t *step)
{
    StepObject *object = ARENA_NEW(r->arena, StepObject);
    *object =
        (StepObject){ .object = { &step_type }, .owner = from->owner, .steps = step, .count = 1 };
    return value_object(&object->object);
}

/* --- Instances of forEach --------------------------------------------------------------------- */

typedef struct ItemsObject {
    Object object;
    const StepObject *of;
} ItemsObject;

static bool items_get_item(Render *r, Object *object, Value key, Value *out, bool *found)
{
    const StepObject *of = ((ItemsObject *)object)->of;
    *found = false;
    if (key.kind == VALUE_INT) {
        int64_t at = key.integer < 0 ? key.integer + of->count : key.integer;
        *found = at >= 0 && at < of->count;
        if (*found) {
            *out = step_object_new(r, of, &of->steps[at]);
        }
        return true;
    }
    for (uint32_t i = 0; value_is_string(key) && i < of->count && !*found; i++) {
        if (!render_charge(r, 1)) {
            return false;
        }
        if (str_eq(step_of(of, i)->key, value_str(key))) {
            *out = step_object_new(r, of, &of->steps[i]);
            *found = true;
        }
    }
    return true;
}

static bool items_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    return items_get_item(r, object, value_string(name), out, found);
}

static bool items_force(Render *r, Object *object, Value *out)
{
    const StepObject *of = ((ItemsObject *)object)->of;
    if (!render_charge(r, of->count)) {
        return false;
    }
    List *list = list_new(r->arena, of->count);
    for (uint32_t i = 0; i < of->count; i++) {
        list_push(r->arena, list, step_object_new(r, of, &of->steps[i]));
    }
    *out = value_list(list);
    return true;
}

static bool items_length(Render *r, Object *object, int64_t *out)
{
    *out = ((ItemsObject *)object)->of->count;
    return true;
}

static const ObjectType items_type = { .name = "list",
                                       .get_attr = items_get_attr,
                                       .get_item = items_get_item,
                                       .force = items_force,
                                       .length = items_length };

static Value items_new(Render *r, const StepObject *of)
{
    ItemsObject *items = ARENA_NEW(r->arena, ItemsObject);
    *items = (ItemsObject){ { &items_type }, of };
    return value_object(&items->object);
}

/* --- Lookup ----------------------------------------------------------------------------------- */

static void index_name(StepsObject *object, Str name, uint32_t step, uint32_t *last)
{
    uintptr_t first = (uintptr_t)str_map_find(&object->names, name);
    if (first == 0) {
        str_map_put(&object->names, name, (void *)(uintptr_t)(step + 1));
    } else {
        uint32_t end = last[first - 1] != 0 ? last[first - 1] : (uint32_t)first;
        object->next[end - 1] = step + 1;
    }
    first = first == 0 ? step + 1 : first;
    last[first - 1] = step + 1;
}

/* An instance of forEach is found only under its own name; the group is found by the name of the
 * first one, which is that of the spec. */
static void index_steps(StepsObject *object)
{
    uint32_t count = object->steps->count;
    str_map_init(&object->names, object->arena);
    object->next = ARENA_ARRAY(object->arena, uint32_t, 2 * (size_t)count + 1);
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    uint32_t *last = ARENA_ARRAY(&scratch, uint32_t, 2 * (size_t)count + 1);
    memset(object->next, 0, (2 * (size_t)count + 1) * sizeof(uint32_t));
    memset(last, 0, (2 * (size_t)count + 1) * sizeof(uint32_t));
    const StepSpec *before = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const Step *step = &object->steps->items[i];
        index_name(object, step->name, i, last);
        /* Indexes from `count` on refer to groups. */
        if (step->spec->has_for_each && step->spec != before) {
            index_name(object, step->spec->name, count + i, last);
        }
        before = step->spec;
    }
    object->indexed = true;
}

static const Step *found_step(const StepsObject *object, uint32_t place)
{
    uint32_t count = object->steps->count;
    return &object->steps->items[place < count ? place : place - count];
}

static bool raise_ambiguous(Render *r, const StepsObject *object, Str name, uint32_t first)
{
    Buf ids = render_buf(r);
    for (uint32_t at = first; at != 0; at = object->next[at - 1]) {
        buf_put(&ids, ids.len > 0 ? STR(", ") : STR_EMPTY);
        buf_put(&ids, found_step(object, at - 1)->id);
    }
    render_raise(r, FAULT_RUNTIME, "several steps are named '%" STR_FMT "': %" STR_FMT,
                 STR_ARG(name), STR_ARG(buf_str(&ids)));
    return render_hint(r, "specify the job: steps['%" STR_FMT "']",
                       STR_ARG(found_step(object, first - 1)->id));
}

/* "job#name" identifies one step of the run. */
static uint32_t find_by_id(const StepsObject *object, Str id)
{
    size_t hash = str_find_last(id, STR("#"));
    if (hash == STR_NOT_FOUND) {
        return 0;
    }
    Str name = str_from_offset(id, hash + 1);
    uint32_t at = (uint32_t)(uintptr_t)str_map_find(&object->names, name);
    while (at != 0 &&
           !str_eq(found_step(object, at - 1)->spec->job->name, str_slice(id, 0, hash))) {
        at = object->next[at - 1];
    }
    return at;
}

/* The index of the step or group that `name` means in the current step; 0: none. */
static bool find_step(Render *r, const StepsObject *object, Str name, uint32_t *out)
{
    uint32_t first = (uint32_t)(uintptr_t)str_map_find(&object->names, name);
    *out = first != 0 ? first : find_by_id(object, name);
    if (first == 0) {
        return true;
    }
    const Job *own = object->asking < object->steps->count
                         ? object->steps->items[object->asking].spec->job
                         : NULL;
    for (uint32_t at = first; at != 0; at = object->next[at - 1]) {
        if (found_step(object, at - 1)->spec->job == own) {
            *out = at;
            return true;
        }
    }
    return object->next[first - 1] == 0 || raise_ambiguous(r, object, name, first);
}

/* A forEach over an empty list has no steps, but exists. */
static bool is_empty_group(const StepsObject *object, Str name)
{
    if (object->asking >= object->steps->count) {
        return false;
    }
    const Job *job = object->steps->items[object->asking].spec->job;
    for (uint32_t i = 0; i < job->step_count; i++) {
        if (job->steps[i].has_for_each && str_eq(job->steps[i].name, name)) {
            return true;
        }
    }
    return false;
}

static Value group_new(Render *r, const StepsObject *object, uint32_t place, bool group)
{
    StepObject *step = ARENA_NEW(r->arena, StepObject);
    *step = (StepObject){ .object = { &step_type }, .owner = object, .group = group };
    if (place > object->steps->count) {
        uint32_t first = place - 1 - object->steps->count;
        const Step *steps = object->steps->items;
        uint32_t end = first;
        while (end < object->steps->count && steps[end].spec == steps[first].spec) {
            end++;
        }
        uint32_t *all = ARENA_ARRAY(r->arena, uint32_t, end - first);
        for (uint32_t i = first; i < end; i++) {
            all[i - first] = i;
        }
        step->steps = all;
        step->count = end - first;
        step->group = true;
    } else if (place > 0) {
        step->only = place - 1;
        step->steps = &step->only;
        step->count = 1;
    }
    return value_object(&step->object);
}

static Value no_step(Render *r, Object *steps, Value key)
{
    Str name = value_is_secret(key) ? STR("...") : value_str(key);
    return undefined_element_hint(r, value_object(steps), key,
                                  "no step named '%" STR_FMT "' in this run", STR_ARG(name));
}

static bool check_mode(Render *r, const StepsObject *object)
{
    switch (object->mode) {
    case STEPS_FORBIDDEN:
        return render_raise(r, FAULT_RUNTIME,
                            "variables and macros cannot use the results of steps");
    case STEPS_UNKNOWN:
        return render_raise(r, FAULT_UNKNOWN, "the results of steps are not known before the run");
    default: return true;
    }
}

static bool steps_get_item(Render *r, Object *object, Value key, Value *out, bool *found)
{
    StepsObject *steps = (StepsObject *)object;
    *found = value_is_string(key);
    if (!check_mode(r, steps) || !*found) {
        return !render_failed(r);
    }
    if (!steps->indexed) {
        index_steps(steps);
    }
    uint32_t place;
    if (!find_step(r, steps, value_str(key), &place)) {
        return false;
    }
    *out = place != 0                              ? group_new(r, steps, place, false)
           : is_empty_group(steps, value_str(key)) ? group_new(r, steps, 0, true)
                                                   : no_step(r, object, key);
    return true;
}

static bool steps_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    return steps_get_item(r, object, value_string(name), out, found);
}

/* Names, for suggestions and iteration. */
static bool steps_iterate(Render *r, Object *object, Iter *iter)
{
    StepsObject *steps = (StepsObject *)object;
    if (!check_mode(r, steps) || !render_charge(r, steps->steps->count)) {
        return false;
    }
    List *names = list_new(r->arena, steps->steps->count);
    for (uint32_t i = 0; i < steps->steps->count; i++) {
        list_push(r->arena, names, value_string(steps->steps->items[i].name));
    }
    return iter_start(r, value_list(names), iter);
}

static bool steps_contains(Render *r, Object *object, Value needle, bool *out)
{
    Value value;
    bool found;
    *out = false;
    if (!steps_get_item(r, object, needle, &value, &found)) {
        return false;
    }
    *out = found && value.kind != VALUE_UNDEFINED;
    return true;
}

static const ObjectType steps_type = { .name = "steps",
                                       .get_attr = steps_get_attr,
                                       .get_item = steps_get_item,
                                       .iterate = steps_iterate,
                                       .contains = steps_contains,
                                       .mapping = true };

void steps_object_init(StepsObject *object, StepsMode mode, Arena *arena)
{
    *object = (StepsObject){
        .object = { &steps_type }, .mode = mode, .arena = arena, .asking = UINT32_MAX
    };
}

void steps_object_set_run(StepsObject *object, const Steps *steps, const StepReport *reports,
                          bool planning)
{
    object->mode = STEPS_RUNNING;
    object->steps = steps;
    object->reports = reports;
    object->planning = planning;
    object->indexed = false;
}
