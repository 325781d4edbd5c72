#include "model/expand.h"

#include "base/str_map.h"
#include "model/parse.h"
#include "model/step_params.h"

enum {
    NESTING_MAX = 100, /* nesting of job files and includes */
    PATHS_MAX = 1000   /* conditional paths to the same file */
};

typedef VEC(Step) StepList;
typedef VEC(const Job *) JobList;
typedef VEC(const JobGate *) GateList;
typedef struct ReachedFile ReachedFile;
typedef VEC(ReachedFile *) FileList;

/* A file that the traversal has reached. */
struct ReachedFile {
    JobFile *file;
    bool on_path;       /* on the current path */
    bool unconditional; /* reachable without conditions */
    uint32_t path_count;
    GateList gates;
    FileList children; /* the files that it lists or includes and that apply to the node */
    uint32_t mark;     /* ID of the last search that visited it */
};

typedef struct Walk {
    Site *site;
    const SiteLoad *load;
    const Expansion *expansion;
    Arena *arena;
    StrMap reached;
    StepList steps;
    JobList jobs;
    FileList groups;
    VEC(const StepSpec *) empty_for_each;
    uint32_t depth;
    Str selector; /* as in Job, for the current path */
    bool ok;
    bool has_unread_files;
} Walk;

/* --- Step instances ------------------------------------------------------------------------- */

typedef DynamicOutcome (*Evaluate)(void *context, const Dynamic *dynamic, Value item, Arena *arena,
                                   Value *out, Problems *problems);

static DynamicOutcome evaluate(Walk *w, Evaluate function, const Dynamic *dynamic, Value item,
                               Value *out)
{
    if (dynamic_is_constant(dynamic)) {
        *out = dynamic->value;
        return DYNAMIC_OK;
    }
    if (dynamic->kind == DYNAMIC_EXPRESSION && template_literal(dynamic->template, out)) {
        return DYNAMIC_OK;
    }
    if (function == NULL || dynamic_uses_steps(dynamic)) {
        return DYNAMIC_UNKNOWN;
    }
    Problems found; /* problems reported when the template was read are not reported again */
    problems_init(&found, w->load->problems->arena);
    DynamicOutcome outcome = function(w->expansion->context, dynamic, item, w->arena, out, &found);
    problems_merge(w->load->problems, &found);
    w->ok = w->ok && outcome != DYNAMIC_FAILED;
    return outcome;
}

/* Parameters that other steps may depend on are evaluated before the run: IDs, paths, owners. */
static bool is_needed_before_run(const ParamSpec *param, const char *id_params)
{
    Str name = str_from_c(param->name);
    return param_is_path(param) || id_params_include(id_params, name) ||
           str_eq(name, STR("owner")) || str_eq(name, STR("group")) || str_eq(name, STR("user"));
}

static void evaluate_early(Walk *w, Step *step)
{
    const StepSpec *spec = step->spec;
    const char *id_params = action_id_params(spec->module, spec->action);
    Evaluate function = w->expansion->evaluate_early != NULL ? w->expansion->evaluate_early
                                                             : w->expansion->evaluate;
    uint32_t count = action_param_count(spec->action);
    Value *values = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const ParamSpec *param = &spec->action->params[i];
        bool input = (spec->params_set & (UINT64_C(1) << i)) != 0;
        if (!input || !value_is_missing(spec->values[i]) || dynamic_is_constant(spec->params[i]) ||
            !is_needed_before_run(param, id_params)) {
            continue;
        }
        Value value;
        if (evaluate(w, function, spec->params[i], step->item, &value) != DYNAMIC_OK ||
            value.kind == VALUE_NULL) {
            continue;
        }
        if (values == NULL) {
            values = ARENA_ARRAY(w->arena, Value, count);
            memcpy(values, spec->values, count * sizeof *values);
            step->values = values;
        }
        Error err;
        if (!param_convert(w->arena, w->load->sources, param, value, &values[i], &err)) {
            values[i] = value_missing();
            site_problem(w->load, "E0308", spec->params[i]->value, "'%s' %s", param->name,
                         err.text);
            w->ok = false;
        }
    }
}

typedef VEC(Str) Ids;

static void add_id(Walk *w, Ids *ids, Str id)
{
    for (uint32_t i = 0; i < ids->len; i++) {
        if (str_eq(ids->items[i], id)) {
            return;
        }
    }
    VEC_PUSH(w->arena, ids, id);
}

