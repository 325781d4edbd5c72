#include "model/site.h"

#include "base/str_map.h"
#include "model/parse.h"
#include "model/site_jobs.h"

struct Site {
    SiteLoad load;
    SiteEntries variables, macros, jobs, triggers;
    StrMap files;    /* name -> JobFile, NULL when it could not be read */
    const Str *only; /* the one job of a site that is one file; NULL: a folder */
    bool failed;     /* something in it is wrong, whoever asked for it */
};

const SiteLoad *site_loaded_with(const Site *site)
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
    str_map_init(&site->files, load->arena);
    return site;
}

/* "nested/web" of jobs/nested/web.yaml. */
static Str name_below(Str path, Str folder)
{
    return str_slice(path, folder.len + 1, path.len - strlen(".yaml"));
}

/* Some job of the site, for an example. */
static Str any_job(const SiteLoad *load)
{
    List *paths = list_new(load->arena, 16);
    if (load->reader.list != NULL) {
        load->reader.list(load->reader.context, STR("jobs"), load->arena, paths);
    }
    for (uint32_t i = 0; i < paths->len; i++) {
        if (str_ends(value_str(paths->items[i]), STR(".yaml"))) {
            return name_below(value_str(paths->items[i]), STR("jobs"));
        }
    }
    return STR("NAME");
}

static void tell_no_jobs(const SiteLoad *load)
{
    Problem *problem = document_missing(load, STR("jobs/base.yaml"), value_missing());
    Arena *arena = load->problems->arena;
    problem->hint = STR("every site has this file; it says which nodes get which jobs:");
    Str name = arena_format(arena, "        - name: %" STR_FMT, STR_ARG(any_job(load)));
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
    if (!document_read(&site->load, str_from_c(path), DOCUMENT_KNOWN, value_missing(), &missing,
                       &document)) {
        return false;
    }
    if (missing && kind == ENTRY_JOBS) {
        tell_no_jobs(&site->load);
        return false;
    }
    Field fields[] = { { key, FIELD_ANY }, { 0 } };
    Value given[1];
    FieldSet set = { .what = "a base file", .fields = fields };
    return fields_read_all(&site->load, &set, document, given) &&
           site_entries_parse(&site->load, kind, given[0], out);
}

bool site_load(const SiteLoad *load, Site **out)
{
    Site *site = *out = site_new(load);
    Value config;
    bool missing;
    bool ok = document_read(load, STR("config.yaml"), DOCUMENT_KNOWN, value_missing(), &missing,
                            &config) &&
              config_check(load, config, &site->triggers);
    ok = base_load(site, ENTRY_VARIABLES, "variables/base.yaml", "files", &site->variables) && ok;
    ok = base_load(site, ENTRY_MACROS, "macros/base.yaml", "macros", &site->macros) && ok;
    ok = base_load(site, ENTRY_JOBS, "jobs/base.yaml", "jobs", &site->jobs) && ok;
    site->failed = !ok;
    return ok;
}

static Str name_of_file(Str path)
{
    size_t slash = str_find_last(path, STR("/"));
    Str name = slash == STR_NOT_FOUND ? path : str_from_offset(path, slash + 1);
    size_t dot = str_find_last(name, STR("."));
    return dot == STR_NOT_FOUND || dot == 0 ? name : str_slice(name, 0, dot);
}

bool site_load_file(const SiteLoad *load, Str path, Site **out)
{
    Site *site = *out = site_new(load);
    Str *name = ARENA_NEW(load->arena, Str);
    *name = name_of_file(path);
    site->only = name;
    Value document;
    JobFile *file = ARENA_NEW(load->arena, JobFile);
    site->failed = !document_read(load, path, DOCUMENT_KNOWN, value_missing(), NULL, &document) ||
                   !job_file_parse(load, *name, path, document, file);
    str_map_put(&site->files, *name, file);
    return !site->failed;
}

const Str *site_only_job(const Site *site)
{
    return site->only;
}

JobFile *site_job_file(Site *site, Str name, Value named_at)
{
    if (str_map_has(&site->files, name)) {
        return str_map_find(&site->files, name);
    }
    const SiteLoad *load = &site->load;
    Str path = arena_format(load->arena, "jobs/%" STR_FMT ".yaml", STR_ARG(name));
    Value document;
    JobFile *file = NULL;
    if (!document_read(load, path, DOCUMENT_KNOWN, named_at, NULL, &document)) {
        site->failed = true;
    } else {
        file = ARENA_NEW(load->arena, JobFile);
        site->failed = !job_file_parse(load, name, path, document, file) || site->failed;
    }
    str_map_put(&site->files, name, file);
    return file;
}

