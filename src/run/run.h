/* One run on this node, from a path to results: the basis of `plan`, `apply` and related commands.
 *
 *     Run *run;
 *     if (!run_load(arena, &config, &sources, &problems, &run)) ...   changes nothing
 *     if (!run_perform(run, &view, err)) ...        (apply) lock held, state directory unusable
 *     const RunReport *report = run_report(run);
 *
 * Loading reads the site, facts, variables and macros, selects the jobs of this node, expands them
 * into steps and orders these. All errors are in `problems`. */
#pragma once

#include "model/site.h"
#include "run/executor.h"
#include "run/macros.h"
#include "run/node.h"
#include "run/run_control.h"
#include "run/site_files.h"
#include "run/variables.h"

typedef struct RunConfig {
    const char *path;  /* directory of a site, or a file of steps */
    const char *root;  /* the root to change: "/" or another one */
    const char *state; /* the node's var/lib/eden */
    const char *etc;   /* the node's etc/eden */
    const char *trust; /* etc/eden of this machine: whose site modules it trusts */
    const char *node;  /* name of the node; NULL: determined automatically */
    const char *const *labels;
    uint32_t label_count;
    const char *const *var_files;
    uint32_t var_file_count;
    const char *const *defines;
    uint32_t define_count;
    const Str *jobs; /* only these; none: those of jobs/base.yaml */
    uint32_t job_count;
    bool planning;
    bool no_reboot; /* never reboots the machine, even if a step requests it: for --try */
    OrderMode order;
    uint32_t workers;
    int64_t max_wait_us; /* negative: no limit */
    ModuleTable modules; /* built-in modules; those of the site are added */
    Str command;         /* shown to others while the lock is held */
    Str id;              /* of the run; empty: a new one is made */
    const char *servers; /* directory with the list of all nodes; NULL: this one only */
    const char *event;   /* file with the events that the run reacts to; NULL: none */
    RunControl *control; /* messages from the agent; NULL: none */
    bool is_supervised;  /* after a reboot the agent continues it, rather than systemd */
} RunConfig;

typedef struct Run Run;

MUST_CHECK bool run_load(Arena *arena, const RunConfig *config, Sources *sources,
                         Problems *problems, Run **out);
void run_free(Run *run); /* NULL is allowed */
DEFINE_AUTO(Run, run_free)

const RunConfig *run_config(const Run *run);
const Graph *run_graph(const Run *run);
const Steps *run_steps(const Run *run);
const Node *run_node(const Run *run);
/* The files of the site that were read, each with its SHA-256, or "missing". */
Value run_site_files(const Run *run, Arena *arena);
/* SHA-256 of everything that was read from the site, as text: equal for equal sites. */
Str run_site_digest(Run *run);

/* Whether any layer of variables marks this one, or a part of it, as secret. */
bool run_variable_is_secret(Run *run, Str name);

/* Plans or applies. Failures of steps are not failures of this function. Fails with ERROR_CONFLICT
 * if another run holds the lock, and if the state directory or the root cannot be used. */
MUST_CHECK bool run_perform(Run *run, const RunView *view, int interrupts, Error *err);
/* "reboot", "kexec", "poweroff": what the machine has to do after run_perform() because a step
 * requested it; NULL: nothing. The lock is released then. */
const char *run_shutdown_name(const Run *run);
/* Whether everything is recorded so that the run can continue; otherwise the machine must stay
 * up. */
MUST_CHECK bool run_shutdown_ready(const Run *run, Error *err);
/* Reboots or powers off the machine. May not return before this process is killed. */
MUST_CHECK bool run_shutdown(Run *run, Error *err);
/* For views: filled in step by step during the run. NULL before run_perform(). */
const StepReport *run_reports(const Run *run);
const RunReport *run_report(const Run *run);
