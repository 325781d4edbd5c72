/* For host objects: values with behavior that come from outside of the language, such as lazy
 * variables, the results of steps, macros of a site. They have an ObjectType (object.h) and fail
 * with render_raise (render.h). What belongs to them only is here.
 *
 * A host object that has to render a template to answer does so inside of the render that asks:
 * the two share the budget of steps and the limit of depth, so that objects which ask one another
 * without end are stopped as macros are. Each render needs a Rendered of its own. Values given
 * out live at least as long as the render that asked. */
#pragma once

#include "lang/template/object.h"

/* As template_render and template_evaluate. */
MUST_CHECK bool template_render_inside(Render *outer, const Template *template, Value context,
                                       Rendered *rendered, Fault *fault);
MUST_CHECK bool template_evaluate_inside(Render *outer, const Template *template, Value context,
                                         Rendered *rendered, Value *out, Fault *fault);

/* Fails as the render inside did: with its message and place, and with the way that led there.
 * `document` is the value of the document that the template inside is the text of, null when there
 * is none; the innermost one stays. Always false. */
bool render_raise_inside(Render *r, const Fault *fault, Value document);
