/* eden render: renders one template, or many with --batch. */
#include "cli/batch.h"
#include "cli/site_view.h"
#include "cli/template_inputs.h"
#include "lang/json.h"
#include "sys/file.h"

/* The directory to search for includes: --templates, or the directory of the template. */
static const char *template_root(const Invocation *invocation, const char *path)
{
    const char *option = invocation_text(invocation, "templates");
    if (option != NULL) {
        return option;
    }
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return ".";
    }
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    return arena_copy_c(invocation->arena, str_from(path, length));
}

static void print_json(const Invocation *invocation, const Rendered *rendered)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    buf_put(&out, STR("{\"output\":"));
    json_print_string(&out, buf_str(&rendered->text), NULL);
    buf_put(&out, STR(",\"secrets\":["));
    for (uint32_t i = 0; i < rendered->secret_count; i++) {
        buf_put_format(&out, "%s[%zu,%zu]", i == 0 ? "" : ",", rendered->secrets[i].start,
                       rendered->secrets[i].end);
    }
    buf_put(&out, STR("]}\n"));
    stream_put(invocation->out, buf_str(&out));
}

static void print_rendered(const Invocation *invocation, const Rendered *rendered)
{
    if (invocation_prints(invocation, "json")) {
        print_json(invocation, rendered);
    } else {
        stream_put(invocation->out, buf_str(&rendered->text));
    }
}

static int render_file(const Invocation *invocation, TemplateSettings *settings)
{
    const char *path = invocation->args[0];
    TemplateLoader loader;
    template_loader_attach(&loader, template_root(invocation, path), settings);
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    Value variables;
    bool loaded = inputs_variables(&inputs, invocation, &variables);
    uint16_t id = inputs_read(&inputs, path, settings->limits.source);
    if (!loaded || id == SOURCE_NONE) {
        return inputs_report(&inputs, invocation);
    }
    const Source *source = sources_get(&inputs.sources, id);
    AUTO(Templates) *templates = templates_new(settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings->limits);
    const Template *template;
    Fault fault;
    if (!templates_compile(templates, source->name, source->text, &template, &fault) ||
        !template_render(template, variables, &rendered, &fault)) {
        inputs_add_fault(&inputs, &fault, source->name, &loader);
        return inputs_report(&inputs, invocation);
    }
    print_rendered(invocation, &rendered);
    return inputs_report(&inputs, invocation); /* warnings about the variables */
}

/* Adds a hint if the path is relative to the site directory. */
static void add_template_hint(SiteView *view, Str path)
{
    Invocation *invocation = view->invocation;
    Problems *problems = &view->inputs.problems;
    Problem *problem = problems->count > 0 ? &problems->items[problems->count - 1] : NULL;
    const char *site = invocation_text(invocation, "site");
    Str directory = STR("templates/"), ignored;
    Str name = str_starts(path, directory) ? str_from_offset(path, directory.len) : path;
    Str site_path = arena_format(invocation->arena, "%s/%" STR_FMT, site, STR_ARG(path));
    if (problem == NULL) {
        return;
    }
    if (name.len < path.len &&
        site_files_load_template(view->files, name, invocation->arena, &ignored)) {
        problem->hint = arena_format(invocation->arena,
                                     "templates of a site are named relative to templates/: write "
                                     "'%" STR_FMT "'",
                                     STR_ARG(name));
    } else if (file_exists(arena_copy_c(invocation->arena, site_path))) {
        problem->hint = arena_format(invocation->arena, "write '%" STR_FMT "'", STR_ARG(site_path));
    }
}

/* Renders a template as it would be rendered on a node of the site. `path` is relative to the
 * site's templates/, or the path of any file. */
static bool render_template(SiteView *view, const char *path, Rendered *rendered)
{
    const Invocation *invocation = view->invocation;
    Inputs *inputs = &view->inputs;
    Str name = str_from_c(path), ignored;
    Str site_path =
        arena_format(invocation->arena, "%s/templates/", invocation_text(invocation, "site"));
    name = str_starts(name, site_path) ? str_from_offset(name, site_path.len) : name;
    if (site_files_load_template(view->files, name, invocation->arena, &ignored)) {
        return scope_render_standalone(view->scope, name, NULL, rendered, &inputs->problems);
    }
    uint16_t id = inputs_read(inputs, path, SITE_FILE_MAX);
    if (id == SOURCE_NONE) {
        add_template_hint(view, str_from_c(path));
        return false;
    }
    const Source *source = sources_get(&inputs->sources, id);
    return scope_render_standalone(view->scope, source->name, &source->text, rendered,
                                   &inputs->problems);
}

