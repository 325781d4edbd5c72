/* A value in a site that may contain templates: compiled at load time, evaluated when needed.
 *
 * Data can never inject structure: lists and maps are those of the document, and only string values
 * are templates. A string that is exactly one `{{ expression }}` keeps the type of its result; any
 * other becomes a string. Keys are never templates. */
#pragma once

#include "base/problems.h"
#include "lang/template/template.h"
#include "lang/value.h"

typedef struct Dynamic Dynamic;
typedef struct Render Render;

typedef enum DynamicKind {
    DYNAMIC_CONSTANT,   /* `value` contains no template */
    DYNAMIC_EXPRESSION, /* `template` was compiled as an expression */
    DYNAMIC_TEXT,       /* `template` renders to a string */
    DYNAMIC_LIST,
    DYNAMIC_MAP,
} DynamicKind;

struct Dynamic {
    DynamicKind kind;
    Value value; /* as written, with its location; for every kind */
    const Template *template;
    Dynamic *children; /* of a list or map, in the order of `value` */
};

/* Settings for the templates in a site: strict about undefined values, trailing newlines are
 * preserved, and uses of variables are recorded. The caller adds loader, globals and clock. */
TemplateSettings dynamic_template_settings(void);

/* Whether a string contains a template. */
bool dynamic_has_template(Str text);
/* Compiles the templates in `value`. Faults become problems at their location in the document, and
 * the value becomes a constant, so that callers can continue to look for problems. */
bool dynamic_compile(Arena *arena, Templates *templates, const Sources *sources, Value value,
                     Dynamic *out, Problems *problems);
/* For `condition:` and `expression:`, which contain a bare expression as a string. A boolean or
 * number is a constant; a string in `{{ }}` is accepted with a hint. */
bool dynamic_compile_expression(Arena *arena, Templates *templates, const Sources *sources,
                                Value value, Dynamic *out, Problems *problems);

static inline bool dynamic_is_constant(const Dynamic *dynamic)
{
    return dynamic->kind == DYNAMIC_CONSTANT;
}

typedef enum DynamicOutcome {
    DYNAMIC_OK,
    DYNAMIC_UNKNOWN, /* depends on values that are known only in a run (FAULT_UNKNOWN) */
    DYNAMIC_FAILED,  /* a problem was added */
} DynamicOutcome;

/* Evaluates in `scope`, a map. The result is in `arena`. `rendered` is scratch. */
DynamicOutcome dynamic_evaluate(const Dynamic *dynamic, Value scope, const Sources *sources,
                                Rendered *rendered, Arena *arena, Value *out, Problems *problems);

/* The same inside of a render (lang/template/host_object.h): failures, including unknown values,
 * are raised there. */
MUST_CHECK bool dynamic_evaluate_inside(Render *outer, const Dynamic *dynamic, Value scope,
                                        Rendered *rendered, Arena *arena, Value *out);

/* Number of children of a list or map; otherwise 0. */
uint32_t dynamic_child_count(const Dynamic *dynamic);

/* The literal names that its templates use with `steps`: steps['x'], steps.x. Each once, in order.
 * `*computed` is set if an index is not a literal. */
void dynamic_steps_used(const Dynamic *dynamic, Arena *arena, List *names, bool *computed);
/* Whether there is any such use. */
bool dynamic_uses_steps(const Dynamic *dynamic);
