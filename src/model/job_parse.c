/* A file in jobs/: steps, or a list of jobs. */
#include "base/str_map.h"
#include "model/foreign.h"
#include "model/parse.h"

enum {
    JOB_STEPS,
    JOB_JOBS,
    JOB_RUN_OPTIONS,
    JOB_INCLUDE,
    JOB_FIELDS
};

static const Field job_fields[] = {
    { "steps", FIELD_LIST },
    { "jobs", FIELD_ANY },
    { "runOptions", FIELD_MAP },
    { "include", FIELD_ANY },
    { 0 },
};

typedef VEC(JobInclude) Includes;

static bool include_add(const SiteLoad *load, Value name, uint32_t before, Includes *out)
{
    if (!value_is_string(name) || !document_is_name(value_str(name)) ||
        site_has_template(value_str(name))) {
        site_problem(load, "E0303", name,
                     "'include' requires names of jobs, without templates or '.yaml'");
        return false;
    }
    VEC_PUSH(load->arena, out,
             ((JobInclude){ .name = value_str(name), .location = name, .before = before }));
    return true;
}

static bool includes_parse(const SiteLoad *load, Value input, uint32_t before, Includes *out)
{
    if (input.kind != VALUE_LIST) {
        return include_add(load, input, before, out);
    }
    bool ok = true;
    for (uint32_t i = 0; i < input.list->len; i++) {
        ok = include_add(load, input.list->items[i], before, out) && ok;
    }
    return ok;
}

/* Parses `- include: NAME` among the steps; `*is_include` is false if it is a step. */
static bool take_include(const SiteLoad *load, Value step, uint32_t before, Includes *out,
                         bool *is_include)
{
    const Value *input = value_get(step, STR("include"));
    *is_include = input != NULL && input->kind != VALUE_NULL;
    if (!*is_include) {
        return true;
    }
    if (step.map->len > 1) {
        site_problem(load, "E0302", step.map->entries[0].key,
                     "an entry with 'include' cannot have other keys");
        return false;
    }
    return includes_parse(load, *input, before, out);
}

/* Names must be unique within a file, because references use them. */
static bool check_name(const SiteLoad *load, StrMap *names, const StepSpec *spec)
{
    const StepSpec *other = str_map_find(names, spec->name);
    if (spec->name.len == 0) {
        return true;
    }
    if (other == NULL) {
        str_map_put(names, spec->name, (StepSpec *)spec);
        return true;
    }
    Problem *problem =
        site_problem(load, "E0309", spec->name_location,
                     "duplicate step name '%" STR_FMT "' in this file", STR_ARG(spec->name));
    site_hint_duplicate(load, problem, other->name_location);
    return false;
}

static bool steps_parse(const SiteLoad *load, Value input, const RunOptions *base,
                        Includes *includes, Job *job)
{
    uint32_t count = input.list->len;
    job->steps = ARENA_ARRAY(load->arena, StepSpec, count + 1);
    StrMap names;
    str_map_init(&names, load->arena);
    bool ok = true;
    for (uint32_t i = 0; i < count; i++) {
        Value item = input.list->items[i];
        bool is_include = false;
        if (item.kind == VALUE_NULL) {
            continue;
        }
        if (item.kind == VALUE_MAP) {
            ok = take_include(load, item, job->step_count, includes, &is_include) && ok;
        }
        if (is_include) {
            continue;
        }
        StepSpec *spec = &job->steps[job->step_count];
        ok = step_parse(load, item, base, spec) && ok;
        spec->job = job;
        spec->index_in_file = job->step_count;
        ok = check_name(load, &names, spec) && ok;
        job->step_count++;
    }
    return ok;
}

/* Reports the problem at the second key. */
static void report_both(const SiteLoad *load, const Map *document)
{
    Value steps = map_find_str(document, STR("steps"))->key;
    Value jobs = map_find_str(document, STR("jobs"))->key;
    bool steps_first = steps.start < jobs.start;
    Problem *problem = site_problem(load, "E0322", steps_first ? jobs : steps,
                                    "a job contains either 'steps' or 'jobs', not both");
    problem->hint = arena_format(
        load->problems->arena,
        "'%s' is on line %u; move the steps to a separate file and list it among the jobs",
        steps_first ? "steps" : "jobs", site_line(load, steps_first ? steps : jobs));
}

bool job_file_parse(const SiteLoad *load, Str name, Str path, Value document, JobFile *out)
{
    *out = (JobFile){ .job = { .name = name, .path = path } };
    Value input[JOB_FIELDS];
    FieldSet set = { .what = "a job", .fields = job_fields };
    if (document.kind == VALUE_LIST) {
        Problem *problem = site_problem(load, "E0303", document, "a job must be a map, not a list");
        problem->span = 1;
        Str foreign = foreign_document(document);
        problem->hint = foreign.len > 0 ? foreign : STR("put the steps under 'steps:'");
        out->is_unreadable = true;
        return false;
    }
    if (value_get(document, STR("steps")) == NULL && value_get(document, STR("jobs")) == NULL) {
        Str foreign = foreign_document(document);
        if (foreign.len > 0) {
            site_problem(load, "E0303", document, "a job must contain 'steps' or 'jobs'")->hint =
                foreign;
            out->is_unreadable = true;
            return false;
        }
    }
    bool ok = fields_read_all(load, &set, document, input);
    RunOptions *base = ARENA_NEW(load->arena, RunOptions);
    static const SiteNames names = { .steps = true, .item = true };
    SiteLoad inner = site_load_with_names(load, &names);
    ok = run_options_parse(&inner, input[JOB_RUN_OPTIONS], base) && ok;
    Includes includes = { 0 };
    if (!value_is_missing(input[JOB_INCLUDE])) {
        ok = includes_parse(load, input[JOB_INCLUDE], 0, &includes) && ok;
    }
    if (!value_is_missing(input[JOB_JOBS])) {
        out->is_group = true;
        if (!value_is_missing(input[JOB_STEPS])) {
            report_both(load, document.map);
            ok = false;
        }
        ok = site_entries_parse(load, ENTRY_JOBS, input[JOB_JOBS], &out->entries) && ok;
    }
    if (!value_is_missing(input[JOB_STEPS])) {
        ok = steps_parse(load, input[JOB_STEPS], base, &includes, &out->job) && ok;
    }
    out->is_unreadable =
        !ok && value_is_missing(input[JOB_STEPS]) && value_is_missing(input[JOB_JOBS]);
    out->job.includes = includes.items;
    out->job.include_count = includes.len;
    return ok;
}
