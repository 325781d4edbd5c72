#include "cli/site_check.h"

#include "facts/facts.h"
#include "lang/yaml.h"
#include "model/expand.h"
#include "model/graph.h"
#include "modules/extension.h"
#include "modules/modules.h"
#include "run/site_files.h"
#include "sys/file.h"

static const char *const directories[] = { "jobs", "variables", "macros", "events", "reactions" };

static bool is_under(Str path, Str directory)
{
    return str_starts(path, directory) && path.len > directory.len &&
           path.data[directory.len] == '/';
}

/* Any of the base files makes a directory a site. Only jobs/base.yaml is required, but then its
 * absence is reported properly. */
bool site_check_is_site(const char *path)
{
    static const char *const bases[] = { "jobs/base.yaml", "variables/base.yaml",
                                         "macros/base.yaml" };
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    bool found = false;
    for (size_t i = 0; !found && i < COUNT_OF(bases); i++) {
        Str text;
        Error err;
        found = file_read_beneath(&scratch, path, str_from_c(bases[i]), SITE_FILE_MAX, &text, &err);
    }
    return found;
}

bool site_check_covers(Str path)
{
    bool covered = str_eq(path, STR("config.yaml")) || is_under(path, STR("templates"));
    for (size_t i = 0; str_ends(path, STR(".yaml")) && i < COUNT_OF(directories); i++) {
        covered = covered || is_under(path, str_from_c(directories[i]));
    }
    return covered;
}

bool site_check_expects(Str path)
{
    bool expected = false;
    for (size_t i = 0; i < COUNT_OF(directories); i++) {
        expected = expected || is_under(path, str_from_c(directories[i]));
    }
    return expected;
}

typedef struct OpenSite {
    SiteFiles *files;
    Str file; /* empty: the entire site */
    Templates *templates;
    Extensions extensions;
    SiteLoad load;
} OpenSite;

/* A job file outside of a complete site may refer to names that only the entire site defines. */
static bool is_part_of_site(const char *path)
{
    Str text = str_from_c(path);
    return str_starts(text, STR("jobs/")) || str_find(text, STR("/jobs/"), 0) != STR_NOT_FOUND;
}

static bool is_document_path(Str path)
{
    bool in_directory = str_starts(path, STR("templates/"));
    for (size_t i = 0; str_ends(path, STR(".yaml")) && i < COUNT_OF(directories); i++) {
        in_directory = in_directory || is_under(path, str_from_c(directories[i]));
    }
    return in_directory || str_eq(path, STR("config.yaml"));
}

/* Sets `out` if `root` is the directory of a site and `below` is the path of a document in it. */
static bool is_part(Arena *arena, Str root, Str below, SitePart *out)
{
    const char *directory = arena_copy_c(arena, root);
    const char *own = arena_copy_c(arena, arena_join(arena, root, STR("/"), STR("modules")));
    if (!is_document_path(below) || !(site_check_is_site(directory) || file_is_directory(own))) {
        return false;
    }
    *out = (SitePart){ directory, below };
    return true;
}

/* Also works if the working directory is inside the site: base.yaml in jobs/ is jobs/base.yaml of
 * "..". */
static bool find_above(Arena *arena, Str path, SitePart *out)
{
    enum {
        LEVELS_MAX = 16
    };
    Str here = file_absolute(arena, "."), root = STR("..");
    if (str_starts(path, STR("/"))) {
        return false;
    }
    path = str_starts(path, STR("./")) ? str_from_offset(path, 2) : path;
    for (int i = 0; i < LEVELS_MAX; i++) {
        size_t slash = str_find_last(here, STR("/"));
        if (slash == STR_NOT_FOUND || slash + 1 == here.len) {
            return false;
        }
        path = arena_format(arena, "%" STR_FMT "/%" STR_FMT,
                            STR_ARG(str_from_offset(here, slash + 1)), STR_ARG(path));
        if (is_part(arena, root, path, out)) {
            return true;
        }
        here = str_slice(here, 0, slash);
        root = arena_join(arena, root, STR("/"), STR(".."));
    }
    return false;
}

bool site_check_find(Arena *arena, const char *path, SitePart *out)
{
    Str text = str_from_c(path);
    for (size_t end = text.len; end > 0;) {
        size_t slash = str_find_last(str_slice(text, 0, end), STR("/"));
        Str root = slash == STR_NOT_FOUND ? STR(".")
                   : slash == 0           ? STR("/")
                                          : str_slice(text, 0, slash);
        Str below = slash == STR_NOT_FOUND ? text : str_from_offset(text, slash + 1);
        if (is_part(arena, root, below, out)) {
            return true;
        }
        end = slash == STR_NOT_FOUND ? 0 : slash;
    }
    return find_above(arena, text, out);
}

static bool open_site(Inputs *inputs, const char *path, const char *trust, OpenSite *out)
{
    Error err;
    if (!site_files_open(inputs->arena, path, &out->files, &out->file, &err)) {
        inputs_add_file_error(inputs, &err);
        return false;
    }
    TemplateSettings settings = dynamic_template_settings();
    settings.load = site_files_load_template;
    settings.load_context = out->files;
    out->templates = templates_new(&settings);
    SiteReader reader = site_files_reader(out->files);
    extensions_load(inputs->arena, &reader, trust, true, modules, &out->extensions);
    out->load = (SiteLoad){ .arena = inputs->arena,
                            .sources = &inputs->sources,
                            .templates = out->templates,
                            .modules = out->extensions.table,
                            .reader = reader,
                            .facts = fact_names(inputs->arena),
                            .lint = true,
                            .problems = &inputs->problems };
    return true;
}

