/* Selects nodes. One syntax for base files, targets, the command line and rules:
 *
 *     *                               every node
 *     web01   web*.example.com        node names, with wildcards
 *     role=web   role=kubernetes-*    a label's value
 *     kubernetes.io/master=           a label that is present and empty
 *     !role=web                       not
 *     role=web and (dc=fra or dc=ams)
 *     server.os == 'debian'           an expression about the node
 *
 * `and` binds tighter than `or`, `!` (or `not`) tightest. A term is an expression if it is neither
 * a name nor a label: if it contains a space, a quote, a call or a comparison. */
#pragma once

#include "model/names.h"

typedef struct Selector Selector;

enum {
    SELECTOR_TEXT_MAX = 4096,
    SELECTOR_DEPTH_MAX = 64
};

/* `text` is a string. Returns false, with problems located in it. If `templates` is NULL, only
 * names and labels are allowed, and an expression is a problem. */
MUST_CHECK bool selector_parse(Arena *arena, Templates *templates, const Sources *sources,
                               Value text, const Selector **out, Problems *problems);

/* A node as selectors see it. */
typedef struct SelectorSubject {
    Str name;
    Str fqdn;    /* matched like the name; may be empty */
    Map *labels; /* strings; NULL: none */
    /* Evaluates an expression about the node. NULL: expressions match nothing. */
    DynamicOutcome (*evaluate)(void *context, const Dynamic *expression, Value *out);
    void *context;
} SelectorSubject;

/* Returns false if an expression could not be evaluated: `evaluate` has added a problem. */
MUST_CHECK bool selector_match(const Selector *selector, const SelectorSubject *subject, bool *out);

/* Checks the names in its expressions. */
bool selector_check_names(const Selector *selector, const NamesCheck *check);

/* The original text. */
Str selector_text(const Selector *selector);
/* The name or name pattern, if it consists only of that; otherwise empty. */
Str selector_name(const Selector *selector);
/* A label and value that all matching nodes have. Returns false if there is none, or if it is not
 * certain. */
bool selector_label(const Selector *selector, Str *name, Str *value);
/* Whether it contains an expression. */
bool selector_has_expression(const Selector *selector);