bool site_read(Site *site, Str path, Value named_at, Value *out)
{
    bool ok = document_read(&site->load, path, DOCUMENT_FREE, named_at, NULL, out);
    site->failed = site->failed || !ok;
    return ok;
}

/* --- All of it ------------------------------------------------------------------------------ */

/* Compiles what templates there are; their values are nobody's business here. */
static bool check_variables(const SiteLoad *load, Value document)
{
    if (document.kind != VALUE_MAP && document.kind != VALUE_NULL) {
        site_problem(load, "E0303", document, "variables must be a map of names, not %s",
                     site_kind_words(document));
        return false;
    }
    Dynamic compiled;
    return dynamic_compile(load->arena, load->templates, load->sources, document, &compiled,
                           load->problems);
}

static const struct Folder {
    const char *name;
    DocumentKind kind;
    bool (*check)(const SiteLoad *load, Value document);
} folders[] = {
    { "variables", DOCUMENT_FREE, check_variables },
    { "macros", DOCUMENT_FREE, macros_check },
    { "events", DOCUMENT_FREE, triggers_check },
    { "reactions", DOCUMENT_KNOWN, reactions_check },
};

static void check_folder(Site *site, const struct Folder *folder)
{
    const SiteLoad *load = &site->load;
    Str name = str_from_c(folder->name);
    List *paths = list_new(load->arena, 16);
    load->reader.list(load->reader.context, name, load->arena, paths);
    for (uint32_t i = 0; i < paths->len; i++) {
        Str path = value_str(paths->items[i]);
        Value document;
        if (!str_ends(path, STR(".yaml")) || str_eq(name_below(path, name), STR("base"))) {
            continue;
        }
        site->failed = !document_read(load, path, folder->kind, value_missing(), NULL, &document) ||
                       !folder->check(load, document) || site->failed;
    }
}

/* A name in a base file must have its file. */
static void check_named(Site *site, const SiteEntries *entries, const char *folder)
{
    const SiteLoad *load = &site->load;
    for (uint32_t i = 0; load->reader.exists != NULL && i < entries->count; i++) {
        const SiteEntry *entry = &entries->items[i];
        Str path = arena_format(load->arena, "%s/%" STR_FMT ".yaml", folder, STR_ARG(entry->name));
        if (entry->path_count == 0 && !load->reader.exists(load->reader.context, path)) {
            document_missing(load, path, entry->place);
            site->failed = true;
        }
    }
}

static void check_templates(Site *site)
{
    const SiteLoad *load = &site->load;
    List *paths = list_new(load->arena, 16);
    load->reader.list(load->reader.context, STR("templates"), load->arena, paths);
    for (uint32_t i = 0; i < paths->len; i++) {
        Str name = str_from_offset(value_str(paths->items[i]), strlen("templates/"));
        site->failed = !document_check_template(load, name) || site->failed;
    }
}

static void check_jobs(Site *site)
{
    const SiteLoad *load = &site->load;
    List *paths = list_new(load->arena, 16);
    load->reader.list(load->reader.context, STR("jobs"), load->arena, paths);
    for (uint32_t i = 0; i < paths->len; i++) {
        Str path = value_str(paths->items[i]);
        if (str_ends(path, STR(".yaml")) && !str_eq(path, STR("jobs/base.yaml"))) {
            (void)site_job_file(site, name_below(path, STR("jobs")), value_missing());
        }
    }
}

/* Jobs that are named by files which no base file leads to. */
static void check_references(Site *site)
{
    uint32_t at = 0;
    for (StrMapEntry *entry; (entry = str_map_next(&site->files, &at)) != NULL;) {
        const JobFile *file = entry->value;
        for (uint32_t i = 0; file != NULL && i < file->job.include_count; i++) {
            (void)site_job_file(site, file->job.includes[i].name, file->job.includes[i].place);
        }
        for (uint32_t i = 0; file != NULL && i < file->entries.count; i++) {
            (void)site_job_file(site, file->entries.items[i].name, file->entries.items[i].place);
        }
    }
}

bool site_check_all(Site *site)
{
    for (uint32_t i = 0; i < site->jobs.count; i++) {
        (void)site_job_file(site, site->jobs.items[i].name, site->jobs.items[i].place);
    }
    if (site->load.reader.list != NULL && site->only == NULL) {
        for (size_t i = 0; i < COUNT_OF(folders); i++) {
            check_folder(site, &folders[i]);
        }
        check_jobs(site);
        check_templates(site);
    }
    check_references(site);
    check_named(site, &site->variables, "variables");
    check_named(site, &site->macros, "macros");
    check_named(site, &site->triggers, "events");
    return !site->failed;
}
