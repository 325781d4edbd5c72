/* Steps for tests, from a line of text instead of a site:
 *
 *     a; b require=a; job:web; c watch=a,file:/etc/motd order=last claims=path:/etc/motd
 *
 * Steps are separated by ';' or newlines. The first word is the name, or "job:NAME" for the job of
 * the following ones. The other words are a requisite key with its references ("x" a step,
 * "MODULE:x" and "job:x" literally), or one of:
 *     id=x,y          value of the id parameter
 *     mod=file        the module; "test" by default
 *     order=first     first, last or a number
 *     claims=x,y      resources
 *     each=x,y        instances of a forEach with these keys
 *     owner=x mode=x  parameters, of any module except "test"
 * A name may contain '_' in place of spaces; they are kept. */
#pragma once

#include "base/vec.h"
#include "model/graph.h"

#include "unit.h"

typedef struct World {
    Arena arena;
    Sources sources;
    Problems problems;
    Steps steps;
    uint32_t step_cap;
    Graph *graph;
} World;

static const ParamSpec world_params[] = {
    { "name", PARAM_STRING, .help = "id" },       { "owner", PARAM_STRING, .help = "owner" },
    { "mode", PARAM_STRING, .help = "mode" },     { "content", PARAM_STRING, .help = "text" },
    { "from", PARAM_PUBLISHED, .help = "files" }, { 0 },
};

static inline bool world_function(Call *call, Outcome *outcome, Error *err)
{
    (void)call;
    (void)outcome;
    (void)err;
    return true;
}

static inline void world_merge(MergedCall *calls, uint32_t count)
{
    (void)calls;
    (void)count;
}

/* Like modules that install files: their owner must exist first. */
static inline void world_claims(Arena *arena, const Value *params, List *claims)
{
    Value owner = params == NULL ? value_missing() : params[1];
    if (value_is_string(owner)) {
        list_push(
            arena, claims,
            value_string(arena_format(arena, "needs:user:%" STR_FMT, STR_ARG(value_str(owner)))));
    }
}

#define WORLD_MODULE(module, ...)                                       \
    {                                                                   \
        .name = module, .id_param = "name", .actions = (const Action[]) \
        {                                                               \
            { .name = "do",                                             \
              .params = world_params,                                   \
              .check = world_function,                                  \
              .apply = world_function,                                  \
              __VA_ARGS__ },                                            \
                { 0 },                                                  \
        }                                                               \
    }

static const Module world_modules[] = {
    WORLD_MODULE("test", .react = world_function),
    WORLD_MODULE("file", .claims = world_claims),
    WORLD_MODULE("svc", .react = world_function),
    WORLD_MODULE("sleep", .may_sleep = true),
    WORLD_MODULE("slow", .cost_ms = 1000),
    WORLD_MODULE("repo", .stage = STAGE_SOURCES),
    WORLD_MODULE("pkg", .stage = STAGE_PACKAGES, .merge = world_merge),
};

static inline const Module *world_module(Str name)
{
    for (size_t i = 0; i < COUNT_OF(world_modules); i++) {
        if (str_eq_c(name, world_modules[i].name)) {
            return &world_modules[i];
        }
    }
    print_error("no module %" STR_FMT "\n", STR_ARG(name));
    fail();
    return NULL;
}

static inline void world_init(World *world)
{
    *world = (World){ 0 };
    arena_init(&world->arena, ARENA_UNLIMITED);
    sources_init(&world->sources, &world->arena);
    problems_init(&world->problems, &world->arena);
}

static inline bool world_kind(Str key, Requisite *requisite)
{
    if (str_ends(key, STR("_in"))) {
        requisite->in = true;
        key.len -= 3;
    }
    if (str_ends(key, STR("_any"))) {
        requisite->any = true;
        key.len -= 4;
    }
    if (str_ends(key, STR("_all"))) {
        requisite->all = true;
        key.len -= 4;
    }
    for (int kind = 0; kind < REQUISITE_ORDER; kind++) {
        if (str_eq_c(key, requisite_kind_name((RequisiteKind)kind))) {
            requisite->kind = (RequisiteKind)kind;
            return true;
        }
    }
    return false;
}

static inline void world_requisites(World *world, StepSpec *spec, Requisite like, Str refs)
{
    Str ref;
    while (str_split_next(&refs, ',', &ref)) {
        Requisite requisite = like;
        /* The position points into the text, so that problems show what they refer to. */
        const Source *source = sources_get(&world->sources, 1);
        requisite.location = value_string(ref);
        requisite.location.source = 1;
        requisite.location.start = (uint32_t)(ref.data - source->text.data);
        requisite.location.span = (uint32_t)ref.len;
        size_t colon = str_find(ref, STR(":"), 0);
        requisite.pattern = colon == STR_NOT_FOUND ? ref : str_from_offset(ref, colon + 1);
        Str before = str_slice(ref, 0, colon == STR_NOT_FOUND ? 0 : colon);
        requisite.reference = colon == STR_NOT_FOUND       ? REFERENCE_STEP
                              : str_eq(before, STR("job")) ? REFERENCE_JOB
                                                           : REFERENCE_MODULE;
        requisite.module = before;
        uint32_t count = spec->requisite_count;
        spec->requisites = arena_grow(&world->arena, spec->requisites, count * sizeof requisite,
                                      (count + 1) * sizeof requisite);
        spec->requisites[spec->requisite_count++] = requisite;
    }
}

static inline void world_param(World *world, StepSpec *spec, Str name, Str value)
{
    int index = action_param_index(spec->action, name);
    assert_true(index >= 0);
    Dynamic *param = ARENA_NEW(&world->arena, Dynamic);
    param->value = value_string(arena_copy(&world->arena, value));
    spec->params[index] = param;
    spec->params_set |= (uint64_t)1 << index;
}

