/* Decides what happens to a step, given the results of the steps it depends on: the truth table.
 *
 *                target blocked   failed     ok         changed               skipped
 *     require    blocked          blocked    runs       runs                  runs
 *     watch      blocked          blocked    runs       runs, then reacts     runs
 *     onchanges  skipped          skipped    skipped    runs                  skipped
 *     onfail     skipped          runs       skipped    skipped               skipped
 *     prereq     blocked          blocked    skipped    runs before it        skipped
 *     listen     no reaction      no         no         reacts at the end     no
 *
 * Several targets of one kind: require and watch need all of them, onchanges, onfail, prereq and
 * listen any; require_any and watch_any need one, onfail_all all. Several kinds: all must allow it,
 * and blocked beats waiting beats skipped beats unknown. Dependents of a waiting step wait. In a
 * plan a target may be unknown: require runs, the other kinds are unknown. For an action without a
 * reaction, watch is the same as require, and listen does nothing. */
#pragma once

#include "model/graph.h"

typedef enum StepResult {
    RESULT_PENDING, /* no result yet */
    RESULT_OK,
    RESULT_CHANGED, /* in a plan: would change */
    RESULT_FAILED,
    RESULT_SKIPPED, /* not triggered, or its own condition is false */
    RESULT_BLOCKED, /* a step that it needs has failed */
    RESULT_WAITING, /* still waiting when the run ended */
    RESULT_UNKNOWN, /* in plans only */
} StepResult;
const char *step_result_name(StepResult result);
bool step_result_from_name(Str name, StepResult *out);

typedef struct StepStatus {
    StepResult result;
    /* Result of its check before the steps that have it as prereq: RESULT_CHANGED if there is
     * something to do, RESULT_OK if not, or the reason why it will not run. RESULT_PENDING: not
     * checked. */
    StepResult pending;
    bool changed; /* something changed, also for a step that then failed its `success` */
    bool reacted; /* its reaction has run: after it (watch) or at the end (listen) */
    /* Debts from an earlier run, as 1 << REQUISITE_WATCH, REQUISITE_ONCHANGES, REQUISITE_LISTEN:
     * each counts as a changed target. Set before the run starts. */
    uint16_t owed;
} StepStatus;

typedef enum WorkPhase {
    PHASE_CHECK, /* check of a prereq's target; nothing may be changed */
    PHASE_RUN,
    PHASE_REACT, /* listen: the reaction at the end */
} WorkPhase;
const char *work_phase_name(WorkPhase phase);

typedef struct Work {
    uint32_t step;
    WorkPhase phase;
} Work;

typedef enum DecisionKind {
    DECIDE_RUN,
    DECIDE_SKIP,
    DECIDE_BLOCK,
    DECIDE_WAIT,    /* a target is waiting, or has no result yet */
    DECIDE_UNKNOWN, /* in a plan: only the run can decide whether it runs or reacts */
} DecisionKind;
const char *decision_kind_name(DecisionKind kind);

typedef struct Decision {
    DecisionKind kind;
    bool react; /* with DECIDE_RUN: react after running, because a watched step has changed */
    /* Kinds, as in StepStatus.owed, that become a debt for the next run: a target of watch,
     * onchanges or listen has changed (or there is a debt), but the step cannot act on it now for a
     * reason other than its own conditions. Also set for a step that runs: what it owes until it
     * succeeds, so that this can be recorded before the effect. */
    uint16_t owes;
    Str reason;                /* "requires 'install vnstat', which failed"; empty: none */
    const Edge *decisive_edge; /* the edge that was decisive; may be NULL */
} Decision;

/* `statuses` has one entry for each step of the graph. With PHASE_CHECK, a target that can only run
 * after the check is represented by the result of its own check, if there is one. The reason is in
 * `arena`. */
Decision decide(const Graph *graph, Work work, const StepStatus *statuses, bool planning,
                Arena *arena);

/* Whether decide() returns something other than DECIDE_SKIP for the step's PHASE_REACT. The
 * schedule hands out only those; for other steps with `listen`, decide() still returns at the end
 * what they owe. */
bool decide_reacts(const Graph *graph, uint32_t step, const StepStatus *statuses);
