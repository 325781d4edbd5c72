/* Which nodes something is for. One syntax for base files, targets, the command line and rules:
 *
 *     *                               every node
 *     web01   web*.example.com        node names, with wildcards
 *     role=web   role=kubernetes-*    a label's value
 *     kubernetes.io/master=           a label that is there and empty
 *     !role=web                       not
 *     role=web and (dc=fra or dc=ams)
 *     server.os == 'debian'           an expression about the node
 *
 * `and` binds tighter than `or`, `!` (or `not`) tightest. A term is an expression when it is
 * neither a name nor a label: when it holds a space, a quote, a call or a comparison. */
#pragma once

#include "model/dynamic.h"

typedef struct Selector Selector;

enum {
    SELECTOR_TEXT_MAX = 4096,
    SELECTOR_DEPTH_MAX = 64
};

/* `text` is a string. False with problems at their place in it. Without `templates` (NULL), only names
 * and labels may stand in it, and an expression is a problem. */
MUST_CHECK bool selector_parse(Arena *arena, Templates *templates, const Sources *sources,
                               Value text, const Selector **out, Problems *problems);

/* A node as selectors see it. */
typedef struct SelectorSubject {
    Str name;
    Str fqdn;    /* matched like the name; may be empty */
    Map *labels; /* texts; NULL: none */
    /* What an expression says about the node. NULL: expressions match nothing. */
    DynamicOutcome (*evaluate)(void *context, const Dynamic *expression, Value *out);
    void *context;
} SelectorSubject;

/* False when an expression could not be evaluated: a problem was added by `evaluate`. */
MUST_CHECK bool selector_match(const Selector *selector, const SelectorSubject *subject, bool *out);

/* As it was written. */
Str selector_text(const Selector *selector);
/* The name or the pattern of names, when that is all it has; else empty. */
Str selector_name(const Selector *selector);
/* A label with its value that all nodes that match have. False: there is none, or they can have others. */
bool selector_label(const Selector *selector, Str *name, Str *value);
/* Whether there is an expression in it. */
bool selector_has_expression(const Selector *selector);