/* Adds the ID as the module sees it and, if that differs, as it is written. */
static void add_ids(Walk *w, Ids *ids, const Step *step, uint32_t param)
{
    const Dynamic *input = step->spec->params[param];
    Value value = step->values[param];
    Str text;
    if (value_is_sequence(value)) {
        for (uint32_t i = 0; i < value.list->len; i++) {
            add_id(w, ids, value_str(value.list->items[i]));
        }
    } else if (value.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < value.map->len; i++) {
            add_id(w, ids, value_str(value.map->entries[i].key));
        }
    } else if (site_text(w->load, value, &text)) {
        /* "/srv/www/" is found as "/srv/www" too. */
        add_id(w, ids,
               text.len > 1 && str_ends(text, STR("/")) ? str_slice(text, 0, text.len - 1) : text);
        if (input != NULL && dynamic_is_constant(input) &&
            site_text(w->load, input->value, &text)) {
            add_id(w, ids, text);
        }
    }
}

static void find_ids(Walk *w, Step *step)
{
    const StepSpec *spec = step->spec;
    Str rest = str_from_c(action_id_params(spec->module, spec->action));
    Str name;
    Ids ids = { 0 };
    while (str_split_next(&rest, '|', &name)) {
        int param = action_param_index(spec->action, name);
        if (param >= 0 && !value_is_missing(step->values[param])) {
            add_ids(w, &ids, step, (uint32_t)param);
        }
    }
    step->ids = ids.items;
    step->id_count = ids.len;
}

static void add_instance(Walk *w, const StepSpec *spec, Value item, Str key)
{
    if (w->steps.len >= RUN_STEPS_MAX) {
        if (w->steps.len == RUN_STEPS_MAX && w->ok) {
            site_problem(w->load, "E0323", spec->name_location, "a run has at most %d steps",
                         RUN_STEPS_MAX);
        }
        w->ok = false;
        return;
    }
    Step step = { .index = w->steps.len, .spec = spec, .item = item, .values = spec->values };
    step.name = spec->name;
    if (spec->has_for_each && !value_is_missing(item)) {
        step.key = key;
        step.name =
            arena_format(w->arena, "%" STR_FMT "[%" STR_FMT "]", STR_ARG(spec->name), STR_ARG(key));
    }
    step.id = arena_join(w->arena, spec->job->name, STR("#"), step.name);
    if (spec->action != NULL) {
        evaluate_early(w, &step);
        find_ids(w, &step);
        step_collect_claims(&step, w->arena);
    }
    VEC_PUSH(w->arena, &w->steps, step);
}

/* --- forEach -------------------------------------------------------------------------------- */

/* A scalar is its own key, other items are identified by their position. So are secrets, because
 * names are shown and stored everywhere. */
static Str key_of(Walk *w, Value item, uint32_t position)
{
    static const ParamSpec as_text = { "item", PARAM_STRING };
    Value text;
    Error err;
    if (!value_is_secret(item) &&
        param_convert(w->arena, w->load->sources, &as_text, item, &text, &err)) {
        return value_str(text);
    }
    return arena_format(w->arena, "%u", position);
}

static void add_keyed(Walk *w, const StepSpec *spec, StrMap *keys, Value item, Str key)
{
    if (str_map_put(keys, key, NULL)) {
        add_instance(w, spec, item, key);
        return;
    }
    site_problem(w->load, "E0316", spec->for_each.value,
                 "'forEach' contains '%" STR_FMT "' twice, so two steps would have the same name",
                 STR_ARG(str_slice(key, 0, 100)));
    w->ok = false;
}

static void add_instances(Walk *w, const StepSpec *spec)
{
    if (!spec->has_for_each) {
        add_instance(w, spec, value_missing(), STR_EMPTY);
        return;
    }
    Value items;
    bool is_reported = value_is_missing(spec->for_each.value);
    DynamicOutcome outcome =
        is_reported ? DYNAMIC_UNKNOWN
                    : evaluate(w, w->expansion->evaluate, &spec->for_each, value_missing(), &items);
    if (outcome == DYNAMIC_UNKNOWN && w->expansion->evaluate == NULL) {
        add_instance(w, spec, value_missing(), STR_EMPTY);
        return;
    }
    if (outcome == DYNAMIC_UNKNOWN && !is_reported) {
        for_each_unknown(w->load, spec->for_each.value);
        w->ok = false;
    }
    if (outcome != DYNAMIC_OK) {
        return;
    }
    StrMap keys;
    str_map_init(&keys, w->arena);
    uint32_t before = w->steps.len;
    uint8_t secret = items.flags & VALUE_SECRET; /* elements of a secret are secret */
    if (value_is_sequence(items)) {
        for (uint32_t i = 0; i < items.list->len; i++) {
            Value item = items.list->items[i];
            item.flags |= secret;
            add_keyed(w, spec, &keys, item, key_of(w, item, i));
        }
    } else if (items.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < items.map->len; i++) {
            Map *item = map_new(w->arena, 2);
            Value key = items.map->entries[i].key, value = items.map->entries[i].value;
            key.flags |= secret;
            value.flags |= secret;
            map_set_str(w->arena, item, STR("key"), key);
            map_set_str(w->arena, item, STR("value"), value);
            add_keyed(w, spec, &keys, value_map(item), key_of(w, key, i));
        }
    } else {
        for_each_of_scalar(w->load, spec->for_each.value, items);
        w->ok = false;
    }
    if (w->steps.len == before) {
        VEC_PUSH(w->arena, &w->empty_for_each, spec);
    }
}

