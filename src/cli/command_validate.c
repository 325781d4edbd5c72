/* eden validate: checks sites, YAML, JSON and templates, and reports all problems of all files. */
#include "base/visible.h"
#include "cli/hide.h"
#include "cli/inputs.h"
#include "cli/site_check.h"
#include "cli/template_inputs.h"
#include "model/document_place.h"
#include "model/foreign.h"
#include "run/node_paths.h"
#include "sys/file.h"

enum {
    FILES_MAX = 60000,
    SKIPPED_SHOWN = 5
};

/* File type by suffix. Salt states are templates that render to YAML, so they are read as
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

/* Files that were checked, and those that were skipped in directories. */
typedef struct Checked {
    Inputs inputs;
    const char *trust; /* see site_check.h */
    uint32_t count;
    /* number of these that the user named and that are neither templates nor steps */
    uint32_t data_count;
    uint32_t skipped_count;
    Str skipped[SKIPPED_SHOWN];
} Checked;

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

/* Files of other tools, by suffix. */
static const struct ForeignFile {
    const char *suffix, *what, *instead;
} foreign_files[] = {
    { ".sls", "this is a Salt state file",
      "write each state as '- name: ID' with its function, below 'steps:' in a .yaml file" },
    { ".pp", "this is a Puppet manifest",
      "run it unchanged with a step 'puppet.apply', or rewrite its resources as steps" },
};

static const struct ForeignFile *foreign_file(Str path)
{
    for (size_t i = 0; i < COUNT_OF(foreign_files); i++) {
        if (str_ends(path, str_from_c(foreign_files[i].suffix))) {
            return &foreign_files[i];
        }
    }
    return NULL;
}

static void tell_foreign_file(Inputs *inputs, const char *path, const struct ForeignFile *file)
{
    Problem *problem =
        problems_add(&inputs->problems, "E0303", NULL, 0, 0, "%s, not a file of eden", file->what);
    problem->file = str_from_c(path);
    problem->hint = str_from_c(file->instead);
}

/* A playbook that the user names explicitly gets a hint; in a directory it may be intended for
 * another tool. */
static bool tell_foreign(Inputs *inputs, const List *documents)
{
    Value document = documents->len > 0 ? documents->items[0] : value_missing();
    Str instead = foreign_document(document);
    if (instead.len > 0) {
        Problem *problem = document_problem(&inputs->problems, &inputs->sources, SEVERITY_ERROR,
                                            "E0303", document, "this is not an eden document");
        problem->hint = instead;
        problem->span = 1;
    }
    return instead.len > 0;
}

static void check_file(Checked *checked, const char *path, bool named)
{
    const struct FileKind *kind = kind_of(str_from_c(path));
    List *documents;
    SitePart part;
    if (named && site_check_find(checked->inputs.arena, path, &part)) {
        site_check_part(&checked->inputs, &part, checked->trust);
    } else if (named && foreign_file(str_from_c(path)) != NULL) {
        tell_foreign_file(&checked->inputs, path, foreign_file(str_from_c(path)));
        if (kind != NULL && kind->template) {
            check_template(&checked->inputs, path);
        }
    } else if (kind != NULL && kind->template) {
        check_template(&checked->inputs, path);
    } else if (site_check_is_steps(path)) {
        site_check_steps(&checked->inputs, path, checked->trust);
    } else {
        bool foreign = inputs_load_all(&checked->inputs, path, INPUT_CHECKED, &documents) &&
                       named && tell_foreign(&checked->inputs, documents);
        checked->data_count += named && !foreign;
    }
    checked->count++;
}

static Str path_below(const char *folder, Str path)
{
    size_t lead = strlen(folder);
    while (lead < path.len && path.data[lead] == '/') {
        lead++;
    }
    return str_from_offset(path, lead);
}

