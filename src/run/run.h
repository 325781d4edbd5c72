/* One run on this node, from a path to results: what `plan`, `apply` and their kin stand on.
 *
 *     Run *run;
 *     if (!run_load(arena, &config, &sources, &problems, &run)) ...   nothing is touched yet
 *     if (!run_perform(run, &view, err)) ...        (apply) lock held, state directory unusable
 *     const RunReport *report = run_report(run);
 *
 * Loading reads the site, facts, variables and macros, chooses the jobs of this node, expands them
 * into steps and puts these in order. Everything wrong with any of it is in `problems`. */
#pragma once

#include "model/site.h"
#include "run/executor.h"
#include "run/macros.h"
#include "run/node.h"
#include "run/site_files.h"
#include "run/variables.h"

typedef struct RunConfig {
    const char *path;  /* a site's folder, or a file of steps */
    const char *root;  /* what is changed: "/" or another root */
    const char *state; /* the node's var/lib/eden */
    const char *etc;   /* the node's etc/eden */
    const char *trust; /* etc/eden of the machine that runs: whose modules of sites it trusts */
    const char *node;  /* its name; NULL: found out */
    const char *const *labels;
    uint32_t label_count;
    const char *const *var_files;
    uint32_t var_file_count;
    const char *const *defines;
    uint32_t define_count;
    const Str *jobs; /* only these; none: those of jobs/base.yaml */
    uint32_t job_count;
    bool planning;
    bool stays; /* nobody restarts the machine, whatever steps ask for: a try */
    OrderMode order;
    uint32_t workers;
    int64_t max_wait_us; /* negative: for ever */
    ModuleTable modules; /* built in; those of the site join them */
    Str command;         /* for whoever finds the lock taken */
} RunConfig;

typedef struct Run Run;

MUST_CHECK bool run_load(Arena *arena, const RunConfig *config, Sources *sources,
                         Problems *problems, Run **out);
void run_free(Run *run); /* NULL is fine */
DEFINE_AUTO(Run, run_free)

const RunConfig *run_config(const Run *run);
const Graph *run_graph(const Run *run);
const Steps *run_steps(const Run *run);
const Node *run_node(const Run *run);
/* The files that were read of the site, each with its SHA-256, or "missing". */
Value run_site_files(const Run *run, Arena *arena);
/* SHA-256 of all that was read of the site, as text: equal sites have equal ones. */
Str run_site_digest(Run *run);

/* Whether any layer of variables marks this one, or a part of it, as secret. */
bool run_variable_is_secret(Run *run, Str name);

/* Plans, or applies. What becomes of single steps is no failure here. Fails with ERROR_CONFLICT
 * when another run holds the lock, and when the state directory or the root cannot be used. */
MUST_CHECK bool run_perform(Run *run, const RunView *view, int interrupts, Error *err);
/* "reboot", "kexec", "poweroff": what the machine is to do after run_perform, because a step asked
 * for it; NULL: nothing. The lock is free then. */
const char *run_leaving(const Run *run);
/* Whether everything is noted so that the run can go on; the machine must stay up otherwise. */
MUST_CHECK bool run_leave_ready(const Run *run, Error *err);
/* Has the machine do that. It may take this process down before it returns. */
MUST_CHECK bool run_leave(Run *run, Error *err);
/* For views: filled in step by step while the run goes on. NULL before run_perform. */
const StepReport *run_reports(const Run *run);
const RunReport *run_report(const Run *run);