/* --- Jobs ----------------------------------------------------------------------------------- */

static void visit(Walk *w, Str name, Value reference, const JobGate *gate, ReachedFile *outer);

static ReachedFile *find_file(Walk *w, Str name, Value reference)
{
    ReachedFile *reached = str_map_find(&w->reached, name);
    if (reached != NULL) {
        return reached;
    }
    JobFile *file = site_job_file(w->site, name, reference);
    if (file == NULL || file->is_unreadable) {
        w->has_unread_files = true;
    }
    if (file == NULL) {
        return NULL;
    }
    reached = ARENA_NEW(w->arena, ReachedFile);
    reached->file = file;
    str_map_put(&w->reached, file->job.name, reached);
    return reached;
}

static void add_child(Walk *w, ReachedFile *outer, ReachedFile *inner)
{
    for (uint32_t i = 0; outer != NULL && i < outer->children.len; i++) {
        if (outer->children.items[i] == inner) {
            return;
        }
    }
    if (outer != NULL) {
        VEC_PUSH(w->arena, &outer->children, inner);
    }
}

/* Whether the selector matches the node. */
static bool selects_node(Walk *w, const Selector *selector)
{
    if (selector == NULL) {
        return false; /* reported when the file was read */
    }
    bool matches = true;
    if (w->expansion->subject != NULL &&
        !selector_match(selector, w->expansion->subject, &matches)) {
        w->ok = false;
        return false;
    }
    return matches;
}

/* Combines the selectors of a path and of its next entry; empty if no single selector expresses
 * both. */
static Str combine_selectors(Str outer, Str inner)
{
    return str_eq(outer, STR("*"))                           ? inner
           : str_eq(inner, STR("*")) || str_eq(outer, inner) ? outer
                                                             : STR_EMPTY;
}

static void visit_entries(Walk *w, const SiteEntries *entries, const JobGate *gate,
                          ReachedFile *outer)
{
    for (uint32_t i = 0; i < entries->count; i++) {
        const SiteEntry *entry = &entries->items[i];
        if (!selects_node(w, entry->selector)) {
            continue;
        }
        Str before = w->selector;
        w->selector = combine_selectors(before, selector_text(entry->selector));
        const JobGate *inner = gate;
        if (entry->when.is_set) {
            JobGate *added = ARENA_NEW(w->arena, JobGate);
            *added = (JobGate){ .when = entry->when, .outer = gate };
            inner = added;
        }
        visit(w, entry->name, entry->location, inner, outer);
        w->selector = before;
    }
}

static void visit_includes(Walk *w, ReachedFile *file, const JobGate *gate, uint32_t before)
{
    const Job *job = &file->file->job;
    for (uint32_t i = 0; i < job->include_count; i++) {
        if (job->includes[i].before == before) {
            visit(w, job->includes[i].name, job->includes[i].location, gate, file);
        }
    }
}

static void visit_steps(Walk *w, ReachedFile *file, const JobGate *gate, bool first)
{
    const Job *job = &file->file->job;
    if (first) {
        VEC_RESERVE(w->arena, &w->steps, job->step_count);
    }
    for (uint32_t i = 0; i <= job->step_count; i++) {
        if (job->include_count > 0 && !w->expansion->ignore_includes) {
            visit_includes(w, file, gate, i);
        }
        if (first && i < job->step_count) {
            add_instances(w, &job->steps[i]);
        }
    }
}

/* The first visit adds the steps, later ones only their conditions. */
static void visit(Walk *w, Str name, Value reference, const JobGate *gate, ReachedFile *outer)
{
    ReachedFile *file = find_file(w, name, reference);
    if (file == NULL) {
        w->ok = false;
        return;
    }
    add_child(w, outer, file);
    Job *job = &file->file->job;
    if (gate == NULL && (job->selector.len == 0 || str_eq(w->selector, STR("*")))) {
        job->selector = w->selector;
    }
    if (file->on_path || file->unconditional) {
        return; /* everything reachable from here has been reached without conditions already */
    }
    if (w->depth >= NESTING_MAX || file->path_count >= PATHS_MAX) {
        site_problem(w->load, "E0323", reference,
                     w->depth >= NESTING_MAX ? "jobs are nested too deeply here"
                                             : "too many paths lead to this job");
        w->ok = false;
        return;
    }
    bool first = file->path_count++ == 0;
    if (gate == NULL) {
        file->unconditional = true;
    } else {
        VEC_PUSH(w->arena, &file->gates, gate);
    }
    file->on_path = true;
    w->depth++;
    if (file->file->is_group) {
        if (first) {
            VEC_PUSH(w->arena, &w->groups, file);
        }
        visit_includes(w, file, gate, 0);
        visit_entries(w, &file->file->entries, gate, file);
    } else {
        if (first) {
            VEC_PUSH(w->arena, &w->jobs, &file->file->job);
        }
        visit_steps(w, file, gate, first);
    }
    w->depth--;
    file->on_path = false;
}

