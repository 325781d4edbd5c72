/* In-memory sites, and the problems reported for them. */
#pragma once

#include "model/expand.h"
#include "model/module_fixture.h"

typedef struct TestFile {
    const char *path; /* NULL ends a list */
    const char *text;
} TestFile;

typedef struct TestSite {
    Arena arena;
    Sources sources;
    Problems problems;
    Templates *templates;
    Rendered rendered;
    const TestFile *files;
    SiteLoad load;
    Site *site;
    Steps steps;
    Map *scope; /* for expressions at load */
    bool ok;
} TestSite;

static inline bool test_read(void *context, Str path, Str *text, Error *err)
{
    const TestSite *site = context;
    for (const TestFile *file = site->files; file->path != NULL; file++) {
        if (str_eq_c(path, file->path)) {
            *text = str_from_c(file->text);
            return true;
        }
    }
    return error_set(err, ERROR_NOT_FOUND, "no such file");
}

static inline void test_list(void *context, Str directory, Arena *arena, List *paths)
{
    const TestSite *site = context;
    for (const TestFile *file = site->files; file->path != NULL; file++) {
        Str path = str_from_c(file->path);
        if (str_starts(path, directory) && path.len > directory.len &&
            path.data[directory.len] == '/') {
            list_push(arena, paths, value_string(path));
        }
    }
}

static inline bool test_exists(void *context, Str path)
{
    Str text;
    Error err;
    return test_read(context, path, &text, &err);
}

static inline void test_site_open(TestSite *site, const TestFile *files)
{
    *site = (TestSite){ .files = files };
    arena_init(&site->arena, ARENA_UNLIMITED);
    sources_init(&site->sources, &site->arena);
    problems_init(&site->problems, &site->arena);
    TemplateSettings settings = dynamic_template_settings();
    site->templates = templates_new(&settings);
    site->rendered = rendered_make(&settings.limits);
    site->scope = map_new(&site->arena, 4);
    site->load = (SiteLoad){
        .arena = &site->arena,
        .sources = &site->sources,
        .templates = site->templates,
        .modules = test_modules,
        .reader = { .context = site, .read = test_read, .list = test_list, .exists = test_exists },
        .problems = &site->problems
    };
}

static inline void test_site_clear(TestSite *site)
{
    rendered_clear(&site->rendered);
    templates_free(site->templates);
    arena_clear(&site->arena);
}

static inline void auto_clear_TestSite(TestSite *site)
{
    test_site_clear(site);
}

static inline DynamicOutcome test_evaluate(void *context, const Dynamic *dynamic, Value item,
                                           Arena *arena, Value *out, Problems *problems)
{
    TestSite *site = context;
    Map *scope = map_new(arena, 4);
    for (uint32_t i = 0; i < site->scope->len; i++) {
        map_append(arena, scope, site->scope->entries[i].key, site->scope->entries[i].value);
    }
    if (!value_is_missing(item)) {
        map_set_str(arena, scope, STR("item"), item);
    }
    return dynamic_evaluate(dynamic, value_map(scope), &site->sources, &site->rendered, arena, out,
                            problems);
}

static inline DynamicOutcome test_evaluate_plain(void *context, const Dynamic *dynamic, Value *out)
{
    TestSite *site = context;
    return test_evaluate(site, dynamic, value_missing(), &site->arena, out, &site->problems);
}

/* For a node "web01" with the label role=web. */
static inline void test_site_expand(TestSite *site)
{
    Map *labels = map_new(&site->arena, 1);
    map_set_str(&site->arena, labels, STR("role"), value_string(STR("web")));
    SelectorSubject subject = {
        .name = STR("web01"), .labels = labels, .evaluate = test_evaluate_plain, .context = site
    };
    Expansion expansion = { .subject = &subject, .evaluate = test_evaluate, .context = site };
    site->ok = site_expand(site->site, &expansion, &site->steps) && site->ok;
}

/* A site whose only job is `steps`. */
static inline void test_site_steps(TestSite *site, const TestFile *file)
{
    test_site_open(site, file);
    site->ok = site_load_file(&site->load, str_from_c(file->path), &site->site);
    test_site_expand(site);
}

/* "E0306 web.yaml:3:5 message | hint", one per line. */
static inline void test_site_reported(const TestSite *site, Buf *out)
{
    for (uint32_t i = 0; i < site->problems.count; i++) {
        const Problem *problem = &site->problems.items[i];
        buf_put_format(out, "%" STR_FMT " %" STR_FMT ":%u:%u %" STR_FMT "%s%" STR_FMT "\n",
                       STR_ARG(problem->code), STR_ARG(problem->file), problem->line,
                       problem->column, STR_ARG(problem->message),
                       problem->hint.len > 0 ? " | " : "", STR_ARG(problem->hint));
    }
}

/* Expects these lines and nothing else. */
static inline void check_reported(const TestSite *site, const char *expected, const char *file,
                                  int line)
{
    Buf told = buf_make(BUF_UNLIMITED);
    test_site_reported(site, &told);
    bool same = str_eq_c(buf_str(&told), expected);
    if (!same) {
        /* cmocka truncates long messages. */
        fprintf(stderr, "told:\n%s\nexpected:\n%s\n", told.len > 0 ? buf_c(&told) : "", expected);
    }
    buf_clear(&told);
    if (!same) {
        _fail(file, line);
    }
}
#define assert_reported(site, expected) check_reported((site), (expected), __FILE__, __LINE__)
