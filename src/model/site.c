#include "model/site.h"

#include "base/str_map.h"
#include "model/document_location.h"
#include "model/parse.h"

struct Site {
    Str name; /* from config.yaml; empty: not set */
    SiteLoad load;
    SiteEntries variables, macros, jobs, triggers;
    StrMap files;    /* name to JobFile, NULL if it could not be read */
    const Str *only; /* the job of a site that is a single file; NULL: a directory */
    bool failed;     /* there was a problem anywhere in it */
    NameUses uses;
};

Str site_name(const Site *site)
{
    return site->name;
}

const SiteLoad *site_load_settings(const Site *site)
{
    return &site->load;
}

const SiteEntries *site_variables(const Site *site)
{
    return &site->variables;
}

const SiteEntries *site_macros(const Site *site)
{
    return &site->macros;
}

const SiteEntries *site_jobs(const Site *site)
{
    return &site->jobs;
}

bool site_failed(const Site *site)
{
    return site->failed;
}

static Site *site_new(const SiteLoad *load)
{
    Site *site = ARENA_NEW(load->arena, Site);
    site->load = *load;
    site->load.name_uses = &site->uses;
    str_map_init(&site->files, load->arena);
    return site;
}

/* "nested/web" for jobs/nested/web.yaml. */
static Str document_name(Str path, Str directory)
{
    return str_slice(path, directory.len + 1, path.len - strlen(".yaml"));
}

/* Any job of the site, for an example. */
static Str first_job_name(const SiteLoad *load)
{
    List *paths = list_new(load->arena, 16);
    if (load->reader.list != NULL) {
        load->reader.list(load->reader.context, STR("jobs"), load->arena, paths);
    }
    for (uint32_t i = 0; i < paths->len; i++) {
        if (str_ends(value_str(paths->items[i]), STR(".yaml"))) {
            return document_name(value_str(paths->items[i]), STR("jobs"));
        }
    }
    return STR("NAME");
}

static void report_no_jobs(const SiteLoad *load)
{
    Problem *problem = document_report_missing(load, STR("jobs/base.yaml"), value_missing());
    Arena *arena = load->problems->arena;
    problem->hint = STR("every site has this file, which assigns jobs to nodes:");
    Str name = arena_format(arena, "        - name: %" STR_FMT, STR_ARG(first_job_name(load)));
    const Str lines[] = { STR("    jobs:"), STR("      '*':"), name };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        problem_add_note(arena, problem, lines[i], STR_EMPTY, 0);
    }
}

static bool base_load(Site *site, EntryKind kind, const char *path, const char *key,
                      SiteEntries *out)
{
    Value document;
    bool missing;
    bool ok = document_read(&site->load, str_from_c(path), DOCUMENT_DEFINED_KEYS, value_missing(),
                            &missing, &document);
    if (value_is_missing(document)) {
        return false;
    }
    if (missing && kind == ENTRY_JOBS) {
        report_no_jobs(&site->load);
        return false;
    }
    Field fields[] = { { key, FIELD_ANY }, { 0 } };
    Value input[1];
    FieldSet set = { .what = path, .fields = fields };
    ok = fields_read_all(&site->load, &set, document, input) && ok;
    return site_entries_parse(&site->load, kind, input[0], out) && ok;
}

/* Loads config.yaml and the base files, or only the one at `only`. */
static bool bases_load(Site *site, const Str *only)
{
    const struct {
        const char *path, *key;
        EntryKind kind;
        SiteEntries *out;
    } bases[] = {
        { "variables/base.yaml", "files", ENTRY_VARIABLES, &site->variables },
        { "macros/base.yaml", "macros", ENTRY_MACROS, &site->macros },
        { "jobs/base.yaml", "jobs", ENTRY_JOBS, &site->jobs },
    };
    bool ok = true, missing;
    Value config;
    if (only == NULL || str_eq(*only, STR("config.yaml"))) {
        ok = document_read(&site->load, STR("config.yaml"), DOCUMENT_DEFINED_KEYS, value_missing(),
                           &missing, &config);
        ok = !value_is_missing(config) &&
             config_check(&site->load, config, &site->name, &site->triggers) && ok;
    }
    for (size_t i = 0; i < COUNT_OF(bases); i++) {
        if (only == NULL || str_eq_c(*only, bases[i].path)) {
            ok = base_load(site, bases[i].kind, bases[i].path, bases[i].key, bases[i].out) && ok;
        }
    }
    site->failed = site->failed || !ok;
    return ok;
}

