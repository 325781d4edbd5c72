/* Host objects: values with behavior that come from outside the language, such as lazy variables,
 * results of steps, and macros of a site. They have an ObjectType (object.h) and fail with
 * render_raise (render.h). This header declares what only they need.
 *
 * A host object that has to render a template to compute its value does so inside the calling
 * render: both share the step budget and the depth limit, so endless mutual recursion of objects is
 * stopped like that of macros. Each render needs a separate Rendered. Values returned by host
 * objects live at least as long as the calling render. */
#pragma once

#include "lang/template/object.h"

/* Like template_render and template_evaluate. */
MUST_CHECK bool template_render_inside(Render *outer, const Template *template, Value context,
                                       Rendered *rendered, Fault *fault);
MUST_CHECK bool template_evaluate_inside(Render *outer, const Template *template, Value context,
                                         Rendered *rendered, Value *out, Fault *fault);

/* Fails like the inner render did, with its message, its location and its chain of templates.
 * `document` is the document value whose text is the inner template, or null; if faults are nested,
 * the innermost one is kept. Always returns false. */
bool render_raise_inside(Render *r, const Fault *fault, Value document);
