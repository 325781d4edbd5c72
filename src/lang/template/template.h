/* Jinja2 templates: compile once, render many times.
 *
 *     Templates *templates = templates_new(&settings);
 *     const Template *page;
 *     if (!templates_compile(templates, STR("motd"), text, &page, &fault)) ...
 *     Rendered rendered = rendered_make(&settings.limits);
 *     if (!template_render(page, context, &rendered, &fault)) ...
 *     fwrite(rendered.text.data, ...); rendered_clear(&rendered); templates_free(templates);
 *
 * A Templates object and everything compiled by it must be used by one thread at a time. Names,
 * texts and settings are copied; context values are borrowed for the render. */
#pragma once

#include "base/buf.h"
#include "base/own.h"
#include "lang/template/fault.h"
#include "lang/value.h"

typedef enum UndefinedMode {
    UNDEFINED_DEFAULT,   /* prints as nothing, is false and empty, fails on any other use */
    UNDEFINED_STRICT,    /* fails on every use except the `defined` test and `default` */
    UNDEFINED_CHAINABLE, /* like default, but its attributes are undefined as well */
    UNDEFINED_DEBUG,     /* prints as the expression that was not found */
} UndefinedMode;

/* Parses "strict", or with the second function a Jinja2 class name, such as "StrictUndefined".
 * Returns false if the name is unknown. */
bool undefined_mode_from_name(Str name, UndefinedMode *out);
bool undefined_mode_from_class(Str name, UndefinedMode *out);

typedef struct TemplateSyntax {
    Str block_start, block_end;
    Str variable_start, variable_end;
    Str comment_start, comment_end;
    Str line_statement_prefix; /* empty if none */
    Str line_comment_prefix;
    Str newline_sequence; /* "\n", "\r\n" or "\r" */
    bool trim_blocks;
    bool lstrip_blocks;
    bool keep_trailing_newline;
} TemplateSyntax;

/* Resource limits of a template. An untrusted template fails with LimitError instead of killing the
 * process. */
typedef struct TemplateLimits {
    size_t source;      /* bytes of one template */
    size_t output;      /* bytes of one rendered text */
    size_t memory;      /* bytes of values created while rendering; of frames; of syntax trees */
    uint64_t steps;     /* instructions and items visited */
    uint32_t depth;     /* nesting of macros, includes, blocks and recursive loops */
    uint32_t nesting;   /* nesting of expressions and statements in the source */
    uint32_t templates; /* number of templates loaded by one Templates */
} TemplateLimits;

/* Finds the source of a template. Returns false if there is no template of that name. `text` must
 * live as long as the Templates. */
typedef bool (*TemplateLoad)(void *context, Str name, Arena *arena, Str *text);

/* Called for every secret that a render receives from outside or computes, before the render ends:
 * a value that is marked, or contains one that is. `computed`: it was derived from others. May be
 * NULL. */
typedef struct SecretSink {
    void (*found)(void *context, Value secret, bool computed);
    void *context;
} SecretSink;

typedef struct TemplateSettings {
    TemplateSyntax syntax;
    TemplateLimits limits;
    UndefinedMode undefined;
    bool autoescape;
    TemplateLoad load; /* NULL: include, import and extends find nothing */
    void *load_context;
    SecretSink secrets;
    bool traced;   /* record the uses of variables, for template_uses */
    Value globals; /* a map, visible to every template, below the context; or null */
    int64_t now;   /* seconds since 1970 for strftime; the language has no clock */
    uint64_t seed; /* for `random`, `shuffle` and `lipsum` */
} TemplateSettings;

/* Jinja2's defaults: default undefined, no autoescape, "{{ }}" and so on. */
TemplateSettings template_settings_default(void);

typedef struct Templates Templates;
typedef struct Template Template;

Templates *templates_new(const TemplateSettings *settings);
void templates_free(Templates *templates);
DEFINE_AUTO(Templates, templates_free)

