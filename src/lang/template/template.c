/* The public API: settings, compiled templates by name, rendering. */
#include "lang/template/template.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "lang/template/compile.h"
#include "lang/template/host_object.h"
#include "lang/template/parse.h"
#include "lang/template/plain.h"
#include "lang/template/runtime.h"

TemplateSettings template_settings_default(void)
{
    return (TemplateSettings){
        .syntax = { .block_start = STR("{%"),
                    .block_end = STR("%}"),
                    .variable_start = STR("{{"),
                    .variable_end = STR("}}"),
                    .comment_start = STR("{#"),
                    .comment_end = STR("#}"),
                    .newline_sequence = STR("\n") },
        .limits = { .source = 4u << 20,
                    .output = 16u << 20,
                    .memory = 32u << 20,
                    .steps = 50000000,
                    .depth = 250,
                    .nesting = 200,
                    .templates = 10000 },
        .undefined = UNDEFINED_DEFAULT,
        .globals = value_null(),
    };
}

static const struct {
    Str name;
    Str class;
    UndefinedMode mode;
} undefined_modes[] = {
    { STR("default"), STR("Undefined"), UNDEFINED_DEFAULT },
    { STR("strict"), STR("StrictUndefined"), UNDEFINED_STRICT },
    { STR("chainable"), STR("ChainableUndefined"), UNDEFINED_CHAINABLE },
    { STR("debug"), STR("DebugUndefined"), UNDEFINED_DEBUG },
    /* Logs its uses and otherwise behaves like the default. */
    { STR("logging"), STR("LoggingUndefined"), UNDEFINED_DEFAULT },
};

bool undefined_mode_from_name(Str name, UndefinedMode *out)
{
    for (size_t i = 0; i < COUNT_OF(undefined_modes); i++) {
        if (str_eq(undefined_modes[i].name, name)) {
            *out = undefined_modes[i].mode;
            return true;
        }
    }
    return false;
}

bool undefined_mode_from_class(Str name, UndefinedMode *out)
{
    for (size_t i = 0; i < COUNT_OF(undefined_modes); i++) {
        if (str_eq(undefined_modes[i].class, name)) {
            *out = undefined_modes[i].mode;
            return true;
        }
    }
    return false;
}

static void copy_text(Arena *arena, Str *text)
{
    *text = arena_copy(arena, *text);
}

void templates_set_blocks(Templates *templates, bool trim_blocks, bool lstrip_blocks)
{
    templates->trim_blocks = trim_blocks;
    templates->lstrip_blocks = lstrip_blocks;
}

Templates *templates_new(const TemplateSettings *settings)
{
    Templates *templates = memory_new(sizeof *templates);
    arena_init(&templates->arena, ARENA_UNLIMITED);
    str_map_init(&templates->compiled, &templates->arena);
    templates->settings = *settings;
    templates_set_blocks(templates, settings->syntax.trim_blocks, settings->syntax.lstrip_blocks);
    TemplateSyntax *syntax = &templates->settings.syntax;
    Str *texts[] = { &syntax->block_start,           &syntax->block_end,
                     &syntax->variable_start,        &syntax->variable_end,
                     &syntax->comment_start,         &syntax->comment_end,
                     &syntax->line_statement_prefix, &syntax->line_comment_prefix,
                     &syntax->newline_sequence };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        copy_text(&templates->arena, texts[i]);
    }
    return templates;
}

void templates_free(Templates *templates)
{
    if (templates != NULL) {
        arena_clear(&templates->arena);
        free(templates);
    }
}

void templates_report_secret(const Templates *templates, Value secret, bool computed)
{
    const SecretSink *sink = &templates->settings.secrets;
    if (sink->found != NULL) {
        sink->found(sink->context, secret, computed);
    }
}

/* Adds the name, the text and the line numbers of the faulty template. */
static bool fault_complete(Fault *fault, const Template *template)
{
    Source source = { .text = template->text, .first_line = 1 };
    for (; fault != NULL; fault = fault->next) {
        LineColumn location = source_location(&source, fault->offset);
        fault->template_name = template->name;
        fault->template_text = template->text;
        fault->line = location.line;
        fault->column = location.column;
    }
    return false;
}

static Template *template_new(Templates *templates, Str name, Str text)
{
    Template *template = ARENA_NEW(&templates->arena, Template);
    template->owner = templates;
    template->name = arena_copy(&templates->arena, name);
    template->text = data_copy(&templates->arena, text);
    return template;
}

