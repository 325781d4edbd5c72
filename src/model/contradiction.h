/* Detects steps that want different states of one resource, so that each run would undo what the
 * other step did.
 *
 * The rows of actions declare which state their steps want (model/module.h): `resource` names the
 * resource or a part of it, `desired_state` and the `aspect` of each parameter name what is set.
 * Two steps contradict each other if they set the same aspect of the same resource to different
 * values, or if one removes what the other requires: a parent directory of its path, the owner of
 * its file. Steps that may be alternatives, or are intended to follow each other, do not count: see
 * contradiction_applies. */
#pragma once

#include "model/contradiction_requests.h"

typedef struct Contradictions {
    Arena *arena;
    StrMap states;   /* resource and aspect to the first step that set it */
    StrMap required; /* resource to the first step that requires it */
    StrMap lines;    /* path to the lines that steps want in the file */
    StrMap values;   /* path to the values that steps want in the document */
    StrMap texts;    /* path to its complete contents, and to edits to them */
    MembersRequestVec members;
} Contradictions;

void contradictions_init(Contradictions *contradictions, Arena *arena);

/* Whether a step is checked. A step with onfail, onchanges or prereq never is. With `running`,
 * the step is known to run; otherwise it is checked only if it is certain to run: if neither it
 * nor its job has a condition, and it has no target. */
bool contradiction_applies(const Graph *graph, uint32_t step, bool running);

/* Adds the states that a step wants; `values` are its parameters in the order of the row, missing
 * if they are unknown. `resolved`: files and templates have been replaced with their content.
 * Returns false, with a problem, if a step that was added earlier wants a different state. */
MUST_CHECK bool contradictions_add(Contradictions *contradictions, const Graph *graph,
                                   uint32_t step, const Value *values, bool resolved,
                                   Problems *problems);

/* Does this for all steps of a graph, with the values known at load time. */
MUST_CHECK bool contradictions_check(const Graph *graph, Problems *problems);
