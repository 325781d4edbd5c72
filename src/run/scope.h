/* Everything that templates of a site can access on this node, and evaluating expressions with it.
 *
 *     eden        version, node, run (its ID), servers_get_by_label(selector)
 *     server      this node: facts, name, fqdn, labels; also as Server (node.h)
 *     servervars  what is known about every server of the cluster, by name (cluster_view.h)
 *     vars        variables.h; also as variables
 *     macros      macros.h
 *     event, events   the newest event that started the run, and all of them, if any
 *     steps['x']  the results of steps: State StdOut StdErr ExitCode Changed Result Files, and
 *                 value, reason, error, items; every spelling of these (stdout, exit_code);
 *                 RawStdOut and RawStdErr include trailing newlines
 *     item        of forEach
 *     step        the step's own result, in conditions that are evaluated after the action
 *
 * Variables and macros can use the names from `eden` to `event`, and so can expressions in
 * selectors, except those that select the variables.
 *
 * steps['x'] is the step x of the same job, otherwise of the run; a name that several other jobs
 * use is an error. With forEach, steps['x[key]'] is an instance, steps['x'].items has all
 * instances, by number and by key, and steps['x'] combines their results. Using the output of a
 * step that did not run is an error that contains the reason. In a plan, the output of a step that
 * would change something is unknown (FAULT_UNKNOWN), and so is everything about a step whose result
 * is unknown. */
#pragma once

#include "model/expand.h"
#include "run/macros.h"
#include "run/node.h"
#include "run/report.h"
#include "run/variables.h"

typedef struct Scope Scope;

typedef struct ScopeLoad {
    Arena *arena; /* holds everything, including the results of variables and macros */
    Sources *sources;
    Templates *templates; /* created with dynamic_template_settings() */
    Problems *problems;
    Renders *renders;
    Site *site; /* NULL: no variables and macros of a site */
    const Node *node;
    const Map *servers; /* all, by name; NULL: only the node */
    Str run;            /* ID */
    const char *version;
    ModuleTable modules;
    MacroQuery ask;
    const char *etc; /* NULL: no variables of the host */
    const char *const *files;
    uint32_t file_count;
    const char *const *defines;
    uint32_t define_count;
    Value event, events; /* null: not given, and therefore undefined */
} ScopeLoad;

/* Loads variables and macros too. Reports all their problems. */
MUST_CHECK bool scope_load(const ScopeLoad *load, Scope **out);

Variables *scope_variables(Scope *scope);
Macros *scope_macros(Scope *scope);
/* This node, for selectors, with expressions. */
const SelectorSubject *scope_subject(Scope *scope);

/* Before steps are known: for site_expand(); `context` is the Scope. `steps` is unknown. */
DynamicOutcome scope_evaluate_at_load(void *context, const Dynamic *dynamic, Value item,
                                      Arena *arena, Value *out, Problems *problems);

/* Sets what `steps` refers to from now on. `reports` has one entry per step and is read when a
 * template uses it; NULL while no result is known. */
void scope_set_run(Scope *scope, const Steps *steps, const StepReport *reports, bool planning);

/* Whether the result of a condition is a text such as "no", "off" or "false", which counts as true
 * although that is hardly ever intended. */
bool scope_is_negative_text(Value answer);
/* In the scope of a step. With `own`, `step` is available. */
DynamicOutcome scope_evaluate(Scope *scope, uint32_t step, const Dynamic *dynamic, bool own,
                              Arena *arena, Value *out, Problems *problems);
/* Renders a file in templates/ in the scope of a step, with `context` (a map, or null) on top.
 * The text is in `arena`. `place` is the parameter that names it. */
DynamicOutcome scope_render_file(Scope *scope, uint32_t step, Str name, Value context, Value place,
                                 Arena *arena, Value *out, Problems *problems);
/* The same outside a step: what a template sees on this node before anything runs. With `text`,
 * renders that text, called `name` in messages; otherwise the file in templates/. */
MUST_CHECK bool scope_render_standalone(Scope *scope, Str name, const Str *text, Rendered *rendered,
                                        Problems *problems);