bool site_load(const SiteLoad *input, Site **out)
{
    Site *site = *out = site_new(input);
    return bases_load(site, NULL);
}

static Str file_stem(Str path)
{
    size_t slash = str_find_last(path, STR("/"));
    Str name = slash == STR_NOT_FOUND ? path : str_from_offset(path, slash + 1);
    size_t dot = str_find_last(name, STR("."));
    return dot == STR_NOT_FOUND || dot == 0 ? name : str_slice(name, 0, dot);
}

bool site_load_file(const SiteLoad *input, Str path, Site **out)
{
    Site *site = *out = site_new(input);
    const SiteLoad *load = &site->load;
    Str *name = ARENA_NEW(load->arena, Str);
    *name = file_stem(path);
    site->only = name;
    Value document;
    JobFile *file = ARENA_NEW(load->arena, JobFile);
    SiteLoad single = *load; /* files next to a single file are ignored */
    single.reader.exists = NULL;
    site->failed =
        !document_read(&single, path, DOCUMENT_DEFINED_KEYS, value_missing(), NULL, &document);
    bool is_partial = site->failed && value_is_missing(document) &&
                      document_read_valid_items(&single, path, DOCUMENT_DEFINED_KEYS, &document);
    site->failed = value_is_missing(document) ||
                   !job_file_parse(load, *name, path, document, file) || site->failed;
    file->is_unreadable = file->is_unreadable || is_partial;
    str_map_put(&site->files, *name, file);
    return !site->failed;
}

const Str *site_only_job(const Site *site)
{
    return site->only;
}

JobFile *site_job_file(Site *site, Str name, Value reference)
{
    if (str_map_has(&site->files, name)) {
        return str_map_find(&site->files, name);
    }
    const SiteLoad *load = &site->load;
    Str path = arena_format(load->arena, "jobs/%" STR_FMT ".yaml", STR_ARG(name));
    Value document;
    JobFile *file = NULL;
    bool ok = document_read(load, path, DOCUMENT_DEFINED_KEYS, reference, NULL, &document);
    site->failed = site->failed || !ok;
    bool is_partial = !ok && value_is_missing(document) &&
                      document_read_valid_items(load, path, DOCUMENT_DEFINED_KEYS, &document);
    if (!value_is_missing(document)) {
        file = ARENA_NEW(load->arena, JobFile);
        site->failed = !job_file_parse(load, name, path, document, file) || site->failed;
        file->is_unreadable = file->is_unreadable || is_partial;
    }
    str_map_put(&site->files, name, file);
    return file;
}

bool site_read(Site *site, Str path, Value reference, Value *out)
{
    bool ok = document_read(&site->load, path, DOCUMENT_ANY_KEYS, reference, NULL, out);
    site->failed = site->failed || !ok;
    return ok;
}

/* --- Checking everything -------------------------------------------------------------------- */

/* Compiles the templates; their values do not matter here. */
static bool check_variables(const SiteLoad *load, Value document)
{
    static const SiteNames names = { .context_name = "variables" };
    SiteLoad inner = site_load_with_names(load, &names);
    if (document.kind != VALUE_MAP && document.kind != VALUE_NULL) {
        site_problem(load, "E0303", document, "variables must be a map with names as keys, not %s",
                     site_kind_name(document));
        return false;
    }
    Dynamic compiled;
    return site_compile(&inner, document, &compiled);
}

static const struct SiteDirectory {
    const char *name;
    DocumentKind kind;
    bool (*check)(const SiteLoad *load, Value document);
    bool has_base; /* its base.yaml has another format, and is checked with the site */
} site_directories[] = {
    { "variables", DOCUMENT_ANY_KEYS, check_variables, .has_base = true },
    { "macros", DOCUMENT_ANY_KEYS, macros_check, .has_base = true },
    { "events", DOCUMENT_ANY_KEYS, triggers_check },
    { "reactions", DOCUMENT_DEFINED_KEYS, reactions_check },
};

static void check_in_directory(Site *site, const struct SiteDirectory *directory, Str path)
{
    Value document;
    bool ok = document_read(&site->load, path, directory->kind, value_missing(), NULL, &document);
    ok = !value_is_missing(document) && directory->check(&site->load, document) && ok;
    site->failed = site->failed || !ok;
}