static bool compile(Templates *templates, const TemplateSettings *settings, Template *template,
                    bool expression, Fault *fault)
{
    *fault = (Fault){ 0 };
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, settings->limits.memory);
    Node *tree = NULL;
    bool parsed = expression ? expression_parse(&scratch, settings, template->text, &tree, fault)
                             : template_parse(&scratch, settings, template->text, &tree, fault);
    if (!parsed) {
        fault->message = arena_copy(&templates->arena, fault->message);
        fault->hint = arena_copy(&templates->arena, fault->hint);
        fault->fix = arena_copy(&templates->arena, fault->fix);
        return fault_complete(fault, template);
    }
    if (templates->settings.traced) {
        template->uses = template_uses_find(&templates->arena, tree);
    }
    bool compiled = expression ? expression_compile(template, tree, fault)
                               : template_compile(template, tree, fault);
    return compiled || fault_complete(fault, template);
}

bool templates_compile(Templates *templates, Str name, Str text, const Template **out, Fault *fault)
{
    Template *template = template_new(templates, name, text);
    *out = template;
    return compile(templates, &templates->settings, template, false, fault);
}

bool templates_compile_expression(Templates *templates, Str name, Str text, const Template **out,
                                  Fault *fault)
{
    Template *template = template_new(templates, name, text);
    *out = template;
    return compile(templates, &templates->settings, template, true, fault);
}

bool templates_get(Templates *templates, Str name, const Template **out, Fault *fault)
{
    *out = str_map_find(&templates->compiled, name);
    if (*out != NULL) {
        return true;
    }
    const TemplateSettings *settings = &templates->settings;
    ArenaMark mark = arena_mark(&templates->arena);
    Str text;
    if (settings->load == NULL ||
        !settings->load(settings->load_context, name, &templates->arena, &text)) {
        arena_release(&templates->arena, mark); /* repeated lookups must not accumulate memory */
        *fault = (Fault){ .class = FAULT_NOT_FOUND, .message = name };
        return false;
    }
    if (templates->compiled.count >= settings->limits.templates) {
        *fault = (Fault){ .class = FAULT_LIMIT, .message = STR("too many templates are loaded") };
        return false;
    }
    TemplateSettings loaded = *settings;
    loaded.syntax.trim_blocks = templates->trim_blocks;
    loaded.syntax.lstrip_blocks = templates->lstrip_blocks;
    Template *template = template_new(templates, name, text);
    if (!compile(templates, &loaded, template, false, fault)) {
        return false;
    }
    str_map_put(&templates->compiled, template->name, template);
    *out = template;
    return true;
}

const TemplateUses *template_uses(const Template *template)
{
    return &template->uses;
}

Str template_name(const Template *template)
{
    return template->name;
}

Str template_text(const Template *template)
{
    return template->text;
}

bool template_literal(const Template *template, Value *out)
{
    const Function *root = template->root;
    bool literal = root->kind == FUNCTION_EXPRESSION && root->code[0].op == INS_CONST &&
                   root->code[1].op == INS_RETURN_VALUE;
    if (literal) {
        *out = *root->code[0].constant;
    }
    return literal;
}

enum {
    FRAME_ROOM = 16 << 10
};

Rendered rendered_make(const TemplateLimits *limits)
{
    Rendered rendered = { .text = buf_make(limits->output) };
    arena_init(&rendered.arena, limits->memory);
    arena_init(&rendered.frames, ARENA_UNLIMITED);
    /* A single chunk that is large enough for ordinary templates. */
    arena_shrink(&rendered.frames, arena_alloc(&rendered.frames, FRAME_ROOM), FRAME_ROOM, 0);
    return rendered;
}

void rendered_clear(Rendered *rendered)
{
    buf_clear(&rendered->text);
    free(rendered->secrets);
    for (uint32_t i = 0; i < rendered->capture_cap; i++) {
        buf_clear(&rendered->captures[i]);
    }
    free(rendered->captures);
    free(rendered->capture_secrets);
    arena_clear(&rendered->arena);
    arena_clear(&rendered->frames);
    *rendered = (Rendered){ 0 };
}

static void *grow_or_die(void *items, size_t size)
{
    void *grown = realloc(items, size);
    if (grown == NULL) {
        memory_exhausted(size);
    }
    return grown;
}

