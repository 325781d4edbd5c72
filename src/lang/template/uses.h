/* Which variables a template uses, and which elements of them, found in its syntax tree. */
#pragma once

#include "lang/template/ast.h"
#include "lang/template/template.h"

/* Looks through a sequence of nodes. Texts are copied into `arena`. Parts that are never run count
 * as well. */
TemplateUses template_uses_find(Arena *arena, const Node *nodes);
