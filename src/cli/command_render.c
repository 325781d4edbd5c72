/* eden render: one template to standard output, or many with --batch. */
#include "cli/batch.h"
#include "cli/site_world.h"
#include "cli/template_inputs.h"
#include "lang/json.h"
#include "sys/file.h"

/* The directory that includes are searched in: the one given, or the template's own. */
static const char *template_root(const Invocation *invocation, const char *path)
{
    const char *given = invocation_text(invocation, "templates");
    if (given != NULL) {
        return given;
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
    return inputs_report(&inputs, invocation); /* hints about the variables */
}

/* A path that was written as if one were in the directory of the site. */
static void hint_at_template(SiteWorld *world, Str path)
{
    Invocation *invocation = world->invocation;
    Problems *problems = &world->inputs.problems;
    Problem *problem = problems->count > 0 ? &problems->items[problems->count - 1] : NULL;
    const char *site = invocation_text(invocation, "site");
    Str folder = STR("templates/"), ignored;
    Str name = str_starts(path, folder) ? str_from_offset(path, folder.len) : path;
    Str below = arena_format(invocation->arena, "%s/%" STR_FMT, site, STR_ARG(path));
    if (problem == NULL) {
        return;
    }
    if (name.len < path.len &&
        site_files_load_template(world->files, name, invocation->arena, &ignored)) {
        problem->hint =
            arena_format(invocation->arena,
                         "templates of the site go by their name below templates/: write "
                         "'%" STR_FMT "'",
                         STR_ARG(name));
    } else if (file_exists(arena_copy_c(invocation->arena, below))) {
        problem->hint = arena_format(invocation->arena, "write '%" STR_FMT "'", STR_ARG(below));
    }
}

/* As a node of the site sees it. FILE is one of the site's templates, by its name below templates/ or
 * by its path, or any other file. */
static bool render_alone(SiteWorld *world, const char *path, Rendered *rendered)
{
    const Invocation *invocation = world->invocation;
    Inputs *inputs = &world->inputs;
    Str name = str_from_c(path), ignored;
    Str below =
        arena_format(invocation->arena, "%s/templates/", invocation_text(invocation, "site"));
    name = str_starts(name, below) ? str_from_offset(name, below.len) : name;
    if (site_files_load_template(world->files, name, invocation->arena, &ignored)) {
        return scope_render_alone(world->scope, name, NULL, rendered, &inputs->problems);
    }
    uint16_t id = inputs_read(inputs, path, SITE_FILE_MAX);
    if (id == SOURCE_NONE) {
        hint_at_template(world, str_from_c(path));
        return false;
    }
    const Source *source = sources_get(&inputs->sources, id);
    return scope_render_alone(world->scope, source->name, &source->text, rendered,
                              &inputs->problems);
}

static int render_for_node(Invocation *invocation, const char *site)
{
    static const char *const others[] = { "templates", "trim-blocks", "lstrip-blocks",
                                          "chomp",     "batch",       "autoescape" };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (invocation_flag(invocation, others[i])) {
            return usage_error(invocation,
                               "--%s is not for --site, which says how its templates "
                               "are read",
                               others[i]);
        }
    }
    if (invocation->arg_count == 0) {
        return usage_error(invocation, "FILE is missing");
    }
    if (!inputs_check_defines(invocation)) {
        return EXIT_USAGE;
    }
    SiteWorld world;
    TemplateLimits limits = dynamic_template_settings().limits;
    AUTO_CLEAR(Rendered) rendered = rendered_make(&limits);
    if (site_world_open(&world, invocation, site) &&
        render_alone(&world, invocation->args[0], &rendered)) {
        print_rendered(invocation, &rendered);
    }
    int code = site_world_report(&world);
    site_world_clear(&world);
    return code;
}

static int render_run(Invocation *invocation)
{
    const char *site = invocation_text(invocation, "site");
    if (site != NULL) {
        return render_for_node(invocation, site);
    }
    if (invocation_flag(invocation, "node") || invocation_flag(invocation, "label")) {
        return usage_error(invocation, "--node and --label are for --site: whose node it is");
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
        return usage_error(invocation, "FILE is missing");
    }
    settings.syntax.keep_trailing_newline = !invocation_flag(invocation, "chomp");
    return render_file(invocation, &settings);
}

static const Option options[] = {
    VARIABLE_OPTIONS,
    { .name = "site",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "render FILE as a node of this site sees it" },
    SITE_WORLD_OPTIONS,
    { .name = "templates",
      .letter = 't',
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "where include, import and extends look; default: the directory of FILE" },
    LIMIT_OPTIONS,
    { .name = "trim-blocks", .help = "remove the newline after a block tag, as Ansible does" },
    { .name = "lstrip-blocks", .help = "remove blanks before a block tag at the start of a line" },
    { .name = "chomp", .help = "remove the newline at the end of the template, as Jinja2 does" },
    { .name = "batch", .help = "read JSON lines {template, options, context} from standard input" },
    OUTPUT_OPTION("text|json", "text", "the text itself, or JSON with the byte ranges of secrets"),
    { 0 },
};

static const Example examples[] = {
    { "eden render motd.j2 -v site.yaml", "render with the variables of a file" },
    { "eden render nginx.conf.j2 -v site.yaml -D port:=8080", "override one, as a number" },
    { "eden render --site site --node web1 --label role=web motd.j2",
      "site/templates/motd.j2 as web1 gets it" },
    { "echo '{\"template\": \"{{ a + 1 }}\", \"context\": {\"a\": 1}}' | eden render --batch",
      "many renders in one process" },
    { 0 },
};

const Command command_render = {
    .name = "render",
    .group = GROUP_AUTHOR,
    .args = { { "[FILE]", WORD_FILE } },
    .help = "Render a template to standard output.",
    .text =
        "The template language is Jinja2's. FILE may be '-' for standard input. An undefined\n"
        "variable is an error unless --undefined says otherwise.\n"
        "\n"
        "Variables come from -v and -D in the order they are given: later ones win, maps are\n"
        "merged, lists and everything else replace what was there.\n"
        "\n"
        "With --site, FILE is a template of that site, by its name below templates/ or its path,\n"
        "and sees what it sees in a run: vars, macros, server, eden. --node and --label say which\n"
        "node it is for; facts and macros are those of this machine, or of --root. Results of\n"
        "steps are not known outside of a run, and 'context' of a step is given with -D as vars.\n"
        "\n"
        "With --batch there is no FILE: every line of standard input is a JSON object with\n"
        "'template' and perhaps 'context' and 'options' (Jinja2's, such as 'trim_blocks',\n"
        "'loader': {NAME: TEXT}), and is answered with a line {\"output\": ...} or {\"error\": "
        "...,\n"
        "\"message\", \"line\", \"column\"}. Undefined variables are then as in Jinja2.",
    .options = options,
    .examples = examples,
    .run = render_run,
};
