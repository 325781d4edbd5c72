/* Compiles a syntax tree into a program. */
#pragma once

#include "lang/template/parse.h"
#include "lang/template/program.h"

/* `template` has owner, name and text set; this fills in everything else. */
MUST_CHECK bool template_compile(Template *template, Node *body, Fault *fault);
MUST_CHECK bool expression_compile(Template *template, Node *expression, Fault *fault);