/* Returns true if the file does not have the extension ".yaml", and so is never read. */
static bool has_wrong_extension(const SiteLoad *load, Str path)
{
    if (str_ends(path, STR(".yml"))) {
        Problem *problem = document_problem(
            load->problems, load->sources, SEVERITY_WARNING, "E0301", value_missing(),
            "'%" STR_FMT "' is ignored: file names in a site must end with "
            "'.yaml'",
            STR_ARG(path));
        problem->hint = STR("rename it");
    }
    return !str_ends(path, STR(".yaml"));
}

static void check_directory(Site *site, const struct SiteDirectory *directory)
{
    const SiteLoad *load = &site->load;
    Str name = str_from_c(directory->name);
    List *paths = list_new(load->arena, 16);
    load->reader.list(load->reader.context, name, load->arena, paths);
    for (uint32_t i = 0; i < paths->len; i++) {
        Str path = value_str(paths->items[i]);
        bool is_base = directory->has_base && str_eq(document_name(path, name), STR("base"));
        if (!has_wrong_extension(load, path) && !is_base) {
            check_in_directory(site, directory, path);
        }
    }
}

static void collect_context(const StepSpec *spec, FileNames *out)
{
    int param = action_param_index(spec->action, STR("context"));
    if (param < 0 || (spec->params_set >> param & 1) == 0) {
        return;
    }
    Value context = spec->params[param]->value;
    out->passed_known = out->passed_known && context.kind == VALUE_MAP;
    for (uint32_t k = 0; context.kind == VALUE_MAP && k < context.map->len; k++) {
        Value key = context.map->entries[k].key;
        str_map_put(&out->passed, value_is_string(key) ? value_str(key) : STR_EMPTY, NULL);
    }
}

/* Adds a template and those that it includes. */
static void collect_template(const SiteLoad *load, Str name, FileNames *out)
{
    const Template *template;
    Fault fault;
    if (!str_map_put(&out->reachable, name, NULL) ||
        !templates_get(load->templates, name, &template, &fault)) {
        return;
    }
    const TemplateUses *uses = template_uses(template);
    for (uint32_t i = 0; i < uses->link_count; i++) {
        collect_template(load, uses->links[i].name, out);
    }
}

/* The templates that steps use, and the names that they pass to them. */
static void collect_templates(Site *site, FileNames *out)
{
    uint32_t pos = 0;
    for (StrMapEntry *entry; (entry = str_map_next(&site->files, &pos)) != NULL;) {
        const JobFile *file = entry->value;
        for (uint32_t i = 0; file != NULL && i < file->job.step_count; i++) {
            const StepSpec *spec = &file->job.steps[i];
            for (uint32_t k = 0; spec->action != NULL && spec->action->params[k].name != NULL;
                 k++) {
                if ((spec->params_set >> k & 1) != 0 &&
                    spec->action->params[k].kind == PARAM_SITE_TEMPLATE &&
                    spec->params[k]->template == NULL && value_is_string(spec->params[k]->value)) {
                    collect_template(&site->load, value_str(spec->params[k]->value), out);
                }
            }
            if (spec->action != NULL) {
                collect_context(spec, out);
            }
        }
    }
}

static void collect_assigned(const SiteLoad *load, const List *paths, FileNames *out)
{
    for (uint32_t i = 0; i < paths->len; i++) {
        Str name = str_from_offset(value_str(paths->items[i]), strlen("templates/"));
        const Template *template;
        Fault fault;
        if (templates_get(load->templates, name, &template, &fault)) {
            const TemplateUses *uses = template_uses(template);
            for (uint32_t k = 0; k < uses->assigned_count; k++) {
                str_map_put(&out->assigned, uses->assigned[k], NULL);
            }
        }
    }
}

/* The names of all steps, with and without the names of their jobs. Returns false if a job cannot
 * be read. */
static bool collect_steps(Site *site, StrMap *out)
{
    uint32_t pos = 0;
    bool known = true;
    for (StrMapEntry *entry; (entry = str_map_next(&site->files, &pos)) != NULL;) {
        const JobFile *file = entry->value;
        known = known && file != NULL && !file->is_unreadable;
        for (uint32_t i = 0; file != NULL && i < file->job.step_count; i++) {
            Str name = file->job.steps[i].name;
            str_map_put(out, name, NULL);
            str_map_put(out,
                        arena_format(site->load.arena, "%" STR_FMT "#%" STR_FMT,
                                     STR_ARG(entry->key), STR_ARG(name)),
                        NULL);
        }
    }
    return known;
}