/* Sets Jinja2's trim_blocks and lstrip_blocks for templates loaded through the loader; templates
 * compiled from a string use the settings. Must be called before the first one is loaded. */
void templates_set_blocks(Templates *templates, bool trim_blocks, bool lstrip_blocks);

/* Compiles `text` under `name` (used in messages; may be empty). */
MUST_CHECK bool templates_compile(Templates *templates, Str name, Str text, const Template **out,
                                  Fault *fault);
/* Compiles a bare expression, for template_evaluate. */
MUST_CHECK bool templates_compile_expression(Templates *templates, Str name, Str text,
                                             const Template **out, Fault *fault);
/* Loads a template by name through the loader and compiles it at most once. A fault may borrow
 * `name`. */
MUST_CHECK bool templates_get(Templates *templates, Str name, const Template **out, Fault *fault);

/* For secrets that are found outside a render: reports them to the sink, if there is one. */
void templates_report_secret(const Templates *templates, Value secret, bool computed);

/* One use of a variable: x, x.a, x['a'], x[i]. */
typedef struct TemplateUse {
    Str name;
    uint32_t offset, span; /* of the name */
    bool literal;          /* `element` is the element used */
    Str element;
    uint32_t element_offset, element_span;
    Str member; /* the element of that element: x['a'].b; empty otherwise */
    uint32_t member_offset, member_span;
    Str method;   /* x.m(), which may be an element or a method; empty otherwise */
    bool own;     /* the template itself assigns this name somewhere */
    bool guarded; /* only used with `is defined` or a default */
} TemplateUse;

/* Another template, named by a literal, that must exist when the statement is executed. */
typedef struct TemplateLink {
    Str name;
    uint32_t offset, span; /* of the name */
} TemplateLink;

/* The uses of variables in a template, in order of appearance, if `settings.traced`. Included and
 * imported templates are not considered. */
typedef struct TemplateUses {
    const TemplateUse *items;
    const TemplateLink *links;
    const Str *assigned; /* names that the template itself assigns */
    uint32_t count, link_count, assigned_count;
} TemplateUses;
const TemplateUses *template_uses(const Template *template);
/* As passed to the compiling function. */
Str template_name(const Template *template);
Str template_text(const Template *template);
/* The value of an expression that is a literal, such as 'web' or 80; returns false for any
 * other. */
bool template_literal(const Template *template, Value *out);

typedef struct SecretRange {
    size_t start; /* byte offsets in the rendered text */
    size_t end;
} SecretRange;

/* The result of a render. Its memory is reused by the next one. */
typedef struct Rendered {
    Buf text;
    SecretRange *secrets; /* ascending, not overlapping */
    uint32_t secret_count;
    uint32_t secret_cap;
    Arena arena;   /* values created while rendering, and the strings of the fault */
    Arena frames;  /* frames of running functions */
    Buf *captures; /* buffers for the output of macros and block assignments, by depth */
    bool *capture_secrets;
    uint32_t capture_cap;
    uint64_t steps; /* number of steps used */
} Rendered;

Rendered rendered_make(const TemplateLimits *limits);
void rendered_clear(Rendered *rendered);
DEFINE_AUTO_CLEAR(Rendered, rendered_clear)

/* `context` is a map. Parts of it that are not frozen (value_freeze) may be changed by methods such
 * as append(), and then contain memory of this render: freeze a context that is used for several
 * renders. On failure `rendered->text` contains the output before the fault. */
MUST_CHECK bool template_render(const Template *template, Value context, Rendered *rendered,
                                Fault *fault);
/* Evaluates a compiled expression to a plain value as in documents: lists for ranges and
 * generators, null for undefined (a fault in strict mode). The value lives in `rendered->arena` or
 * the context. */
MUST_CHECK bool template_evaluate(const Template *template, Value context, Rendered *rendered,
                                  Value *out, Fault *fault);
