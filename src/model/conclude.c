#include "model/conclude.h"

#include "base/enum_names.h"

DEFINE_ENUM_NAMES(Answer, answer, [ANSWER_YES] = "yes", [ANSWER_NO] = "no",
                  [ANSWER_UNKNOWN] = "unknown", [ANSWER_FAILED] = "failed")

/* Whether another attempt is allowed after `tries` failed ones. */
static bool may_retry(const Retry *retry, int64_t tries)
{
    return retry->is_set && (retry->limit == 0 || tries <= retry->limit);
}

Verdict conclude_when(Answer answer, const Retry *retry, int64_t evaluations, bool planning)
{
    switch (answer) {
    case ANSWER_YES: return VERDICT_PROCEED;
    case ANSWER_FAILED: return VERDICT_FAIL;
    case ANSWER_UNKNOWN: return planning ? VERDICT_UNKNOWN : VERDICT_FAIL;
    case ANSWER_NO: break;
    }
    if (!retry->is_set) {
        return VERDICT_SKIP;
    }
    if (planning) {
        return VERDICT_WAIT;
    }
    return may_retry(retry, evaluations) ? VERDICT_PARK : VERDICT_FAIL;
}

Verdict conclude_result(Answer answer, const Retry *retry, int64_t evaluations, bool planning)
{
    switch (answer) {
    case ANSWER_YES: return VERDICT_PROCEED;
    case ANSWER_FAILED: return VERDICT_FAIL;
    case ANSWER_UNKNOWN:
    case ANSWER_NO: break;
    }
    if (planning) {
        return VERDICT_PROCEED; /* the action has not run, so its result is unknown */
    }
    return answer == ANSWER_NO && may_retry(retry, evaluations) ? VERDICT_PARK : VERDICT_FAIL;
}

Verdict conclude_repeat(bool failed, Answer until, const Retry *retry, int64_t tries)
{
    if (!failed && until == ANSWER_YES) {
        return VERDICT_PROCEED;
    }
    return may_retry(retry, tries) ? VERDICT_PARK : VERDICT_FAIL;
}

void conclude_observation(StepStatus *status, WorkPhase phase, Observation observation,
                          bool planning)
{
    status->reacted = status->reacted || observation.reacted;
    if (phase == PHASE_CHECK) {
        if (!observation.failed) {
            status->pending = observation.unknown   ? RESULT_UNKNOWN
                              : observation.changed ? RESULT_CHANGED
                                                    : RESULT_OK;
        }
        return;
    }
    status->changed = status->changed || observation.changed;
    if (planning && observation.unknown && !observation.failed) {
        status->result = RESULT_UNKNOWN;
    }
}

void conclude_success(StepStatus *status, WorkPhase phase)
{
    if (phase == PHASE_REACT) {
        /* It was ok before and has changed now. */
        if (status->changed && status->result == RESULT_OK) {
            status->result = RESULT_CHANGED;
        }
    } else if (phase == PHASE_RUN && status->result == RESULT_PENDING) {
        status->result = status->changed ? RESULT_CHANGED : RESULT_OK;
    }
}

void conclude_failed(StepStatus *status, WorkPhase phase)
{
    status->result = RESULT_FAILED;
    if (phase == PHASE_CHECK) {
        status->pending = RESULT_FAILED;
    }
}

void conclude_not_run(StepStatus *status, WorkPhase phase, StepResult result)
{
    if (phase == PHASE_CHECK) {
        status->pending = result;
    } else if (phase == PHASE_RUN) {
        status->result = result;
    }
}

StepResult conclude_decision(DecisionKind kind)
{
    switch (kind) {
    case DECIDE_SKIP: return RESULT_SKIPPED;
    case DECIDE_BLOCK: return RESULT_BLOCKED;
    case DECIDE_WAIT: return RESULT_WAITING;
    case DECIDE_UNKNOWN: return RESULT_UNKNOWN;
    case DECIDE_RUN: break;
    }
    return RESULT_PENDING;
}
