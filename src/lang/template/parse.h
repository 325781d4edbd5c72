/* Parses a template into a syntax tree. */
#pragma once

#include "lang/template/ast.h"
#include "lang/template/template.h"

/* Parses an entire template: a sequence of statements, NULL if empty. Strings in the tree point
 * into `text` or `arena`. On failure the fault has class, message, hint, offset, line and
 * column. */
MUST_CHECK bool template_parse(Arena *arena, const TemplateSettings *settings, Str text, Node **out,
                               Fault *fault);

/* Parses a single expression; nothing may follow it. */
MUST_CHECK bool expression_parse(Arena *arena, const TemplateSettings *settings, Str text,
                                 Node **out, Fault *fault);

/* Finds the variables that a template uses and which of their elements, in a sequence of nodes.
 * Strings are copied into `arena`. Code that never runs counts as well. */
TemplateUses template_uses_find(Arena *arena, const Node *nodes);
