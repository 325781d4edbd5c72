/* Input: the files of a site. Invariants: the result is ordered steps or errors, and always the
 * same.
 *
 * A line "=== PATH" starts a file; anything before the first such line is a steps file. */
#include "base/bug.h"
#include "model/expand.h"
#include "model/graph.h"
#include "modules/modules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    FILES_MAX = 16,
    MEMORY_MAX = 64 << 20,
    STEPS_MAX = 20000
};

typedef struct File {
    Str path;
    Str text;
} File;

typedef struct World {
    Arena arena;
    Sources sources;
    Problems problems;
    Templates *templates;
    Rendered rendered;
    File files[FILES_MAX];
    uint32_t file_count;
} World;

static const File *find_file(const World *world, Str path)
{
    for (uint32_t i = 0; i < world->file_count; i++) {
        if (str_eq(world->files[i].path, path)) {
            return &world->files[i];
        }
    }
    return NULL;
}

static bool read_file(void *context, Str path, Str *text, Error *err)
{
    const File *file = find_file(context, path);
    if (file == NULL) {
        return error_set(err, ERROR_NOT_FOUND, "no such file");
    }
    *text = file->text;
    return true;
}

static bool file_exists(void *context, Str path)
{
    return find_file(context, path) != NULL;
}

static void list_files(void *context, Str directory, Arena *arena, List *paths)
{
    const World *world = context;
    for (uint32_t i = 0; i < world->file_count; i++) {
        Str path = world->files[i].path;
        if (str_starts(path, directory) && path.len > directory.len &&
            path.data[directory.len] == '/') {
            list_push(arena, paths, value_string(path));
        }
    }
}

static bool load_template(void *context, Str name, Arena *arena, Str *text)
{
    Str path = arena_format(arena, "templates/%" STR_FMT, STR_ARG(name));
    const File *file = find_file(context, path);
    *text = file == NULL ? STR_EMPTY : file->text;
    return file != NULL;
}

static void split_files(World *world, Str text)
{
    Str mark = STR("=== ");
    File *file = &world->files[world->file_count++];
    *file = (File){ STR("steps.yaml"), text };
    for (size_t at = 0; at < text.len && world->file_count < FILES_MAX;) {
        size_t end = str_find(text, STR("\n"), at);
        end = end == STR_NOT_FOUND ? text.len : end + 1;
        Str line = str_slice(text, at, end);
        if (str_starts(line, mark)) {
            file->text.len = (size_t)(line.data - file->text.data);
            file = &world->files[world->file_count++];
            *file = (File){ str_trim(str_from_offset(line, mark.len)), str_from_offset(text, end) };
        }
        at = end;
    }
}

static DynamicOutcome evaluate(void *context, const Dynamic *dynamic, Value item, Arena *arena,
                               Value *out, Problems *problems)
{
    World *world = context;
    Map *scope = map_new(arena, 2);
    if (!value_is_missing(item)) {
        map_set_str(arena, scope, STR("item"), item);
    }
    return dynamic_evaluate(dynamic, value_map(scope), &world->sources, &world->rendered, arena,
                            out, problems);
}

static DynamicOutcome evaluate_plain(void *context, const Dynamic *dynamic, Value *out)
{
    World *world = context;
    return evaluate(world, dynamic, value_missing(), &world->arena, out, &world->problems);
}

static void check_steps(World *world, const Steps *steps)
{
    for (uint32_t i = 0; i < steps->count; i++) {
        BUG_IF(steps->items[i].index != i || steps->items[i].spec == NULL);
        BUG_IF(steps->items[i].spec->action == NULL);
    }
    Graph *graph;
    if (steps->count <= STEPS_MAX &&
        !graph_build(&world->arena, steps, &world->sources, &graph, &world->problems)) {
        BUG_IF(world->problems.errors == 0);
    }
}

/* All output, as text. */
static void load(Str text, Buf *out)
{
    World world = { 0 };
    arena_init(&world.arena, MEMORY_MAX);
    sources_init(&world.sources, &world.arena);
    problems_init(&world.problems, &world.arena);
    split_files(&world, text);
    TemplateSettings settings = dynamic_template_settings();
    settings.limits.steps = 20000;
    settings.limits.memory = 4 << 20;
    settings.limits.output = 1 << 20;
    settings.load = load_template;
    settings.load_context = &world;
    world.templates = templates_new(&settings);
    world.rendered = rendered_make(&settings.limits);
    SiteLoad site_load_input = { .arena = &world.arena,
                                 .sources = &world.sources,
                                 .templates = world.templates,
                                 .modules = modules,
                                 .reader = { .context = &world,
                                             .read = read_file,
                                             .list = list_files,
                                             .exists = file_exists },
                                 .lint = true,
                                 .problems = &world.problems };
    Site *site;
    bool ok = world.file_count > 1 ? site_load(&site_load_input, &site)
                                   : site_load_file(&site_load_input, STR("steps.yaml"), &site);
    SelectorSubject subject = { .name = STR("web01"),
                                .evaluate = evaluate_plain,
                                .context = &world };
    Expansion expansion = { .subject = &subject, .evaluate = evaluate, .context = &world };
    Steps steps;
    ok = site_expand(site, &expansion, &steps) && ok;
    BUG_IF(!ok && world.problems.errors == 0);
    if (ok) {
        check_steps(&world, &steps);
    }
    BUG_IF(!site_check_all(site) && world.problems.errors == 0);
    problems_print(&world.problems, (ProblemStyle){ 0 }, out);
    rendered_clear(&world.rendered);
    templates_free(world.templates);
    arena_clear(&world.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = str_from((const char *)data, size);
    AUTO_CLEAR(Buf) first = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Buf) second = buf_make(BUF_UNLIMITED);
    load(text, &first);
    load(text, &second);
    BUG_IF(!str_eq(buf_str(&first), buf_str(&second)));
    return 0;
}