/* `known` is a site with all jobs. */
static void collect_file_names(Site *known, const List *paths, FileNames *out)
{
    Arena *arena = known->load.arena;
    *out = (FileNames){ .passed_known = true };
    str_map_init(&out->passed, arena);
    str_map_init(&out->assigned, arena);
    str_map_init(&out->steps, arena);
    str_map_init(&out->reachable, arena);
    out->steps_known = collect_steps(known, &out->steps);
    collect_templates(known, out);
    collect_assigned(&known->load, paths, out);
}

/* Reports names in a template that cannot exist, macros and steps that do not exist, and
 * templates. */
static bool check_template_names(Site *site, Str name, const FileNames *file_names)
{
    static const SiteNames names = { .steps = true, .step = true, .item = true };
    const SiteLoad *load = &site->load;
    const Template *template;
    Fault fault;
    NamesCheck check = { .arena = load->arena,
                         .sources = load->sources,
                         .problems = load->problems,
                         .names = &names,
                         .facts = load->facts,
                         .root = load->reader.root,
                         .open = load->name_uses };
    if (!templates_get(load->templates, name, &template, &fault)) {
        return true;
    }
    bool ok = document_check_links(load, template, value_null());
    return (!file_names->passed_known || names_check_file(&check, template, file_names)) && ok;
}

static List *list_templates(const SiteLoad *load)
{
    List *paths = list_new(load->arena, 16);
    if (load->reader.list != NULL) {
        load->reader.list(load->reader.context, STR("templates"), load->arena, paths);
    }
    return paths;
}

static void check_templates(Site *site)
{
    const SiteLoad *load = &site->load;
    const List *paths = list_templates(load);
    FileNames names;
    collect_file_names(site, paths, &names);
    for (uint32_t i = 0; i < paths->len; i++) {
        Str name = str_from_offset(value_str(paths->items[i]), strlen("templates/"));
        site->failed = !document_check_template(load, name) || site->failed;
        site->failed = !check_template_names(site, name, &names) || site->failed;
    }
}

static void check_jobs(Site *site)
{
    const SiteLoad *load = &site->load;
    List *paths = list_new(load->arena, 16);
    load->reader.list(load->reader.context, STR("jobs"), load->arena, paths);
    for (uint32_t i = 0; i < paths->len; i++) {
        Str path = value_str(paths->items[i]);
        if (!has_wrong_extension(load, path) && !str_eq(path, STR("jobs/base.yaml"))) {
            (void)site_job_file(site, document_name(path, STR("jobs")), value_missing());
        }
    }
}

/* Checks jobs in files that no base file refers to. */
static void check_references(Site *site)
{
    uint32_t pos = 0;
    for (StrMapEntry *entry; (entry = str_map_next(&site->files, &pos)) != NULL;) {
        const JobFile *file = entry->value;
        for (uint32_t i = 0; file != NULL && i < file->job.include_count; i++) {
            (void)site_job_file(site, file->job.includes[i].name, file->job.includes[i].location);
        }
        for (uint32_t i = 0; file != NULL && i < file->entries.count; i++) {
            (void)site_job_file(site, file->entries.items[i].name, file->entries.items[i].location);
        }
    }
}

/* Checks that every name in the base files has its file. */
static void check_entries(Site *site)
{
    bool ok = site_entries_exist(&site->load, &site->variables, "variables");
    ok = site_entries_exist(&site->load, &site->macros, "macros") && ok;
    ok = site_entries_exist(&site->load, &site->triggers, "events") && ok;
    site->failed = site->failed || !ok;
}

bool site_check_all(Site *site)
{
    for (uint32_t i = 0; i < site->jobs.count; i++) {
        (void)site_job_file(site, site->jobs.items[i].name, site->jobs.items[i].location);
    }
    if (site->load.reader.list != NULL && site->only == NULL) {
        for (size_t i = 0; i < COUNT_OF(site_directories); i++) {
            check_directory(site, &site_directories[i]);
        }
        check_jobs(site);
        check_templates(site);
    }
    check_references(site);
    check_entries(site);
    return site_check_names(site) && !site->failed;
}

/* --- Names ----------------------------------------------------------------------------------- */

/* The keys of all documents under a directory, for any node. Returns false if one cannot be read,
 * which is reported elsewhere: then nothing is known about its keys. */
