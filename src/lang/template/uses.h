/* Which elements of one variable a template names, found in its syntax tree. */
#pragma once

#include "lang/template/ast.h"
#include "lang/template/template.h"

/* Looks through a sequence of nodes for uses of the variable `name`. Names are copied into
 * `arena`. Parts that are never run count as well; a local variable of that name too. */
TemplateUses template_uses_find(Arena *arena, const Node *nodes, Str name);