void rendered_add_capture(Rendered *rendered)
{
    uint32_t cap = rendered->capture_cap == 0 ? 4 : rendered->capture_cap * 2;
    rendered->captures = grow_or_die(rendered->captures, cap * sizeof(Buf));
    rendered->capture_secrets = grow_or_die(rendered->capture_secrets, cap * sizeof(bool));
    for (uint32_t i = rendered->capture_cap; i < cap; i++) {
        rendered->captures[i] = buf_make(0);
    }
    rendered->capture_cap = cap;
}

/* `outer` is NULL for an independent render. */
static void render_begin(Render *r, Render *outer, const Template *template, Value context,
                         Rendered *rendered)
{
    Templates *templates = template->owner;
    arena_reset(&rendered->arena);
    buf_reset(&rendered->text);
    rendered->secret_count = 0;
    *r = (Render){
        .arena = &rendered->arena,
        .settings = &templates->settings,
        .templates = templates,
        .steps_left = outer == NULL ? templates->settings.limits.steps : outer->steps_left,
        .depth = outer == NULL ? 0 : outer->depth,
        .autoescape = templates->settings.autoescape,
        .secrets = value_holds_secret(context) || value_holds_secret(templates->settings.globals),
        .random_state = templates->settings.seed,
        .rendered = rendered,
        .out = &rendered->text,
        .variables = context.kind == VALUE_MAP ? context.map : NULL,
    };
    r->needs_native_checks = r->secrets;
}

static Map *context_map(Value context)
{
    return context.kind == VALUE_MAP ? context.map : NULL;
}

static bool render_end(Render *r, Render *outer, bool ok, Value context, Fault *fault)
{
    if (outer != NULL) {
        outer->steps_left = r->steps_left;
    } else {
        r->rendered->steps = r->settings->limits.steps - r->steps_left;
    }
    if (!ok && r->secrets) {
        Value host_secrets = r->host_secrets == NULL ? value_null() : value_list(r->host_secrets);
        fault_hide_secrets(r, (Value[]){ context, r->settings->globals, host_secrets }, 3);
    }
    *fault = r->fault;
    return ok;
}

static bool render_text(Render *outer, const Template *template, Value context, Rendered *rendered,
                        Fault *fault)
{
    Render r;
    render_begin(&r, outer, template, context, rendered);
    Context *top = context_new(&r, template, NULL, context_map(context));
    bool ok = template_run(&r, template, top);
    render_report_ranges(&r);
    return render_end(&r, outer, ok, context, fault);
}

static bool evaluate(Render *outer, const Template *template, Value context, Rendered *rendered,
                     Value *out, Fault *fault)
{
    Render r;
    render_begin(&r, outer, template, context, rendered);
    FrameMark mark;
    Frame *frame = frame_open(&r, template->root, NULL,
                              context_new(&r, template, NULL, context_map(context)), &mark);
    Value value;
    bool ok = interpret(&r, frame, &value);
    if (ok && !value_plain(&r, value, out)) {
        ok = false;
        if (r.fault.line == 0 && value.kind == VALUE_UNDEFINED) {
            /* the instruction that returns the value */
            fault_locate(&r, frame, template->root->cost - 1);
        } else if (r.fault.line == 0) {
            /* attribute the fault to the entire expression */
            r.fault.span = (uint32_t) template->text.len;
            fault_complete(&r.fault, template);
            fault_suggest_name(&r, frame);
        }
    }
    frame_close(&r, mark);
    if (ok) {
        render_report_secret(&r, *out);
    }
    return render_end(&r, outer, ok, context, fault);
}

bool template_render(const Template *template, Value context, Rendered *rendered, Fault *fault)
{
    return render_text(NULL, template, context, rendered, fault);
}

bool template_render_nested(Render *outer, const Template *template, Value context,
                            Rendered *rendered, Fault *fault)
{
    return render_text(outer, template, context, rendered, fault);
}

bool template_evaluate(const Template *template, Value context, Rendered *rendered, Value *out,
                       Fault *fault)
{
    return evaluate(NULL, template, context, rendered, out, fault);
}

bool template_evaluate_nested(Render *outer, const Template *template, Value context,
                              Rendered *rendered, Value *out, Fault *fault)
{
    return evaluate(outer, template, context, rendered, out, fault);
}
