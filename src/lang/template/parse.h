/* Text to syntax tree. */
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
