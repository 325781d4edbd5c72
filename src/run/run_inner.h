/* Internals shared by run_load.c, run_params.c, run_perform.c, run_record.c and shutdown.c. */
#pragma once

#include "base/str_map.h"
#include "model/contradiction.h"
#include "model/debts.h"
#include "model/step_index.h"
#include "modules/extension.h"
#include "run/last_applied.h"
#include "run/provisions.h"
#include "run/resume.h"
#include "run/run.h"
#include "run/scope.h"
#include "run/secrets.h"
#include "sys/host.h"

/* State that exists only from run_perform() on. */
typedef struct RunState {
    Executor *executor;     /* NULL: run_perform() has not been called */
    Provisions *provisions; /* for a plan */
    Contradictions contradictions;
    uint32_t current_step; /* the step whose parameters or conditions are evaluated */
    LastApplied last;
    RunReport report;
    Resume resume;                   /* left by runs before a reboot */
    const ShutdownRequest *shutdown; /* how the machine goes down now; NULL: it stays up */
    /* everything to continue is recorded; otherwise `shutdown_error` is the reason */
    bool shutdown_ready;
    Error shutdown_error;
    /* indexed by step, for the record: results of templates in its parameters, as JSON */
    Str *values;
} RunState;

/* Everything except `now` is set by run_load() and does not change. Data filled in by evaluation
 * (scope, secrets, renders) and lookup (index, ids) are caches. */
struct Run {
    RunConfig config;
    Arena *arena;
    Sources *sources;
    Problems *problems;
    SiteFiles *files;
    Extensions extensions;
    Templates *templates;
    TemplateLimits limits;
    Renders renders;
    Secrets *secrets;
    Site *site;
    Value facts;
    Node node;
    Scope *scope;
    Host *host;
    Str home;      /* absolute path of the site */
    Str name;      /* of the site; empty: it is a single file of steps, identified by its path */
    bool checking; /* the machine is not queried, because steps may change the answer */
    Steps steps;
    Graph *graph;
    Str digest;
    StepIndex *index; /* created on first use */
    StrMap ids;       /* of its steps; created by the first run_lacks_step() */
    Str *claimed;     /* paths that steps manage, sorted */
    uint32_t claimed_count;
    VEC(Str) filled; /* directories whose entire content is managed by steps */
    VEC(Str) late;   /* constant prefixes of paths that are known only at run time */

    RunState now;
};

/* The parameters of a step, in the order of its row: evaluated and converted, with files, templates
 * and published files of the site inserted. */
DynamicOutcome run_params(Run *run, const Step *step, Arena *arena, Value *out, Problems *problems);
/* The report of a finished step; NULL before. For results as variables. */
const StepReport *run_result_of(const Run *run, uint32_t step);
/* Whether a step manages `path` or something below it. */
bool run_is_claimed(const Run *run, Str path);
/* Whether the run has no step with this id. */
bool run_lacks_step(Run *run, Str id);
/* In run_record.c: the results of templates in the parameters, as a JSON object in the run's arena;
 * empty if there are none. */
Str run_record_values(Run *run, const Step *step, const Value *params);
