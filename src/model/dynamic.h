/* A value of a site that may hold templates: compiled at load, evaluated when needed.
 *
 * Data can never inject structure: lists and maps are those of the document, and only string
 * values are templates. A string that is exactly one `{{ expression }}` keeps the type of its
 * result; any other becomes text. Keys are never templates. */
#pragma once

#include "base/problems.h"
#include "lang/template/template.h"
#include "lang/value.h"

typedef struct Dynamic Dynamic;
typedef struct Render Render;

typedef enum DynamicKind {
    DYNAMIC_CONSTANT,   /* `value` as it is: no template anywhere in it */
    DYNAMIC_EXPRESSION, /* `template` was compiled as an expression */
    DYNAMIC_TEXT,       /* `template` renders to text */
    DYNAMIC_LIST,
    DYNAMIC_MAP,
} DynamicKind;

struct Dynamic {
    DynamicKind kind;
    Value value; /* as written, with its place; for every kind */
    const Template *template;
    Dynamic *children; /* of a list or map, as many and in the order of `value` */
};

/* How templates of a site behave: strict about undefined values, text keeps its trailing newline,
 * and uses of variables are remembered. Whoever makes the Templates adds loader, globals, clock. */
TemplateSettings dynamic_template_settings(void);

/* Whether a string is more than text. */
bool dynamic_has_template(Str text);
/* Compiles what is in `value`. Faults become problems at their place in the document; what has one
 * is a constant then, so that callers can go on looking for problems. */
bool dynamic_compile(Arena *arena, Templates *templates, const Sources *sources, Value value,
                     Dynamic *out, Problems *problems);
/* For `condition:` and `expression:`, which hold a bare expression as text. A boolean or number
 * is a constant; text in `{{ }}` is accepted with a hint. */
bool dynamic_compile_expression(Arena *arena, Templates *templates, const Sources *sources,
                                Value value, Dynamic *out, Problems *problems);

static inline bool dynamic_is_constant(const Dynamic *dynamic)
{
    return dynamic->kind == DYNAMIC_CONSTANT;
}

typedef enum DynamicOutcome {
    DYNAMIC_OK,
    DYNAMIC_UNKNOWN, /* it needs what only a run can tell (FAULT_UNKNOWN) */
    DYNAMIC_FAILED,  /* a problem was added */
} DynamicOutcome;

/* Evaluates in `scope`, a map. The result lives in `arena`. `rendered` is scratch. */
DynamicOutcome dynamic_evaluate(const Dynamic *dynamic, Value scope, const Sources *sources,
                                Rendered *rendered, Arena *arena, Value *out, Problems *problems);

/* The same inside of a render that asks (lang/template/inside.h): a failure, unknown ones too, is
 * raised there. */
MUST_CHECK bool dynamic_evaluate_inside(Render *outer, const Dynamic *dynamic, Value scope,
                                        Rendered *rendered, Arena *arena, Value *out);

/* How many children a list or map has; none of any other kind. */
uint32_t dynamic_child_count(const Dynamic *dynamic);

/* The literal names under which the templates in it use `steps`: steps['x'], steps.x. Each once,
 * in order. True in `*computed` when an index is not a literal. */
void dynamic_steps_used(const Dynamic *dynamic, Arena *arena, List *names, bool *computed);
/* Whether there is any such use. */
bool dynamic_uses_steps(const Dynamic *dynamic);
