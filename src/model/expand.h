/* Turns a site into the steps of a run on one node: selects jobs, follows nested and included ones,
 * each once; expands forEach; determines IDs and claims as far as they are known before the run. An
 * ID that depends on a macro or a result is not: only the name refers to such a step. */
#pragma once

#include "model/site.h"

typedef struct Expansion {
    const SelectorSubject *subject; /* NULL: every selector matches, for checks without a node */
    /* Evaluates at load time; `item` is missing outside of forEach. DYNAMIC_UNKNOWN: known only in
     * the run. NULL: only constants are known. */
    DynamicOutcome (*evaluate)(void *context, const Dynamic *dynamic, Value item, Arena *arena,
                               Value *out, Problems *problems);
    /* The same for values that are not required before the step runs: IDs, paths, owners. Does not
     * query the machine, because steps may change the answer. NULL: same as `evaluate`. */
    DynamicOutcome (*evaluate_early)(void *context, const Dynamic *dynamic, Value item,
                                     Arena *arena, Value *out, Problems *problems);
    void *context;
    bool ignore_includes; /* ignore includes of jobs: for a single file without its site */
    /* Only these jobs (--job), with everything that they contain and include, regardless of base
     * files; 0: those in jobs/base.yaml. */
    const Str *only_jobs;
    uint32_t only_job_count;
} Expansion;

enum {
    RUN_STEPS_MAX = 1000000
};

/* Returns false if there are problems, including those in files that were read; `*out` then has the
 * steps as far as they are known, so that graph_problems() can find more. Having no steps is not a
 * problem. */
MUST_CHECK bool site_expand(Site *site, const Expansion *expansion, Steps *out);