static inline void world_word(World *world, StepSpec *spec, Step *step, Str key, Str value,
                              Str *each)
{
    Requisite requisite = { 0 };
    if (world_kind(key, &requisite)) {
        world_requisites(world, spec, requisite, value);
    } else if (str_eq(key, STR("id"))) {
        step->ids = ARENA_ARRAY(&world->arena, Str, 16);
        for (Str id; str_split_next(&value, ',', &id);) {
            step->ids[step->id_count++] = id;
        }
    } else if (str_eq(key, STR("mod"))) {
        spec->module = world_module(value);
        spec->action = spec->module->actions;
    } else if (str_eq(key, STR("order"))) {
        spec->order = str_eq(value, STR("first"))  ? ORDER_FIRST
                      : str_eq(value, STR("last")) ? ORDER_LAST
                                                   : ORDER_NUMBER;
        if (spec->order == ORDER_NUMBER) {
            assert_true(str_to_i64(value, &spec->order_number));
        }
    } else if (str_eq(key, STR("claims"))) {
        step->claims = list_new(&world->arena, 4);
        for (Str claim; str_split_next(&value, ',', &claim);) {
            list_push(&world->arena, step->claims, value_string(claim));
        }
    } else if (str_eq(key, STR("each"))) {
        *each = value;
    } else {
        world_param(world, spec, key, value);
    }
}

static inline void world_push(World *world, Step step)
{
    if (world->steps.count == world->step_cap) {
        world->steps.items = vec_grow(&world->arena, world->steps.items, &world->step_cap,
                                      sizeof step, world->steps.count + 1);
    }
    step.index = world->steps.count;
    step.id = arena_format(&world->arena, "%" STR_FMT "#%" STR_FMT, STR_ARG(step.spec->job->name),
                           STR_ARG(step.name));
    world->steps.items[world->steps.count++] = step;
}

static inline const Job *world_job(World *world, Str name)
{
    for (uint32_t i = 0; i < world->steps.job_count; i++) {
        if (str_eq(world->steps.jobs[i]->name, name)) {
            return world->steps.jobs[i];
        }
    }
    Job *job = ARENA_NEW(&world->arena, Job);
    job->name = name;
    uint32_t count = world->steps.job_count;
    world->steps.jobs = arena_grow(&world->arena, world->steps.jobs, count * sizeof(Job *),
                                   (count + 1) * sizeof(Job *));
    world->steps.jobs[world->steps.job_count++] = job;
    return job;
}

static inline void world_line(World *world, Str line, const Job **job)
{
    Str name;
    line = str_trim(line);
    if (!str_split_next(&line, ' ', &name) || name.len == 0) {
        return;
    }
    if (str_starts(name, STR("job:"))) {
        *job = world_job(world, str_from_offset(name, 4));
        return;
    }
    StepSpec *spec = ARENA_NEW(&world->arena, StepSpec);
    spec->job = *job;
    spec->name = name;
    spec->module = &world_modules[0];
    spec->action = spec->module->actions;
    spec->params = arena_alloc_zero(&world->arena, COUNT_OF(world_params) * sizeof *spec->params);
    spec->when = spec->success = spec->proceed = &condition_none;
    spec->run = ARENA_NEW(&world->arena, RunOptions);
    spec->order = ORDER_NONE;
    spec->location = value_string(name);
    spec->location.source = 1;
    spec->location.start = (uint32_t)(name.data - sources_get(&world->sources, 1)->text.data);
    spec->location.span = (uint32_t)name.len;
    spec->name_location = spec->location;
    Step step = { .spec = spec, .name = name, .item = value_missing() };
    Str each = STR_EMPTY, word;
    while (str_split_next(&line, ' ', &word)) {
        size_t equals = str_find(word, STR("="), 0);
        assert_true(equals != STR_NOT_FOUND);
        world_word(world, spec, &step, str_slice(word, 0, equals),
                   str_from_offset(word, equals + 1), &each);
    }
    if (each.len == 0) {
        world_push(world, step);
    }
    spec->has_for_each = each.len > 0;
    for (Str key; each.len > 0 && str_split_next(&each, ',', &key);) {
        step.key = key;
        step.name =
            arena_format(&world->arena, "%" STR_FMT "[%" STR_FMT "]", STR_ARG(name), STR_ARG(key));
        world_push(world, step);
    }
}

/* Creates the steps; in job "main" unless the text says otherwise. */
static inline void world_read(World *world, Str text)
{
    sources_add(&world->sources, STR("jobs/main.yaml"), text);
    const Job *job = world_job(world, STR("main"));
    Str lines = text;
    for (Str line; str_split_next(&lines, '\n', &line);) {
        for (Str part; str_split_next(&line, ';', &part);) {
            world_line(world, part, &job);
        }
    }
}

static inline bool world_build(World *world)
{
    return graph_build(&world->arena, &world->steps, &world->sources, &world->graph,
                       &world->problems);
}

/* The graph of a valid text. */
static inline const Graph *world_make(World *world, const char *text)
{
    world_init(world);
    world_read(world, str_from_c(text));
    if (!world_build(world)) {
        print_error("%s\n%" STR_FMT "\n", text, STR_ARG(world->problems.items[0].message));
        fail();
    }
    return world->graph;
}

static inline void world_clear(World *world)
{
    arena_clear(&world->arena);
}

static inline uint32_t world_step(const World *world, const char *name)
{
    uint32_t step = 0;
    if (!graph_find(world->graph, str_from_c(name), &step)) {
        print_error("no step %s\n", name);
        fail();
    }
    return step;
}