/* --- Public API ----------------------------------------------------------------------------- */

static bool has_use(const StepSpec *spec, bool in)
{
    for (uint32_t i = 0; i < spec->requisite_count; i++) {
        if (spec->requisites[i].kind == REQUISITE_USE && spec->requisites[i].in == in) {
            return true;
        }
    }
    return false;
}

/* Steps with `use` get their parameters from the graph, which checks them again. If a step lends
 * its parameters to others, all steps are checked there, because only the graph knows which steps
  * receive them. */
static void check_required_params(Walk *w)
{
    bool lends_params = false;
    for (uint32_t i = 0; i < w->steps.len && !lends_params; i++) {
        lends_params = has_use(w->steps.items[i].spec, true);
    }
    const StepSpec *checked = NULL;
    for (uint32_t i = 0; i < w->steps.len && !lends_params; i++) {
        const StepSpec *spec = w->steps.items[i].spec;
        if (spec != checked && spec->action != NULL && !has_use(spec, false)) {
            w->ok =
                step_params_complete(spec, spec->params_set, w->load->sources, w->load->problems) &&
                w->ok;
        }
        checked = spec;
    }
}

/* All jobs that can be reached from a group. */
static JobGroup group_of(Walk *w, ReachedFile *group, uint32_t mark)
{
    JobList jobs = { 0 };
    FileList queue = { 0 };
    VEC_PUSH(w->arena, &queue, group);
    group->mark = mark;
    for (uint32_t i = 0; i < queue.len; i++) {
        ReachedFile *current = queue.items[i];
        if (!current->file->is_group) {
            VEC_PUSH(w->arena, &jobs, &current->file->job);
        }
        for (uint32_t k = 0; k < current->children.len; k++) {
            if (current->children.items[k]->mark != mark) {
                current->children.items[k]->mark = mark;
                VEC_PUSH(w->arena, &queue, current->children.items[k]);
            }
        }
    }
    return (JobGroup){ group->file->job.name, jobs.items, jobs.len };
}

static void finish(Walk *w, Steps *out)
{
    uint32_t pos = 0;
    for (StrMapEntry *entry; (entry = str_map_next(&w->reached, &pos)) != NULL;) {
        ReachedFile *file = entry->value;
        Job *job = &file->file->job;
        job->gates = file->unconditional ? NULL : file->gates.items;
        job->gate_count = file->unconditional ? 0 : file->gates.len;
    }
    JobGroup *groups = ARENA_ARRAY(w->arena, JobGroup, w->groups.len + 1);
    for (uint32_t i = 0; i < w->groups.len; i++) {
        groups[i] = group_of(w, w->groups.items[i], i + 1);
    }
    *out = (Steps){ .items = w->steps.items,
                    .count = w->steps.len,
                    .jobs = w->jobs.items,
                    .job_count = w->jobs.len,
                    .groups = groups,
                    .group_count = w->groups.len,
                    .empty_for_each = w->empty_for_each.items,
                    .empty_for_each_count = w->empty_for_each.len,
                    .without_node = w->expansion->subject == NULL,
                    .has_unread_files = w->has_unread_files,
                    .is_invalid = !w->ok || site_failed(w->site) };
}

bool site_expand(Site *site, const Expansion *expansion, Steps *out)
{
    const SiteLoad *load = site_load_settings(site);
    Walk w = { .site = site,
               .load = load,
               .expansion = expansion,
               .arena = load->arena,
               .selector = STR("*"),
               .ok = true };
    str_map_init(&w.reached, load->arena);
    const Str *only = site_only_job(site);
    if (only != NULL) {
        visit(&w, *only, value_missing(), NULL, NULL);
    } else if (expansion->only_job_count > 0) {
        for (uint32_t i = 0; i < expansion->only_job_count; i++) {
            visit(&w, expansion->only_jobs[i], value_missing(), NULL, NULL);
        }
    } else {
        visit_entries(&w, site_jobs(site), NULL, NULL);
    }
    check_required_params(&w);
    finish(&w, out);
    return !out->is_invalid;
}
