/* From a site to the steps of a run on one node: jobs chosen by selectors, nested and included
 * ones, each once; forEach into instances; ids and claims as far as they are known before the run.
 * An id that needs a macro or a result is not: only the step's name refers to such a step. */
#pragma once

#include "model/site.h"

typedef struct Expansion {
    const SelectorSubject *subject; /* NULL: every selector matches, for checks without a node */
    /* Evaluates at load; `item` is missing outside of forEach. DYNAMIC_UNKNOWN: only the run can
     * tell. NULL: nothing but constants is known. */
    DynamicOutcome (*evaluate)(void *context, const Dynamic *dynamic, Value item, Arena *arena,
                               Value *out, Problems *problems);
    /* The same for what a step can do without until it runs: ids, paths, owners. It asks the machine
     * nothing, because steps may change the answer. NULL: as `evaluate`. */
    DynamicOutcome (*evaluate_early)(void *context, const Dynamic *dynamic, Value item,
                                     Arena *arena, Value *out, Problems *problems);
    void *context;
    bool alone; /* leave out what jobs include: for a file without its site */
    /* Only these jobs (--job), with what they hold and include, whatever base files say; 0: those
     * of jobs/base.yaml. */
    const Str *only;
    uint32_t only_count;
} Expansion;

enum {
    RUN_STEPS_MAX = 1000000
};

/* False when problems were found, in what was read on the way too; `*out` then has the steps as far as
 * they are known, to find more problems by graph_problems(). No step at all is no problem. */
MUST_CHECK bool site_expand(Site *site, const Expansion *expansion, Steps *out);
