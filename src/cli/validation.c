#include "cli/validation.h"

#include "cli/site_check.h"
#include "cli/template_inputs.h"
#include "model/document_location.h"
#include "model/foreign.h"
#include "source/manifest.h"
#include "sys/file.h"

enum {
    READ_MAX = 60000 /* maximum number of files that are parsed */
};

/* File types by suffix. Salt states are templates that render to YAML, so they are treated as
 * templates. */
static const struct FileKind {
    const char *suffix;
    bool template;
} kinds[] = {
    { ".yaml", false }, { ".yml", false },   { ".json", false }, { ".j2", true },
    { ".jinja", true }, { ".jinja2", true }, { ".sls", true },
};

static const struct FileKind *kind_of(Str path)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (str_ends(path, str_from_c(kinds[i].suffix))) {
            return &kinds[i];
        }
    }
    return NULL;
}

static void check_template(Inputs *inputs, const char *path)
{
    TemplateSettings settings = template_settings_default();
    uint16_t id = inputs_read(inputs, path, settings.limits.source);
    if (id == SOURCE_NONE) {
        return;
    }
    const Source *source = sources_get(&inputs->sources, id);
    AUTO(Templates) *templates = templates_new(&settings);
    const Template *template;
    Fault fault;
    if (!templates_compile(templates, source->name, source->text, &template, &fault)) {
        inputs_add_fault(inputs, &fault, source->name, NULL);
    }
}

/* File types of other tools, by suffix. */
static const struct ForeignFile {
    const char *suffix, *message, *hint;
} foreign_files[] = {
    { "/top.sls", "this is a Salt top file", "write which nodes get which jobs in jobs/base.yaml" },
    { ".sls", "this is a Salt state file",
      "write each state as '- name: ID' with its function, under 'steps:' in a .yaml file" },
    { ".pp", "this is a Puppet manifest",
      "run it unchanged with a step 'puppet.apply', or rewrite its resources as steps" },
};

static const struct ForeignFile *foreign_file(Str path)
{
    for (size_t i = 0; i < COUNT_OF(foreign_files); i++) {
        Str suffix = str_from_c(foreign_files[i].suffix);
        bool is_name = suffix.data[0] == '/' && str_eq(path, str_from_offset(suffix, 1));
        if (is_name || str_ends(path, suffix)) {
            return &foreign_files[i];
        }
    }
    return NULL;
}

static void report_foreign_file(Inputs *inputs, const char *path, const struct ForeignFile *file)
{
    Problem *problem =
        problems_add(&inputs->problems, "E0303", NULL, 0, 0, "%s, not an eden file", file->message);
    problem->file = str_from_c(path);
    problem->hint = str_from_c(file->hint);
}

/* A playbook that the user names explicitly is an error; in a directory it may be intended for
 * another tool. */
static bool report_foreign(Inputs *inputs, const List *documents, Severity severity)
{
    Value document = documents->len > 0 ? documents->items[0] : value_missing();
    Str instead = foreign_document(document);
    if (instead.len > 0) {
        Problem *problem = document_problem(&inputs->problems, &inputs->sources, severity, "E0303",
                                            document, "this is not an eden document");
        problem->hint = instead;
        problem->span = 1;
    }
    return instead.len > 0;
}

/* How the user selected a file. */
typedef enum PathOrigin {
    ORIGIN_FILE,
    ORIGIN_SITE,      /* through the directory of a site, where it may be a file that a step uses */
    ORIGIN_DIRECTORY, /* through any other directory */
} PathOrigin;

static void check_file(Validation *validation, const char *path, PathOrigin origin)
{
    bool is_named = origin == ORIGIN_FILE;
    const struct FileKind *kind = kind_of(str_from_c(path));
    List *documents;
    SitePart part;
    if (is_named && site_check_find(validation->inputs.arena, path, &part)) {
        site_check_part(&validation->inputs, &part, validation->trust);
    } else if (is_named && foreign_file(str_from_c(path)) != NULL) {
        report_foreign_file(&validation->inputs, path, foreign_file(str_from_c(path)));
        if (kind != NULL && kind->template) {
            check_template(&validation->inputs, path);
        }
    } else if (kind != NULL && kind->template) {
        check_template(&validation->inputs, path);
    } else if (site_check_is_steps(path)) {
        site_check_steps(&validation->inputs, path, validation->trust);
    } else {
        bool is_foreign = inputs_load_all(&validation->inputs, path, INPUT_STRICT, &documents) &&
                          origin != ORIGIN_SITE &&
                          report_foreign(&validation->inputs, documents,
                                         is_named ? SEVERITY_ERROR : SEVERITY_WARNING);
        validation->data_count += is_named && !is_foreign;
    }
    validation->count++;
}

static Str relative_path(const char *directory, Str path)
{
    size_t prefix_len = strlen(directory);
    while (prefix_len < path.len && path.data[prefix_len] == '/') {
        prefix_len++;
    }
    return str_from_offset(path, prefix_len);
}

void validation_check(Validation *validation, const char *path)
{
    static const char *const all[] = { "", NULL };
    if (!file_is_directory(path)) {
        check_file(validation, path, ORIGIN_FILE);
        return;
    }
    FileList files;
    Error err;
    if (!file_list(validation->inputs.arena, path, all, MANIFEST_FILES_MAX, &files, &err)) {
        inputs_add_file_error(&validation->inputs, &err);
        return;
    }
    bool is_site = site_check_is_site(path);
    if (is_site) {
        site_check(&validation->inputs, path, validation->trust);
    }
    uint32_t read_count = 0;
    for (uint32_t i = 0; i < files.count; i++) {
        if (kind_of(files.paths[i]) != NULL && ++read_count > READ_MAX) {
            error_set(&err, ERROR_LIMIT, "%s: more than %d YAML, JSON and template files", path,
                      READ_MAX);
            inputs_add_file_error(&validation->inputs, &err);
            return;
        }
        if (is_site && site_check_covers(relative_path(path, files.paths[i]))) {
            validation->count++;
        } else if (kind_of(files.paths[i]) != NULL) {
            check_file(validation, files.paths[i].data, is_site ? ORIGIN_SITE : ORIGIN_DIRECTORY);
        } else if (is_site && !site_check_expects(relative_path(path, files.paths[i]))) {
            continue; /* for example a README, or a file that is copied to nodes */
        } else if (validation->skipped_count++ < VALIDATION_SKIPPED_MAX) {
            validation->skipped[validation->skipped_count - 1] = files.paths[i];
        }
    }
}
