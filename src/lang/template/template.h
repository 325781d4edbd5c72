/* Jinja2 templates: compile once, render many times.
 *
 *     Templates *templates = templates_new(&settings);
 *     const Template *page;
 *     if (!templates_compile(templates, STR("motd"), text, &page, &fault)) ...
 *     Rendered rendered = rendered_make(&settings.limits);
 *     if (!template_render(page, context, &rendered, &fault)) ...
 *     fwrite(rendered.text.data, ...); rendered_clear(&rendered); templates_free(templates);
 *
 * A Templates and everything compiled by it belong to one thread at a time. Names, texts and
 * settings given to it are copied; context values are borrowed for the render. */
#pragma once

#include "base/buf.h"
#include "base/own.h"
#include "lang/template/fault.h"
#include "lang/value.h"

typedef enum UndefinedMode {
    UNDEFINED_DEFAULT,   /* prints as nothing, is false and empty, fails on any other use */
    UNDEFINED_STRICT,    /* fails on every use but the `defined` test and `default` */
    UNDEFINED_CHAINABLE, /* like default, and attributes of it are undefined too */
    UNDEFINED_DEBUG,     /* prints as the expression that was not found */
} UndefinedMode;

/* "strict"; the second for Jinja2's names, such as "StrictUndefined". False when not known. */
bool undefined_mode_from_name(Str name, UndefinedMode *out);
bool undefined_mode_from_class(Str name, UndefinedMode *out);

typedef struct TemplateSyntax {
    Str block_start, block_end;
    Str variable_start, variable_end;
    Str comment_start, comment_end;
    Str line_statement_prefix; /* empty: none */
    Str line_comment_prefix;
    Str newline_sequence; /* "\n", "\r\n" or "\r" */
    bool trim_blocks;
    bool lstrip_blocks;
    bool keep_trailing_newline;
} TemplateSyntax;

/* What a template may use. A stranger's template ends in LimitError, not in a dead process. */
typedef struct TemplateLimits {
    size_t source;      /* bytes of one template */
    size_t output;      /* bytes of one rendered text */
    size_t memory;      /* bytes held by values made while rendering; by frames; by syntax trees */
    uint64_t steps;     /* instructions and items visited */
    uint32_t depth;     /* macros, includes, blocks and recursive loops inside one another */
    uint32_t nesting;   /* expressions and statements inside one another in the source */
    uint32_t templates; /* different templates loaded by one Templates */
} TemplateLimits;

/* Finds the text of a template. Returns false when there is none of that name. What it puts into
 * `text` must live as long as the Templates. */
typedef bool (*TemplateLoad)(void *context, Str name, Arena *arena, Str *text);

/* Told of every secret that a render is given from elsewhere or computes, before the render ends:
 * a value that is marked, or holds what is. `computed`: it was made of others. May be NULL. */
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
    bool traced;   /* uses of variables are remembered, for template_uses */
    Value globals; /* a map, seen by every template, below the context; or null */
    int64_t now;   /* seconds since 1970 for strftime; the language has no clock of its own */
    uint64_t seed; /* for `random`, `shuffle` and `lipsum` */
} TemplateSettings;

/* Jinja2's defaults: default undefined, no autoescape, "{{ }}" and so on. */
TemplateSettings template_settings_default(void);

typedef struct Templates Templates;
typedef struct Template Template;

Templates *templates_new(const TemplateSettings *settings);
void templates_free(Templates *templates);
DEFINE_AUTO(Templates, templates_free)

/* Jinja2's trim_blocks and lstrip_blocks for templates that come through the loader; those that are
 * compiled from a text keep the settings. Before the first is loaded. */
void templates_set_blocks(Templates *templates, bool trim_blocks, bool lstrip_blocks);

/* Compiles `text` under `name` (shown in messages; may be empty). */
MUST_CHECK bool templates_compile(Templates *templates, Str name, Str text, const Template **out,
                                  Fault *fault);
/* Compiles a bare expression, for template_evaluate. */
MUST_CHECK bool templates_compile_expression(Templates *templates, Str name, Str text,
                                             const Template **out, Fault *fault);
/* By name through the loader, compiled at most once. A fault may borrow `name`. */
MUST_CHECK bool templates_get(Templates *templates, Str name, const Template **out, Fault *fault);

/* For those who find a secret outside of a render: tells the sink, when there is one. */
void templates_found_secret(const Templates *templates, Value secret, bool computed);

/* One use of a variable: x, x.a, x['a'], x[i]. */
typedef struct TemplateUse {
    Str name;
    uint32_t offset, span; /* of the name */
    bool literal;          /* `element` is what is taken of it */
    Str element;
    uint32_t element_offset, element_span;
    Str method;   /* x.m() may be an element or a method of it; else empty */
    bool own;     /* the template itself gives this name a value somewhere */
    bool guarded; /* only asked whether it is defined, or with a default */
} TemplateUse;

/* What a template uses, in the order of its text, when `settings.traced`. Templates that it includes
 * or imports do not count. */
typedef struct TemplateUses {
    const TemplateUse *items;
    uint32_t count;
} TemplateUses;
const TemplateUses *template_uses(const Template *template);
/* As they were given. */
Str template_name(const Template *template);
Str template_text(const Template *template);
/* The value of an expression that is a mere literal, such as 'web' or 80; false for any other. */
bool template_literal(const Template *template, Value *out);

typedef struct SecretRange {
    size_t start; /* byte offsets in the rendered text */
    size_t end;
} SecretRange;

/* The outcome of a render. Reused for the next one without giving its memory back. */
typedef struct Rendered {
    Buf text;
    SecretRange *secrets; /* ascending, not overlapping */
    uint32_t secret_count;
    uint32_t secret_cap;
    Arena arena;   /* values made while rendering; also the fault's strings */
    Arena frames;  /* of the functions that run */
    Buf *captures; /* what macros and block assignments write into, by depth */
    bool *capture_secrets;
    uint32_t capture_cap;
    uint64_t steps; /* that it took */
} Rendered;

Rendered rendered_make(const TemplateLimits *limits);
void rendered_clear(Rendered *rendered);
DEFINE_AUTO_CLEAR(Rendered, rendered_clear)

/* `context` is a map. What is not frozen in it (value_freeze) may be changed by methods such as
 * append(), and then holds memory of this render: a context for several renders is frozen.
 * On failure `rendered->text` holds what was written before the fault. */
MUST_CHECK bool template_render(const Template *template, Value context, Rendered *rendered,
                                Fault *fault);
/* The value of a compiled expression, as plain as a document's: lists for ranges and generators,
 * null for undefined (in strict mode a fault). It lives in `rendered->arena` or the context. */
MUST_CHECK bool template_evaluate(const Template *template, Value context, Rendered *rendered,
                                  Value *out, Fault *fault);
