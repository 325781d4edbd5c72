/* Text to syntax tree, and what the tree uses. */
#pragma once

#include "lang/template/ast.h"
#include "lang/template/template.h"

/* A whole template: a sequence of statements, possibly empty (NULL). Strings in the tree point
 * into `text` or `arena`. On failure the fault has class, message, hint, offset, line, column. */
MUST_CHECK bool template_parse(Arena *arena, const TemplateSettings *settings, Str text, Node **out,
                               Fault *fault);

/* One expression and nothing behind it. */
MUST_CHECK bool expression_parse(Arena *arena, const TemplateSettings *settings, Str text,
                                 Node **out, Fault *fault);

/* Which variables a template uses, and which elements of them: looks through a sequence of nodes. Texts are
 * copied into `arena`. Parts that are never run count as well. */
TemplateUses template_uses_find(Arena *arena, const Node *nodes);