static void check_path(Checked *checked, const char *path)
{
    static const char *const all[] = { "", NULL };
    if (!file_is_directory(path)) {
        check_file(checked, path, true);
        return;
    }
    FileList files;
    Error err;
    if (!file_list(checked->inputs.arena, path, all, FILES_MAX, &files, &err)) {
        inputs_add_file_error(&checked->inputs, &err);
        return;
    }
    bool site = site_check_is_site(path);
    if (site) {
        site_check(&checked->inputs, path, checked->trust);
    }
    for (uint32_t i = 0; i < files.count; i++) {
        if (site && site_check_covers(path_below(path, files.paths[i]))) {
            checked->count++;
        } else if (kind_of(files.paths[i]) != NULL) {
            check_file(checked, files.paths[i].data, false);
        } else if (site && !site_check_expects(path_below(path, files.paths[i]))) {
            continue; /* files for nodes, a README and the like: not ours to check */
        } else if (checked->skipped_count++ < SKIPPED_SHOWN) {
            checked->skipped[checked->skipped_count - 1] = files.paths[i];
        }
    }
}

static void tell_skipped(const Checked *checked, const Invocation *invocation)
{
    if (checked->skipped_count == 0 || !invocation_prints(invocation, "text")) {
        return;
    }
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put_format(&text, "skipped %u %s that are neither YAML, JSON nor templates by name:",
                   checked->skipped_count, checked->skipped_count == 1 ? "file" : "files");
    for (uint32_t i = 0; i < checked->skipped_count && i < SKIPPED_SHOWN; i++) {
        buf_put_c(&text, i == 0 ? " " : ", ");
        visible_put(&text, checked->skipped[i]);
    }
    buf_put_c(&text, checked->skipped_count > SKIPPED_SHOWN ? ", ...\n" : "\n");
    stream_put(invocation->err, buf_str(&text));
}

static int report_json(Checked *checked, const Invocation *invocation)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Problems *problems = &checked->inputs.problems;
    problems_sort(problems);
    hide_secrets(problems, &checked->inputs.sources);
    problems_print_json(problems, &text);
    stream_put(invocation->out, buf_str(&text));
    return problems->errors > 0 ? EXIT_FAILED : EXIT_OK;
}

static int validate_run(Invocation *invocation)
{
    Checked checked = { .trust = node_trust_path(invocation_text(invocation, "config-dir")) };
    inputs_init(&checked.inputs, invocation->arena);
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        check_path(&checked, invocation->args[i]);
    }
    int code = invocation_prints(invocation, "json") ? report_json(&checked, invocation)
                                                     : inputs_report(&checked.inputs, invocation);
    tell_skipped(&checked, invocation);
    if (code == EXIT_OK && checked.count == 0) {
        stream_put_format(invocation->err,
                          "eden validate: no YAML, JSON or template files found\n");
        return EXIT_NOT_MATCHED;
    }
    if (code == EXIT_OK && invocation_prints(invocation, "text")) {
        stream_put_format(invocation->out, "%u %s ok", checked.count,
                          checked.count == 1 ? "file" : "files");
        if (checked.data_count > 0) {
            stream_put_format(invocation->out, " (%u as data: without 'steps')",
                              checked.data_count);
        }
        stream_put_format(invocation->out, "\n");
    }
    return code;
}

static const Option options[] = {
    { .name = "config-dir",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "configuration directory with trusted-keys/ for modules; default: /etc/eden" },
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden validate site/", "every YAML, JSON and template file in a directory" },
    { "eden validate jobs/base.yaml -o json", "problems as JSON" },
    { 0 },
};

const Command command_validate = {
    .name = "validate",
    .group = GROUP_AUTHOR,
    .args = { { "PATH...", WORD_FILE } },
    .help = "Check files and report all problems.",
    .text =
        "A directory with jobs/base.yaml is a site: all of its documents are checked strictly,\n"
        "including every action, parameter, selector, name and reference, whether or not a node\n"
        "uses them. A single file of a site, such as site/jobs/base.yaml, is checked according to\n"
        "its location in the site, and a file of steps likewise. Modules of the site that this\n"
        "machine trusts are run to find out their actions; others are not run.\n"
        "\n"
        "Other directories are searched for YAML and JSON (.yaml, .yml, .json) and templates "
        "(.j2,\n"
        ".jinja, .jinja2, and .sls of Salt); hidden files are ignored, other files are reported "
        "as\n"
        "skipped. Templates are compiled, not rendered: syntax errors and unknown filters are\n"
        "found, undefined variables and missing includes are not. Hints about words and numbers\n"
        "that other YAML parsers interpret differently do not fail the check.",
    .options = options,
    .examples = examples,
    .run = validate_run,
};