static int render_for_node(Invocation *invocation, const char *site)
{
    static const char *const conflicting[] = { "templates", "trim-blocks", "lstrip-blocks",
                                               "chomp",     "batch",       "autoescape" };
    for (size_t i = 0; i < COUNT_OF(conflicting); i++) {
        if (invocation_flag(invocation, conflicting[i])) {
            return usage_error(
                invocation, "--%s cannot be used with --site, which defines how templates are read",
                conflicting[i]);
        }
    }
    if (invocation->arg_count == 0) {
        return usage_error(invocation, "FILE is required");
    }
    if (!inputs_check_defines(invocation)) {
        return EXIT_USAGE;
    }
    SiteView view;
    TemplateLimits limits = dynamic_template_settings().limits;
    AUTO_CLEAR(Rendered) rendered = rendered_make(&limits);
    if (site_view_open(&view, invocation, site) &&
        render_template(&view, invocation->args[0], &rendered)) {
        print_rendered(invocation, &rendered);
    }
    int code = site_view_report(&view);
    site_view_clear(&view);
    return code;
}

static int render_run(Invocation *invocation)
{
    const char *site = invocation_text(invocation, "site");
    if (site != NULL) {
        return render_for_node(invocation, site);
    }
    if (invocation_flag(invocation, "node") || invocation_flag(invocation, "label")) {
        return usage_error(invocation, "--node and --label require --site");
    }
    TemplateSettings settings;
    int usage = template_settings_get(invocation, &settings);
    if (usage != EXIT_OK) {
        return usage;
    }
    settings.syntax.trim_blocks = invocation_flag(invocation, "trim-blocks");
    settings.syntax.lstrip_blocks = invocation_flag(invocation, "lstrip-blocks");
    if (invocation_flag(invocation, "batch")) {
        return batch_run(invocation, &settings, BATCH_TEMPLATES);
    }
    if (invocation->arg_count == 0) {
        return usage_error(invocation, "FILE is required");
    }
    settings.syntax.keep_trailing_newline = !invocation_flag(invocation, "chomp");
    return render_file(invocation, &settings);
}

static const Option options[] = {
    VARIABLE_OPTIONS,
    { .name = "site",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "site that FILE belongs to" },
    SITE_WORLD_OPTIONS,
    { .name = "templates",
      .letter = 't',
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help =
          "directory to search for include, import and extends; default: the directory of FILE" },
    LIMIT_OPTIONS,
    { .name = "trim-blocks", .help = "remove the newline after a block tag, as Ansible does" },
    { .name = "lstrip-blocks",
      .help = "strip whitespace before a block tag at the start of a line" },
    { .name = "chomp", .help = "remove the newline at the end of the template, as Jinja2 does" },
    { .name = "batch", .help = "read JSON lines {template, options, context} from standard input" },
    OUTPUT_OPTION("text|json", "text", "output format; json includes the byte ranges of secrets"),
    { 0 },
};

static const Example examples[] = {
    { "eden render motd.j2 -v site.yaml", "use the variables in a file" },
    { "eden render nginx.conf.j2 -v site.yaml -D port:=8080", "set a variable to a number" },
    { "eden render --site site --node web1 --label role=web motd.j2",
      "render site/templates/motd.j2 for node web1" },
    { "echo '{\"template\": \"{{ a + 1 }}\", \"context\": {\"a\": 1}}' | eden render --batch",
      "render many templates in one process" },
    { 0 },
};

const Command command_render = {
    .name = "render",
    .group = GROUP_AUTHOR,
    .args = { { "[FILE]", WORD_FILE } },
    .help = "Render a template to standard output.",
    .text =
        "The template language is Jinja2. FILE may be '-' for standard input. Undefined\n"
        "variables are errors by default; see --undefined.\n"
        "\n"
        "Variables are read from -v and -D in the given order. Later values win: maps are\n"
        "merged, lists and other values are replaced.\n"
        "\n"
        "With --site, FILE is a template in that site, given as a path relative to templates/ or\n"
        "as a full path. It can use vars, macros, server and eden, as in a run. --node and\n"
        "--label set the node's name and labels; facts and macros are evaluated on this machine,\n"
        "or under --root. Step results are not available; pass the 'context' of a step with -D.\n"
        "\n"
        "With --batch, FILE is not used: each line of standard input is a JSON object with\n"
        "'template' and optionally 'context' and 'options' (Jinja2 options such as\n"
        "'trim_blocks', and 'loader': {NAME: TEXT}). Each result is one line: {\"output\": ...}\n"
        "or {\"error\": ..., \"message\", \"line\", \"column\"}. Undefined variables behave as\n"
        "in Jinja2.",
    .options = options,
    .examples = examples,
    .run = render_run,
};
