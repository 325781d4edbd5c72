/* What becomes of a step, given what became of those that it depends on: the truth table.
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
 * listen any; require_any and watch_any need one, onfail_all all. Several kinds: all must allow
 * it, and blocked beats waiting beats skipped beats unknown. Dependents of a waiting step wait.
 * In a plan a target may be unknown: require runs, the other kinds are unknown. For an action
 * without a reaction watch is the same as require, and listen is nothing. */
#pragma once

#include "model/graph.h"

typedef enum StepResult {
    RESULT_PENDING, /* nothing yet */
    RESULT_OK,
    RESULT_CHANGED, /* in a plan: would change */
    RESULT_FAILED,
    RESULT_SKIPPED, /* not triggered, or its own condition said no */
    RESULT_BLOCKED, /* something it needs failed */
    RESULT_WAITING, /* was still waiting when the run ended */
    RESULT_UNKNOWN, /* in a plan only */
} StepResult;
const char *step_result_name(StepResult result);
bool step_result_from_name(Str name, StepResult *out);

typedef struct StepStatus {
    StepResult result;
    /* What its check before the steps that prereq it found: RESULT_CHANGED when there is something
     * to do, RESULT_OK when not, or why it will not run. RESULT_PENDING: not checked. */
    StepResult pending;
    bool changed; /* something did change; also of a step that then failed its `success` */
    bool reacted; /* its reaction ran: after it (watch) or at the end (listen) */
    /* Debts of an earlier run, as 1 << REQUISITE_WATCH, REQUISITE_ONCHANGES, REQUISITE_LISTEN: each
     * counts as a target that changed. Set before the run starts. */
    uint16_t owed;
} StepStatus;

typedef enum WorkPhase {
    PHASE_CHECK, /* the check of a prereq's target; nothing may be changed */
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
    DECIDE_UNKNOWN, /* in a plan: whether it runs, or reacts, only the run can tell */
} DecisionKind;
const char *decision_kind_name(DecisionKind kind);

typedef struct Decision {
    DecisionKind kind;
    bool react; /* with DECIDE_RUN: react after running, because a watched step changed */
    /* A target of watch, onchanges or listen changed (or there is a debt), and the step does not
     * get to act on it now although it did not choose so: a debt for the next run. Its kinds, as
     * in StepStatus.owed. Also of a step that runs: then they are what it owes until it ended
     * well, so that they can be written before the effect. */
    uint16_t owes;
    Str reason;          /* "requires 'install vnstat', which failed"; empty: nothing to tell */
    const Edge *because; /* the edge that decided; may be NULL */
} Decision;

/* `statuses` has one entry for each step of the graph. With PHASE_CHECK, targets that can only
 * follow the check count by what their own check found, or not at all. The reason is in `arena`. */
Decision decide(const Graph *graph, Work work, const StepStatus *statuses, bool planning,
                Arena *arena);

/* Whether decide() has something else than DECIDE_SKIP to say of the step's PHASE_REACT. The
 * schedule hands out only those; of the others that have `listen`, decide() still tells at the end
 * what they owe. */
bool decide_reacts(const Graph *graph, uint32_t step, const StepStatus *statuses);