static bool collect_keys(const SiteLoad *load, const char *directory, StrMap *out)
{
    Sources sources;
    Problems ignored;
    sources_init(&sources, load->arena);
    problems_init(&ignored, load->arena);
    SiteLoad silent = *load;
    silent.sources = &sources;
    silent.problems = &ignored;
    silent.lint = false;
    Str name = str_from_c(directory);
    List *paths = list_new(load->arena, 16);
    load->reader.list(load->reader.context, name, load->arena, paths);
    bool ok = true;
    for (uint32_t i = 0; i < paths->len; i++) {
        Str path = value_str(paths->items[i]);
        Value document;
        if (!str_ends(path, STR(".yaml")) || str_eq(document_name(path, name), STR("base"))) {
            continue;
        }
        ok =
            document_read(&silent, path, DOCUMENT_ANY_KEYS, value_missing(), NULL, &document) && ok;
        for (uint32_t k = 0; document.kind == VALUE_MAP && k < document.map->len; k++) {
            Value key = document.map->entries[k].key;
            if (value_is_string(key)) {
                str_map_put(out, value_str(key), NULL);
            }
        }
    }
    return ok;
}

/* The names that a template gets are in the jobs, whose own problems are not reported here. */
static void check_one_template(Site *site, Str name)
{
    Sources sources;
    Problems ignored;
    Site *whole;
    sources_init(&sources, site->load.arena);
    problems_init(&ignored, site->load.arena);
    SiteLoad silent = site->load;
    silent.sources = &sources;
    silent.problems = &ignored;
    silent.lint = false;
    (void)!site_load(&silent, &whole);
    if (silent.reader.list != NULL) {
        check_jobs(whole);
    }
    FileNames names;
    collect_file_names(whole, list_templates(&site->load), &names);
    site->failed = !document_check_template(&site->load, name) || site->failed;
    site->failed = !check_template_names(site, name, &names) || site->failed;
}

bool site_check_document(const SiteLoad *load, Str path, Site **out)
{
    Site *site = *out = site_new(load);
    size_t slash = str_find(path, STR("/"), 0);
    Str directory = str_slice(path, 0, slash);
    bool base = slash != STR_NOT_FOUND && str_eq(str_from_offset(path, slash), STR("/base.yaml"));
    if (slash == STR_NOT_FOUND || base) {
        (void)bases_load(site, &path);
        check_entries(site);
        site->failed = !site_entries_exist(&site->load, &site->jobs, "jobs") || site->failed;
    } else if (str_eq(directory, STR("jobs"))) {
        Str *name = ARENA_NEW(load->arena, Str);
        *name = document_name(path, directory);
        site->only = name;
        (void)site_job_file(site, *name, value_missing());
        check_references(site);
    } else if (str_eq(directory, STR("templates"))) {
        check_one_template(site, str_from_offset(path, slash + 1));
    }
    for (size_t i = 0; !base && i < COUNT_OF(site_directories); i++) {
        if (str_eq_c(directory, site_directories[i].name)) {
            check_in_directory(site, &site_directories[i], path);
        }
    }
    return site_check_names(site) && !site->failed;
}

bool site_check_names(Site *site)
{
    const SiteLoad *load = &site->load;
    StrMap macros, variables;
    str_map_init(&macros, load->arena);
    str_map_init(&variables, load->arena);
    bool read = false, macros_known = false, variables_known = false, ok = true;
    for (uint32_t i = 0; i < site->uses.len; i++) {
        const NameUse *use = &site->uses.items[i];
        if (use->macro && names_is_builtin_macro(load->modules, use->name)) {
            continue;
        }
        if (!read && load->reader.list != NULL) {
            macros_known = collect_keys(load, "macros", &macros);
            variables_known = collect_keys(load, "variables", &variables);
            uint32_t first = 0;
            variables_known = variables_known && str_map_next(&variables, &first) != NULL;
        }
        read = true;
        if (use->macro && (!macros_known || str_map_has(&macros, use->name))) {
            continue;
        }
        /* A run evaluates variables, and knows all of them. */
        if (use->variable &&
            (!load->lint || !variables_known || str_map_has(&variables, use->name))) {
            continue;
        }
        NamesCheck check = { .arena = load->arena,
                             .sources = load->sources,
                             .problems = load->problems,
                             .root = load->reader.root };
        names_report(&check, use, load->modules, &macros, &variables);
        ok = ok && use->variable;
    }
    site->uses.len = 0;
    site->failed = site->failed || !ok;
    return ok;
}