static void close_site(Inputs *inputs, OpenSite *opened)
{
    extensions_warn(&opened->extensions, &inputs->problems);
    extensions_close(&opened->extensions);
    templates_free(opened->templates);
}

/* Without a node it is unknown which jobs are combined, so a name that is used in several jobs is
 * not an error. A reference that no job resolves is an error on every node. So is a cycle: on nodes
 * that do not have all of its jobs, it is an unresolved reference. */
static bool is_certain_without_node(const Problem *problem)
{
    return !str_eq(problem->code, STR("E0402"));
}

static void check_references(Inputs *inputs, const Steps *steps, bool is_one_job_set)
{
    Problems found;
    problems_init(&found, inputs->arena);
    Graph *graph;
    if (steps->is_invalid) {
        graph_problems(inputs->arena, steps, &inputs->sources, &found);
    } else {
        (void)!graph_build(inputs->arena, steps, &inputs->sources, &graph, &found);
    }
    for (uint32_t i = 0; i < found.count; i++) {
        if (is_one_job_set || is_certain_without_node(&found.items[i])) {
            problems_add_copy(&inputs->problems, &found.items[i]);
        }
    }
}

/* Whether the expression can be evaluated without a node, because it uses no variable except
 * `item`. */
static bool uses_only_item(const Dynamic *dynamic)
{
    const TemplateUses *uses = dynamic->template == NULL ? NULL : template_uses(dynamic->template);
    for (uint32_t i = 0; uses != NULL && i < uses->count; i++) {
        if (!uses->items[i].own && !str_eq(uses->items[i].name, STR("item"))) {
            return false;
        }
    }
    for (uint32_t i = 0; i < dynamic_child_count(dynamic); i++) {
        if (!uses_only_item(&dynamic->children[i])) {
            return false;
        }
    }
    return true;
}

typedef struct ItemScope {
    Rendered rendered;
    const Sources *sources;
} ItemScope;

/* Evaluates the IDs of forEach instances. Failures are reported only when the node is known. */
static DynamicOutcome evaluate_item(void *context, const Dynamic *dynamic, Value item, Arena *arena,
                                    Value *out, Problems *problems)
{
    ItemScope *items = context;
    Problems ignored;
    problems_init(&ignored, arena);
    if (value_is_missing(item) || !uses_only_item(dynamic)) {
        return DYNAMIC_UNKNOWN;
    }
    Map *scope = map_new(arena, 1);
    map_set_str(arena, scope, STR("item"), item);
    DynamicOutcome outcome = dynamic_evaluate(dynamic, value_map(scope), items->sources,
                                              &items->rendered, arena, out, &ignored);
    return outcome == DYNAMIC_OK ? DYNAMIC_OK : DYNAMIC_UNKNOWN;
}

static void expand(const Inputs *inputs, Site *site, bool is_partial, Steps *out)
{
    TemplateSettings settings = dynamic_template_settings();
    ItemScope items = { rendered_make(&settings.limits), &inputs->sources };
    Expansion expansion = { .evaluate_early = evaluate_item,
                            .context = &items,
                            .ignore_includes = is_partial };
    (void)!site_expand(site, &expansion, out);
    rendered_clear(&items.rendered);
}

void site_check(Inputs *inputs, const char *path, const char *trust)
{
    OpenSite opened;
    if (!open_site(inputs, path, trust, &opened)) {
        return;
    }
    Site *site;
    Steps steps;
    (void)!site_load(&opened.load, &site);
    (void)!site_check_all(site);
    expand(inputs, site, false, &steps);
    check_references(inputs, &steps, false);
    close_site(inputs, &opened);
}

void site_check_part(Inputs *inputs, const SitePart *part, const char *trust)
{
    OpenSite opened;
    if (!open_site(inputs, part->root, trust, &opened)) {
        return;
    }
    Site *site;
    Steps steps;
    (void)!site_check_document(&opened.load, part->path, &site);
    bool job = is_under(part->path, STR("jobs")) && !str_eq(part->path, STR("jobs/base.yaml"));
    if (job) {
        expand(inputs, site, true, &steps);
    }
    close_site(inputs, &opened);
}

bool site_check_is_steps(const char *path)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    Sources sources;
    sources_init(&sources, &scratch);
    Problems ignored;
    problems_init(&ignored, &scratch);
    Str text;
    Error err;
    Str name = str_from_c(path);
    if (strcmp(path, "-") == 0 || !(str_ends(name, STR(".yaml")) || str_ends(name, STR(".yml"))) ||
        !file_read(&scratch, path, SITE_FILE_MAX, &text, &err)) {
        return false;
    }
    uint16_t source = sources_add(&sources, str_from_c(path), text);
    Value root;
    if (!yaml_load(&scratch, &sources, source, NULL, &root, &ignored)) {
        return str_starts(text, STR("steps:")) ||
               str_find(text, STR("\nsteps:"), 0) != STR_NOT_FOUND;
    }
    const Value *spec = value_get(root, STR("spec"));
    return value_get(root, STR("steps")) != NULL ||
           (spec != NULL && value_get(*spec, STR("steps")) != NULL);
}

void site_check_steps(Inputs *inputs, const char *path, const char *trust)
{
    OpenSite opened;
    if (!open_site(inputs, path, trust, &opened)) {
        return;
    }
    bool part = is_part_of_site(path);
    if (part) {
        opened.load.reader.exists = NULL;
        opened.load.reader.list = NULL;
    }
    Site *site;
    Steps steps;
    (void)!site_load_file(&opened.load, opened.file, &site);
    expand(inputs, site, part, &steps);
    (void)!site_check_names(site);
    if (!part) {
        check_references(inputs, &steps, true);
    }
    close_site(inputs, &opened);
}
