/* The results of a run and its steps, as used by tables, JSON, records, `why` and later steps
 * (steps['x']). */
#pragma once

#include "base/problems.h"
#include "model/schedule.h"

typedef struct ShutdownRequest ShutdownRequest; /* modules/call.h */

/* Why a step found something to change. */
typedef enum Cause {
    CAUSE_NONE,
    CAUSE_NEW,    /* never applied here before */
    CAUSE_DRIFT,  /* the step is unchanged, but the machine has changed */
    CAUSE_INTENT, /* the step has changed since the last apply */
} Cause;
const char *cause_name(Cause cause); /* NULL for CAUSE_NONE */

typedef struct StepReport {
    StepStatus status;
    Cause cause;
    Str reason;           /* why it was skipped, is blocked or waiting, or reacted; may be empty */
    bool declined;        /* skipped by its conditions, target or triggers: it owes nothing */
    bool left;            /* the run was interrupted before it started */
    const Problem *error; /* why it failed; NULL: it did not */
    uint32_t run_order;   /* starting at 1; 0: it did not run */
    uint32_t attempts;    /* number of attempts */
    int64_t duration_us;
    /* As reported by the module; see Outcome in modules/call.h. Without secrets, except for `out`
     * and `error_out`, which later steps may need verbatim; everything else uses the shown_
     * members. */
    Map *changes;
    Str diff, comment, state;
    Str out, error_out;
    Str shown_out, shown_error_out;
    bool secret_out; /* `out` or `error_out` contains a secret */
    int exit_code;
    bool has_exit_code;
    Value value;
    List *files;
    const ShutdownRequest *shutdown; /* the reboot that it requested; may be NULL */
    Str observed;                    /* by the check, for saved plans; never shown */
} StepReport;

typedef struct RunReport {
    bool planning;
    bool interrupted;
    bool timed_out; /* steps were still waiting when --max-wait expired */
    Str run;        /* ID of its record; empty if there is none, as for a plan */
    Str node;
    OrderMode order;
    const Steps *steps;
    StepReport *items; /* one per step */
    int64_t duration_us;
    List *owed; /* remaining debts, from debt_value(); may be NULL */
} RunReport;

enum {
    RESULT_COUNT = RESULT_UNKNOWN + 1
};

/* Counts the steps by result. */
void run_report_count(const RunReport *report, uint32_t counts[RESULT_COUNT]);
/* The worst result: failed (or blocked), waiting, unknown or changed, ok. */
StepResult run_report_result(const RunReport *report);

/* A step as in "eden.run/1". */
Value step_report_value(const Step *step, const StepReport *report, Arena *arena);
/* What a step changed, except what its diff also shows, such as the size of a file, which differs
 * between nodes if it contains their names. NULL is allowed. */
const Map *step_changes_beside(const Map *changes, Str diff, Arena *arena);
/* The object "counts" of "eden.run/1". */
Value run_report_counts_value(const RunReport *report, Arena *arena);
/* Identifies the changes of a run: 16 hexadecimal digits that are equal if the same steps changed
 * the same things or failed for the same reason. The name of the node in texts does not count.
 * Empty if nothing changed or failed. In the arena. */
Str run_report_digest(const RunReport *report, Arena *arena);

/* The object "eden.run/1" of `plan -o json` and `apply -o json`. */
Value run_report_value(const RunReport *report, Arena *arena);
