/* eden render: one template to standard output, or many with --batch. */
#include <stdio.h>

#include "cli/batch.h"
#include "cli/inputs.h"
#include "lang/json.h"
#include "sys/file.h"

typedef struct Loader {
    const char *root;
} Loader;

static bool load_file(void *context, Str name, Arena *arena, Str *text)
{
    const Loader *loader = context;
    Error err;
    return file_read_beneath(arena, loader->root, name, INPUT_MAX, text, &err);
}

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

static int print_json(const Rendered *rendered)
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
    fwrite(out.data, 1, out.len, stdout);
    return EXIT_OK;
}

static int render_run(Invocation *invocation)
{
    TemplateSettings settings;
    int usage = inputs_settings(invocation, &settings);
    if (usage != EXIT_OK) {
        return usage;
    }
    if (invocation_flag(invocation, "batch")) {
        if (invocation->arg_count > 0) {
            return usage_error(invocation, "--batch reads standard input and takes no FILE");
        }
        if (!invocation_flag(invocation, "undefined")) {
            settings.undefined = UNDEFINED_DEFAULT;
        }
        return batch_run(invocation, &settings, BATCH_TEMPLATES);
    }
    if (invocation->arg_count == 0) {
        return usage_error(invocation, "FILE is missing");
    }
    settings.syntax.trim_blocks = invocation_flag(invocation, "trim-blocks");
    settings.syntax.lstrip_blocks = invocation_flag(invocation, "lstrip-blocks");
    settings.syntax.keep_trailing_newline = !invocation_flag(invocation, "chomp");
    const char *path = invocation->args[0];
    Loader loader = { template_root(invocation, path) };
    settings.load = load_file;
    settings.load_context = &loader;

    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    Value variables;
    bool loaded = inputs_variables(&inputs, invocation, &variables);
    uint16_t id = inputs_read(&inputs, path);
    if (!loaded || id == SOURCE_NONE) {
        return inputs_report(&inputs, invocation);
    }
    const Source *source = sources_get(&inputs.sources, id);
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    const Template *template;
    Fault fault;
    if (!templates_compile(templates, source->name, source->text, &template, &fault) ||
        !template_render(template, variables, &rendered, &fault)) {
        inputs_add_fault(&inputs, &fault, source->name);
        return inputs_report(&inputs, invocation);
    }
    if (strcmp(invocation_text(invocation, "output"), "json") == 0) {
        return print_json(&rendered);
    }
    fwrite(rendered.text.data, 1, rendered.text.len, stdout);
    return EXIT_OK;
}

static const Option options[] = {
    TEMPLATE_OPTIONS,
    { .name = "templates",
      .letter = 't',
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "where include, import and extends look; default: the directory of FILE" },
    { .name = "trim-blocks", .help = "remove the line end behind a block tag" },
    { .name = "lstrip-blocks", .help = "remove blanks before a block tag at the start of a line" },
    { .name = "chomp", .help = "remove the line end at the end of the template, as Jinja2 does" },
    { .name = "batch", .help = "read JSON lines {template, options, context} from standard input" },
    { .name = "output",
      .letter = 'o',
      .argument = "FORMAT",
      .choices = "text|json",
      .fallback = "text",
      .help = "json: {\"output\", \"secrets\": [[start, end]]}" },
    { 0 },
};

static const Example examples[] = {
    { "eden render motd.j2 -v site.yaml", "render with the variables of a file" },
    { "eden render nginx.conf.j2 -v site.yaml -D port:=8080", "override one, as a number" },
    { "echo '{\"template\": \"{{ a + 1 }}\", \"context\": {\"a\": 1}}' | eden render --batch",
      "many renders in one process" },
    { 0 },
};

const Command command_render = {
    .name = "render",
    .args = "FILE",
    .args_min = 0,
    .args_max = 1,
    .word = WORD_FILE,
    .help = "Render a template to standard output.",
    .text = "The template language is Jinja2's. FILE may be '-' for standard input. An undefined\n"
            "variable is an error unless --undefined says otherwise.",
    .options = options,
    .examples = examples,
    .run = render_run,
};
