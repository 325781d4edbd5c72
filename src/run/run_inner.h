/* What the files of a run share: run_load.c, run_params.c, run_perform.c, run_record.c, leave.c. Nobody
 * else's. */
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

/* What exists only from run_perform() on. */
typedef struct RunState {
    Executor *executor;     /* NULL: run_perform has not begun */
    Provisions *provisions; /* of a plan */
    Contradictions contradictions;
    uint32_t asking; /* the step whose parameters or conditions are evaluated */
    LastApplied last;
    RunReport report;
    Resume resume;      /* what runs before a restart of the machine left */
    const Leave *leave; /* how the machine goes down now; NULL: it stays up */
    bool leave_ready;   /* all that follows is noted; else `leave_error` tells why not */
    Error leave_error;
    Str *values; /* by step, for the record: what templates in its parameters came to, as JSON */
} RunState;

/* All but `now` is what run_load() made, and stays as it is. What evaluating fills in (scope, secrets,
 * renders) and what is looked up (index, ids) are caches: they do not change what the site means. */
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
    Str home;      /* where the site lies, from "/" */
    Str name;      /* of the site; empty: it is one file of steps, and its path stands for it */
    bool checking; /* the machine is not asked, because steps may change the answer */
    Steps steps;
    Graph *graph;
    Str digest;
    StepIndex *index; /* made when something is looked up in it */
    StrMap ids;       /* of its steps; made by the first run_lacks_step */
    Str *claimed;     /* paths that steps manage, sorted */
    uint32_t claimed_count;
    VEC(Str) filled; /* directories of which steps manage all that is below */
    VEC(Str) late;   /* how paths begin that are known only when their step runs */

    RunState now;
};

/* The parameters of a step, in the order of its row: evaluated, converted, and files, templates and
 * published files of the site put in their places. */
DynamicOutcome run_params(Run *run, const Step *step, Arena *arena, Value *out, Problems *problems);
/* The report of a step that has ended, NULL before. For results as variables. */
const StepReport *run_result_of(const Run *run, uint32_t step);
/* Whether a step manages `path` or something below it. */
bool run_is_claimed(const Run *run, Str path);
/* Whether the run has no step of this id. */
bool run_lacks_step(Run *run, Str id);
/* run_record.c: what templates in the parameters came to, as a JSON object in the run's arena;
 * empty when there are none. */
Str run_record_values(Run *run, const Step *step, const Value *params);
