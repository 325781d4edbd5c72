#include "cli/template_inputs.h"

#include "base/suggest.h"
#include "sys/clock.h"
#include "sys/file.h"

/* 4096, 64K, 16M, 1G */
static bool parse_size(const char *word, uint64_t *out)
{
    Str text = str_from_c(word);
    unsigned shift = 0;
    if (text.len > 0) {
        char unit = ascii_upper(text.data[text.len - 1]);
        shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
    }
    uint64_t number;
    if (!str_to_u64(str_slice(text, 0, text.len - (shift > 0)), &number) ||
        number > UINT64_MAX >> shift) {
        return false;
    }
    *out = number << shift;
    return true;
}

/* An option that sets a limit, and its maximum. */
typedef struct LimitOption {
    const char *name;
    uint64_t max;
    const char *max_text;
} LimitOption;

static bool limit_option(const Invocation *invocation, LimitOption limit, uint64_t *out)
{
    const char *word = invocation_text(invocation, limit.name);
    if (parse_size(word, out) && *out > 0 && *out <= limit.max) {
        return true;
    }
    usage_error(invocation, "--%s must be a number from 1 to %s, such as 500, 64K or 16M, not '%s'",
                limit.name, limit.max_text, word);
    return false;
}

int template_settings_get(const Invocation *invocation, TemplateSettings *out)
{
    TemplateSettings settings = template_settings_default();
    uint64_t source, output, memory, steps, depth;
    if (!inputs_check_defines(invocation) ||
        !limit_option(invocation, (LimitOption){ "max-template", 64 << 20, "64M" }, &source) ||
        !limit_option(invocation, (LimitOption){ "max-output", 1 << 30, "1G" }, &output) ||
        !limit_option(invocation, (LimitOption){ "max-memory", 1ULL << 40, "1024G" }, &memory) ||
        !limit_option(invocation, (LimitOption){ "max-steps", 1ULL << 40, "1024G" }, &steps) ||
        !limit_option(invocation, (LimitOption){ "max-depth", 1000, "1000" }, &depth)) {
        return EXIT_USAGE;
    }
    settings.limits.source = source;
    settings.limits.output = output;
    settings.limits.memory = memory;
    settings.limits.steps = steps;
    settings.limits.depth = (uint32_t)depth;
    settings.autoescape = invocation_flag(invocation, "autoescape");
    undefined_mode_from_name(str_from_c(invocation_text(invocation, "undefined")),
                             &settings.undefined);
    settings.now = clock_now_seconds();
    settings.seed = random_seed();
    *out = settings;
    return EXIT_OK;
}

static bool load(void *context, Str name, Arena *arena, Str *text)
{
    TemplateLoader *loader = context;
    loader->failed = STR_EMPTY;
    Error err;
    if (file_read_beneath(arena, loader->root, name, loader->max, text, &err)) {
        return true;
    }
    if (err.kind != ERROR_NOT_FOUND) {
        /* Removes the name at the start of the message, which may be a secret. If the name is very
         * long, the message was truncated and has no reason. */
        Str reason = str_from_c(err.text);
        loader->failed = str_starts(reason, name) && reason.len > name.len + 2
                             ? arena_copy(arena, str_from_offset(reason, name.len + 2))
                             : STR("cannot be read");
    }
    return false;
}

void template_loader_attach(TemplateLoader *loader, const char *root, TemplateSettings *settings)
{
    *loader = (TemplateLoader){ .root = root, .max = settings->limits.source };
    settings->load = load;
    settings->load_context = loader;
}

/* Turns the name of a template into a path that the user can open. */
static Str path_of(Arena *arena, Str name, Str main, const TemplateLoader *loader)
{
    if (name.len == 0 || str_eq(name, main)) {
        return main;
    }
    if (loader == NULL || strcmp(loader->root, ".") == 0) {
        return arena_copy(arena, name);
    }
    bool slash = str_ends(str_from_c(loader->root), STR("/"));
    return arena_format(arena, "%s%s%" STR_FMT, loader->root, slash ? "" : "/", STR_ARG(name));
}

enum {
    NAME_SHOWN_MAX = 300
};

/* Returns "did you mean 'parts/header.j2'?", from the available files. */
static Str nearest_template(Arena *arena, const TemplateLoader *loader, Str name)
{
    static const char *const any[] = { "", NULL };
    FileList files;
    Error err;
    if (!file_list(arena, loader->root, any, SUGGEST_OFFERS_MAX, &files, &err)) {
        return STR_EMPTY;
    }
    Suggest suggest = suggest_make(name);
    size_t lead = strlen(loader->root) + 1;
    for (uint32_t i = 0; i < files.count; i++) {
        suggest_offer(&suggest, str_from_offset(files.paths[i], lead));
    }
    Str suggestion;
    return suggest_found(&suggest, &suggestion)
               ? arena_format(arena, "did you mean '%" STR_FMT "'?", STR_ARG(suggestion))
               : STR_EMPTY;
}

/* Jinja2's message is just the name; explain what was searched, where, and suggest alternatives. */
static void explain_not_found(Inputs *inputs, Problem *problem, const TemplateLoader *loader,
                              Str name)
{
    name = str_slice(name, 0, NAME_SHOWN_MAX);
    if (loader == NULL) {
        problem->message =
            arena_format(inputs->arena, "template '%" STR_FMT "' not found", STR_ARG(name));
        return;
    }
    if (loader->failed.len > 0) {
        problem->message = arena_format(inputs->arena, "template '%" STR_FMT "': %" STR_FMT,
                                        STR_ARG(name), STR_ARG(loader->failed));
        return;
    }
    problem->message = arena_format(inputs->arena, "template '%" STR_FMT "' not found in '%s'",
                                    STR_ARG(name), loader->root);
    problem->hint = nearest_template(inputs->arena, loader, name);
}

static void add_fault(Inputs *inputs, const Fault *fault, Str main, const TemplateLoader *loader)
{
    Arena *arena = inputs->arena;
    Source source = { .name = path_of(arena, fault->template_name, main, loader),
                      .text = fault->template_text,
                      .first_line = 1 };
    Problem *problem = problems_add(&inputs->problems, fault_class_code(fault->class),
                                    fault->line > 0 ? &source : NULL, fault->offset, fault->span,
                                    "%" STR_FMT, STR_ARG(fault->message));
    problem->hint = arena_copy(arena, fault->hint);
    if (fault->class == FAULT_NOT_FOUND) {
        explain_not_found(inputs, problem, loader, fault->message);
    }
    for (const FaultOrigin *origin = fault->origin; origin != NULL; origin = origin->next) {
        problem_add_origin(arena, problem, path_of(arena, origin->template_name, main, loader),
                           origin->line);
    }
    if (fault->begins > 0) {
        problem_add_note(arena, problem, STR("starts here"), problem->file, fault->begins);
    }
    for (const FaultLoop *loop = fault->loops; loop != NULL; loop = loop->next) {
        Str note = arena_format(arena, "in item %llu%s%" STR_FMT "%s of the loop",
                                (unsigned long long)loop->index + 1, loop->item.len > 0 ? ", " : "",
                                STR_ARG(loop->item), loop->item.len > 0 ? "," : "");
        problem_add_note(arena, problem, note, path_of(arena, loop->template_name, main, loader),
                         loop->line);
    }
}

void inputs_add_fault(Inputs *inputs, const Fault *fault, Str main, const TemplateLoader *loader)
{
    for (; fault != NULL; fault = fault->next) {
        add_fault(inputs, fault, main, loader);
    }
}
