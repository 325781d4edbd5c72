/* Steps that want different things of one resource: each run would undo what the other did.
 *
 * Rows say what their steps decide (model/module.h): `thing` names the resource, or a part of one,
 * `wants` and the `decides` of parameters its aspects. Two steps contradict each other when both
 * decide the same aspect of the same thing, and not alike. Steps that may be alternatives, or are
 * meant to follow each other, do not count: see contradiction_counts. */
#pragma once

#include "base/str_map.h"
#include "model/graph.h"

typedef struct Contradictions {
    Arena *arena;
    StrMap decided; /* thing and aspect to who decided it first */
} Contradictions;

void contradictions_init(Contradictions *contradictions, Arena *arena);

/* Whether a step is looked at. One with onfail, onchanges or prereq never is. `running`: it does run;
 * otherwise only one that certainly will: without a condition, of itself or of its job, and without
 * a target. */
bool contradiction_counts(const Graph *graph, uint32_t step, bool running);

/* Adds what a step decides; `values` are its parameters in the order of the row, missing where they
 * are not known yet. `resolved`: files and templates have become their content. False: a step that
 * was added before wants something else, and that was told. */
MUST_CHECK bool contradictions_add(Contradictions *contradictions, const Graph *graph,
                                   uint32_t step, const Value *values, bool resolved,
                                   Problems *problems);

/* All of it for the steps of a graph, with what is known at load. */
MUST_CHECK bool contradictions_check(const Graph *graph, Problems *problems);
