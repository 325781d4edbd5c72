/* Detects steps that want different states of one resource, so that each run would undo what the
 * other step did.
 *
 * Rows declare what their steps decide (model/module.h): `resource` names the resource, or a part
 * of one, `wants` and the `decides` of parameters its aspects. Two steps contradict each other if
 * both decide the same aspect of the same resource differently, or if one removes what the other
 * requires: a parent directory of its path, the owner of its file. Steps that may be alternatives,
 * or are intended to follow each other, do not count: see contradiction_counts. */
#pragma once

#include "base/str_map.h"
#include "model/graph.h"

typedef struct Contradictions {
    Arena *arena;
    StrMap states;   /* resource and aspect to the first step that decided it */
    StrMap required; /* resource to the first step that requires it */
    StrMap lines;    /* path to the lines that steps want in the file */
    StrMap values;   /* path to the values that steps want in the document */
    StrMap texts;    /* path to its whole texts, and to edits of them */
} Contradictions;

void contradictions_init(Contradictions *contradictions, Arena *arena);

/* Whether a step is compared. One with onfail, onchanges or prereq never is. `running`: it does
 * run; otherwise only a step that certainly will run: without a condition, of itself or of its job,
 * and without a target. */
bool contradiction_counts(const Graph *graph, uint32_t step, bool running);

/* Adds what a step decides; `values` are its parameters in the order of the row, missing if they
 * are unknown. `resolved`: files and templates have been replaced with their content. Returns
 * false, with a problem, if a step added before wants something else. */
MUST_CHECK bool contradictions_add(Contradictions *contradictions, const Graph *graph,
                                   uint32_t step, const Value *values, bool resolved,
                                   Problems *problems);

/* Does this for all steps of a graph, with the values known at load time. */
MUST_CHECK bool contradictions_check(const Graph *graph, Problems *problems);
