/* A site in a directory, on a node configured by tests, with modules that only return values. */
#pragma once

#include "modules/call.h"
#include "run/scope.h"
#include "run/site_files.h"
#include "run/test_dir.h"

typedef struct SiteWorld {
    TestDir *dir;
    SiteFiles *files_on_disk;
    Templates *templates;
    Renders renders;
    Site *site;
    Node node;
    Scope *scope;
    Value event;            /* that started the run; null: none */
    unsigned asked;         /* how often an action was called */
    const char *labels[4];  /* NULL ends them */
    const char *defines[4]; /* -D */
    const char *files[4];   /* -v */
} SiteWorld;

/* test.echo returns its `text`, test.fails fails. */
static bool echo_query(Call *call, Outcome *outcome, Error *err)
{
    outcome->value = call->params[0];
    if (call->params[1].kind == VALUE_INT) {
        outcome->value = value_int(call->params[1].integer * 10);
    }
    return true;
}

static bool fails_query(Call *call, Outcome *outcome, Error *err)
{
    return error_set(err, ERROR_OS, "the disk is on fire");
}

static const ParamSpec echo_params[] = {
    { .name = "text", .kind = PARAM_STRING, .fallback = "nothing", .help = "." },
    { .name = "number", .kind = PARAM_INT, .help = "." },
    { 0 },
};
static const ParamSpec no_params[] = { { 0 } };
static const Action asked_actions[] = {
    { .name = "echo", .help = ".", .params = echo_params, .query = echo_query },
    { .name = "fails", .help = ".", .params = no_params, .query = fails_query },
    { .name = "mute", .help = ".", .params = no_params },
    { 0 },
};
static const Module asked_module = { .name = "test", .help = ".", .actions = asked_actions };
static const Module *const asked_modules[] = { &asked_module, NULL };

static bool world_ask(void *context, const Action *action, const Value *params, Arena *arena,
                      Value *out, Error *err)
{
    SiteWorld *world = context;
    world->asked++;
    return macro_query_host(NULL, action, params, arena, out, err);
}

static uint32_t count_texts(const char *const *texts)
{
    uint32_t count = 0;
    while (count < 4 && texts[count] != NULL) {
        count++;
    }
    return count;
}

static inline int world_setup(void **state)
{
    SiteWorld *world = test_calloc(1, sizeof *world);
    void *dir = NULL;
    test_dir_setup(&dir);
    world->dir = dir;
    test_dir_put(dir, "jobs/base.yaml", "jobs: {}\n");
    Str file;
    Error err;
    assert_true(
        site_files_open(&world->dir->arena, world->dir->path, &world->files_on_disk, &file, &err));
    TemplateSettings settings = dynamic_template_settings();
    settings.load = site_files_load_template;
    settings.load_context = world->files_on_disk;
    world->templates = templates_new(&settings);
    renders_init(&world->renders, &settings.limits);
    *state = world;
    return 0;
}

static inline int world_teardown(void **state)
{
    SiteWorld *world = *state;
    void *dir = world->dir;
    renders_clear(&world->renders);
    templates_free(world->templates);
    test_dir_teardown(&dir);
    test_free(world);
    return 0;
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* Files of the site are at the top of the directory, those of the node in "etc". */
static inline bool world_load(SiteWorld *world)
{
    TestDir *dir = world->dir;
    Arena *arena = &dir->arena;
    Map *facts = map_new(arena, 4);
    map_set_str(arena, facts, STR("name"), value_string(STR("web01")));
    map_set_str(arena, facts, STR("fqdn"), value_string(STR("web01.example.com")));
    map_set_str(arena, facts, STR("os"), value_string(STR("debian")));
    NodeOptions options = { .etc = test_dir_path(dir, "etc"),
                            .labels = world->labels,
                            .label_count = count_texts(world->labels),
                            .facts = value_map(facts) };
    SiteLoad site = { .arena = arena,
                      .sources = &dir->sources,
                      .templates = world->templates,
                      .modules = asked_modules,
                      .reader = site_files_reader(world->files_on_disk),
                      .problems = &dir->problems };
    if (!node_load(arena, &dir->sources, &options, &world->node, &dir->problems) ||
        !site_load(&site, &world->site)) {
        return false;
    }
    ScopeLoad load = { .arena = arena,
                       .sources = &dir->sources,
                       .templates = world->templates,
                       .problems = &dir->problems,
                       .renders = &world->renders,
                       .site = world->site,
                       .node = &world->node,
                       .version = "1.2",
                       .event = world->event,
                       .modules = asked_modules,
                       .ask = { world, world_ask },
                       .etc = options.etc,
                       .files = world->files,
                       .file_count = count_texts(world->files),
                       .defines = world->defines,
                       .define_count = count_texts(world->defines) };
    return scope_load(&load, &world->scope);
}

static inline void put_variables(SiteWorld *world, const char *text)
{
    test_dir_put(world->dir, "variables/base.yaml", "files: {'*': [{name: common}]}\n");
    test_dir_put(world->dir, "variables/common.yaml", text);
}

static inline void put_macros(SiteWorld *world, const char *text)
{
    test_dir_put(world->dir, "macros/base.yaml", "macros: {'*': [{name: all}]}\n");
    test_dir_put(world->dir, "macros/all.yaml", text);
}

/* An expression as in a step, at load: as JSON, "?" if unknown, or "!problems". */
static inline Str world_eval(SiteWorld *world, const char *expression)
{
    TestDir *dir = world->dir;
    Dynamic dynamic;
    Value value;
    problems_init(&dir->problems, &dir->arena);
    DynamicOutcome outcome =
        dynamic_compile_expression(&dir->arena, world->templates, &dir->sources,
                                   value_string(str_from_c(expression)), &dynamic, &dir->problems)
            ? scope_evaluate_at_load(world->scope, &dynamic, value_missing(), &dir->arena, &value,
                                     &dir->problems)
            : DYNAMIC_FAILED;
    if (outcome == DYNAMIC_UNKNOWN) {
        return STR("?");
    }
    return outcome == DYNAMIC_OK
               ? test_dir_json(dir, value)
               : arena_format(&dir->arena, "!%" STR_FMT, STR_ARG(dir->problems.items[0].message));
}
