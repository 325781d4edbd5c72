/* What became of a run and of each of its steps: the one form that tables, JSON, records, `why`
 * and later steps (steps['x']) read. */
#pragma once

#include "base/problems.h"
#include "model/schedule.h"

typedef struct Leave Leave; /* modules/call.h */

/* Why a step found something to change. */
typedef enum Cause {
    CAUSE_NONE,
    CAUSE_NEW,    /* never applied here before */
    CAUSE_DRIFT,  /* the site wants what it wanted, but the machine has moved */
    CAUSE_INTENT, /* the site wants something else than last time */
} Cause;
const char *cause_name(Cause cause); /* NULL for CAUSE_NONE */

typedef struct StepReport {
    StepStatus status;
    Cause cause;
    Str reason;    /* why it was skipped, blocked, waits, or reacted; empty: nothing to tell */
    bool declined; /* skipped by its conditions, its target or its triggers: it owes nothing */
    bool left;     /* the run was interrupted before it started */
    const Problem *error; /* why it failed; NULL: it did not */
    uint32_t run_order;   /* from 1; 0: it did not run */
    uint32_t tries;       /* how often the action was started */
    int64_t duration_us;
    /* As the module said; see Outcome in modules/call.h. Without secrets, except for `out` and
     * `error_out`, which later steps may need as they are; `shown` ones are for everybody else. */
    Map *changes;
    Str diff, comment, state;
    Str out, error_out;
    Str shown_out, shown_error_out;
    bool secret_out; /* `out` or `error_out` holds a secret */
    int exit_code;
    bool has_exit_code;
    Value value;
    List *files;
    const Leave *leave; /* what it asked for; NULL: nothing */
    Str observed;       /* of the check, for saved plans; never shown */
} StepReport;

typedef struct RunReport {
    bool planning;
    bool interrupted;
    bool timed_out; /* something still waited when the time was up */
    Str run;        /* by which its record is found; empty: there is none, as of a plan */
    Str node;
    OrderMode order;
    const Steps *steps;
    StepReport *items; /* one for each step */
    int64_t duration_us;
    List *owed; /* debts that are left, as debt_value() has them; NULL: none */
} RunReport;

enum {
    RESULT_COUNT = RESULT_UNKNOWN + 1
};

/* How many steps ended in each way. */
void run_report_count(const RunReport *report, uint32_t counts[RESULT_COUNT]);
/* The worst: failed (or blocked), waiting, unknown or changed, ok. */
StepResult run_report_result(const RunReport *report);

/* The object "eden.run/1" of `plan -o json` and `apply -o json`. */
Value run_report_value(const RunReport *report, Arena *arena);
