/* What follows for a step from what was observed of it: what its conditions answered and what its
 * action found or did. Pure: the run and its replay come to the same because both ask here. */
#pragma once

#include "model/decide.h"

typedef enum Answer {
    ANSWER_YES,
    ANSWER_NO,
    ANSWER_UNKNOWN, /* it needs a result that is not there */
    ANSWER_FAILED,  /* it cannot be evaluated */
} Answer;
const char *answer_name(Answer answer);
bool answer_from_name(Str name, Answer *out);

typedef enum Verdict {
    VERDICT_GO_ON,
    VERDICT_SKIP,
    VERDICT_WAIT,    /* in a plan: the step would wait */
    VERDICT_UNKNOWN, /* in a plan */
    VERDICT_PARK,    /* it is asked again later */
    VERDICT_FAIL,
} Verdict;

/* `asked`: how often the answer was no, this one included. `retry` tells how often it may be. */
Verdict conclude_when(Answer answer, const Retry *retry, int64_t asked, bool planning);
/* Of `success` and `continue`. */
Verdict conclude_result(Answer answer, const Retry *retry, int64_t asked, bool planning);
/* Whether an action is repeated, because it failed or because `until` does not hold; `tries` counts
 * this one. VERDICT_GO_ON, VERDICT_PARK or VERDICT_FAIL. */
Verdict conclude_repeat(bool failed, Answer until, const Retry *retry, int64_t tries);

/* What an action said, in the end. */
typedef struct Observed {
    bool changed; /* or would change */
    bool unknown; /* whether it would change something cannot be told */
    bool failed;
    bool reacted;
    bool leaves; /* asks for a restart of the machine: it goes on after that */
} Observed;

/* Takes what was observed into the status. The result itself follows at the end. */
void conclude_observed(StepStatus *status, WorkPhase phase, Observed seen, bool planning);

/* The ends of a work. The result of a step that ended before is left alone by its reaction. */
void conclude_well(StepStatus *status, WorkPhase phase);
void conclude_failed(StepStatus *status, WorkPhase phase);
void conclude_without(StepStatus *status, WorkPhase phase, StepResult result);
/* What a decision other than DECIDE_RUN comes to. */
StepResult conclude_decision(DecisionKind kind);
