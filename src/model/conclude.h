/* Draws conclusions from observations about a step: the values of its conditions, and what its
 * action found or did. Pure. Both a run and its replay use these functions, so they come to the
 * same conclusions. */
#pragma once

#include "model/decide.h"

typedef enum Answer {
    ANSWER_YES,
    ANSWER_NO,
    ANSWER_UNKNOWN, /* depends on a result that is not available */
    ANSWER_FAILED,  /* evaluation failed */
} Answer;
const char *answer_name(Answer answer);
bool answer_from_name(Str name, Answer *out);

typedef enum Verdict {
    VERDICT_PROCEED,
    VERDICT_SKIP,
    VERDICT_WAIT,    /* in a plan: the step would wait */
    VERDICT_UNKNOWN, /* in a plan */
    VERDICT_PARK,    /* evaluated again later */
    VERDICT_FAIL,
} Verdict;

/* `evaluations`: number of evaluations that were false, including this one. `retry` has the limit. */
Verdict conclude_when(Answer answer, const Retry *retry, int64_t evaluations, bool planning);
/* For `success` and `continue`. */
Verdict conclude_result(Answer answer, const Retry *retry, int64_t evaluations, bool planning);
/* Whether to repeat an action, because it failed or `until` is false; `tries` counts this
 * attempt. Returns VERDICT_PROCEED, VERDICT_PARK or VERDICT_FAIL. */
Verdict conclude_repeat(bool failed, Answer until, const Retry *retry, int64_t tries);

/* The final outcome of an action. */
typedef struct Observation {
    bool changed; /* or would change */
    bool unknown; /* unknown whether it would change something */
    bool failed;
    bool reacted;
    bool requests_reboot; /* requests a reboot of the machine, after which the run continues */
} Observation;

/* Stores what was observed in the status. The result itself is set at the end. */
void conclude_observation(StepStatus *status, WorkPhase phase, Observation observation,
                          bool planning);

/* The ways in which a work item can end. A reaction does not change the result of a step that finished
 * before it. */
void conclude_success(StepStatus *status, WorkPhase phase);
void conclude_failed(StepStatus *status, WorkPhase phase);
void conclude_not_run(StepStatus *status, WorkPhase phase, StepResult result);
/* The result of a decision other than DECIDE_RUN. */
StepResult conclude_decision(DecisionKind kind);
