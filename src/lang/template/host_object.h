/* Host objects: values with behavior that come from outside the language, such as lazy variables,
 * results of steps, and macros of a site. They have an ObjectType (object.h) and fail with
 * render_raise (render.h). This header declares what only they need.
 *
 * A host object that renders a template to compute its value does so within the calling render:
 * both share the step budget and the depth limit, so endless recursion between objects is stopped
 * like that of macros. Each render needs a separate Rendered. Values returned by host objects live
 * at least as long as the calling render. */
#pragma once

#include "lang/template/object.h"

/* Like template_render and template_evaluate. */
MUST_CHECK bool template_render_nested(Render *outer, const Template *template, Value context,
                                       Rendered *rendered, Fault *fault);
MUST_CHECK bool template_evaluate_nested(Render *outer, const Template *template, Value context,
                                         Rendered *rendered, Value *out, Fault *fault);

/* Raises the fault of a nested render, with its message, location and chain of templates.
 * `document` is the document value whose text is the nested template, or null; a document that is
 * already set is not replaced. Always returns false. */
bool render_raise_nested(Render *r, const Fault *fault, Value document);
