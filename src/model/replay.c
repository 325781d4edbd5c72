/* A run without side effects: where the executor evaluates a condition or starts an action, the
 * result is taken from the recorded turn. What follows from it must match the record. */
#include "model/replay.h"

/* Same as the stages of the executor. */
typedef enum Stage {
    STAGE_START,
    STAGE_ACT,
    STAGE_SUCCESS,
    STAGE_CONTINUE,
} Stage;

typedef struct StepState {
    Stage stage;
    int64_t evaluations;
    int64_t retried;
    StepStatus status;
} StepState;

enum {
    PHASES = PHASE_REACT + 1
};

typedef struct Replayer {
    const Recording *recording;
    Arena *arena;
    Schedule *schedule;
    StepState *steps;
    uint8_t *states; /* for each work item: STATE_NONE, or the state after its last turn */
    Work started;    /* work handed out last */
    Work *joined;    /* work that the schedule joins to it; JOIN_MAX entries */
    uint32_t joined_count, joined_used;
    Replay result;
} Replayer;

enum {
    STATE_NONE = TURN_ENDED
};

static bool report_difference(Replayer *replayer, uint32_t step, Str difference)
{
    replayer->result.differs = true;
    replayer->result.step = step;
    replayer->result.difference = difference;
    return false;
}

static uint8_t *work_state(Replayer *replayer, Work work)
{
    return &replayer->states[(size_t)work.step * PHASES + work.phase];
}

static Str work_text(const Replayer *replayer, Work work)
{
    Str id = graph_step(replayer->recording->graph, work.step)->id;
    return arena_format(replayer->arena, "%s of '%" STR_FMT "'", work_phase_name(work.phase),
                        STR_ARG(id));
}

/* The last evaluation of a condition in this turn; NULL: it was not evaluated. */
static const ConditionEvaluation *find_evaluation(const Replayer *replayer, const Turn *turn,
                                                  ConditionName condition)
{
    const ConditionEvaluation *evaluation =
        &replayer->recording->turns->evaluations.items[turn->first_evaluation];
    for (uint32_t i = turn->evaluation_count; i > 0; i--) {
        if (evaluation[i - 1].condition == condition) {
            return &evaluation[i - 1];
        }
    }
    return NULL;
}

static Retry retry_of(const ConditionEvaluation *evaluation)
{
    return (Retry){ .is_set = evaluation->retries, .limit = evaluation->limit };
}

/* --- After the action ------------------------------------------------------------------------ */

static bool condition_passes(Replayer *replayer, const Turn *turn, ConditionName condition,
                             Stage stage, TurnEnd *end)
{
    StepState *step = &replayer->steps[turn->work.step];
    const ConditionEvaluation *evaluation = find_evaluation(replayer, turn, condition);
    if (evaluation == NULL) {
        return true;
    }
    if (step->stage != stage) {
        step->stage = stage;
        step->evaluations = 0;
    }
    step->evaluations += evaluation->answer == ANSWER_NO;
    Retry retry = retry_of(evaluation);
    switch (conclude_result(evaluation->answer, &retry, step->evaluations,
                            replayer->recording->planning)) {
    case VERDICT_PARK: *end = TURN_WAITS; return false;
    case VERDICT_FAIL:
        conclude_failed(&step->status, turn->work.phase);
        *end = TURN_ENDED;
        return false;
    default: return true;
    }
}

static TurnEnd evaluate_result(Replayer *replayer, const Turn *turn)
{
    StepState *step = &replayer->steps[turn->work.step];
    TurnEnd end = TURN_ENDED;
    if ((step->stage == STAGE_CONTINUE ||
         condition_passes(replayer, turn, CONDITION_SUCCESS, STAGE_SUCCESS, &end)) &&
        condition_passes(replayer, turn, CONDITION_CONTINUE, STAGE_CONTINUE, &end)) {
        conclude_success(&step->status, turn->work.phase);
    }
    return end;
}

static Verdict repeat_verdict(Replayer *replayer, const Turn *turn)
{
    const Recording *recording = replayer->recording;
    const Retry *retry = &graph_step(recording->graph, turn->work.step)->spec->run->retry;
    const ConditionEvaluation *until = find_evaluation(replayer, turn, CONDITION_UNTIL);
    bool failed = turn->observation.failed;
    if (!retry->is_set || recording->planning || turn->work.phase != PHASE_RUN) {
        return failed ? VERDICT_FAIL : VERDICT_PROCEED;
    }
    StepState *step = &replayer->steps[turn->work.step];
    Answer answer = until == NULL ? ANSWER_YES : until->answer;
    step->retried += failed || answer != ANSWER_YES;
    return conclude_repeat(failed, answer, retry, step->retried);
}

static TurnEnd finish(Replayer *replayer, const Turn *turn)
{
    WorkPhase phase = turn->work.phase;
    StepState *step = &replayer->steps[turn->work.step];
    conclude_observation(&step->status, phase, turn->observation, replayer->recording->planning);
    if (phase == PHASE_CHECK && !turn->observation.failed) {
        return TURN_ENDED;
    }
    if (turn->observation.requests_reboot && !turn->observation.failed) {
        conclude_not_run(&step->status, phase, RESULT_WAITING);
        return TURN_ENDED;
    }
    Verdict verdict = repeat_verdict(replayer, turn);
    if (verdict == VERDICT_PARK) {
        step->stage = STAGE_ACT;
        return TURN_WAITS;
    }
    if (verdict == VERDICT_FAIL) {
        conclude_failed(&step->status, phase);
        return TURN_ENDED;
    }
    if (phase == PHASE_REACT) {
        conclude_success(&step->status, phase);
        return TURN_ENDED;
    }
    return evaluate_result(replayer, turn);
}

/* --- Starting -------------------------------------------------------------------------------- */

static TurnEnd act(Replayer *replayer, const Turn *turn)
{
    StepStatus *status = &replayer->steps[turn->work.step].status;
    if (turn->params == PARAMS_UNKNOWN && replayer->recording->planning) {
        conclude_not_run(status, turn->work.phase, RESULT_UNKNOWN);
        return TURN_ENDED;
    }
    if (turn->params != PARAMS_OK) {
        conclude_failed(status, turn->work.phase);
        return TURN_ENDED;
    }
    return turn->has_observation ? finish(replayer, turn) : TURN_ACTS;
}

static TurnEnd start_step(Replayer *replayer, const Turn *turn)
{
    StepState *step = &replayer->steps[turn->work.step];
    WorkPhase phase = turn->work.phase;
    if (turn->override == OVERRIDE_TARGET) {
        conclude_not_run(&step->status, phase, RESULT_SKIPPED);
        return TURN_ENDED;
    }
    if (turn->override == OVERRIDE_WAIT && turn->end == TURN_WAITS) {
        return TURN_WAITS;
    }
    if (turn->override == OVERRIDE_WAIT) {
        conclude_failed(&step->status, phase);
        return TURN_ENDED;
    }
    const ConditionEvaluation *evaluation =
        step->stage == STAGE_ACT ? NULL : find_evaluation(replayer, turn, CONDITION_WHEN);
    Retry retry = evaluation == NULL ? (Retry){ 0 } : retry_of(evaluation);
    Answer answer = evaluation == NULL ? ANSWER_YES : evaluation->answer;
    step->evaluations = answer == ANSWER_YES ? 0 : step->evaluations + (answer == ANSWER_NO);
    switch (conclude_when(answer, &retry, step->evaluations, replayer->recording->planning)) {
    case VERDICT_PROCEED: return act(replayer, turn);
    case VERDICT_SKIP: conclude_not_run(&step->status, phase, RESULT_SKIPPED); break;
    case VERDICT_WAIT: conclude_not_run(&step->status, phase, RESULT_WAITING); break;
    case VERDICT_UNKNOWN: conclude_not_run(&step->status, phase, RESULT_UNKNOWN); break;
    case VERDICT_FAIL: conclude_failed(&step->status, phase); break;
    case VERDICT_PARK: step->stage = STAGE_START; return TURN_WAITS;
    }
    return TURN_ENDED;
}

static Str decision_text(const Replayer *replayer, const Decision *decision)
{
    Str via = STR_EMPTY;
    if (decision->decisive_edge != NULL) {
        const Graph *graph = replayer->recording->graph;
        via = arena_format(replayer->arena, " (edge %u, %s '%" STR_FMT "')",
                           (unsigned)(decision->decisive_edge - graph->edges) + 1,
                           requisite_kind_name((RequisiteKind)decision->decisive_edge->kind),
                           STR_ARG(graph_step(graph, decision->decisive_edge->to)->id));
    }
    return arena_format(replayer->arena, "%s%s%s%" STR_FMT "%" STR_FMT,
                        decision_kind_name(decision->kind), decision->react ? " and react" : "",
                        decision->reason.len > 0 ? ", " : "", STR_ARG(decision->reason),
                        STR_ARG(via));
}

static bool compare_decisions(Replayer *replayer, const Turn *turn, const Decision *now)
{
    const Decision *then = &turn->decision;
    replayer->result.decisions++;
    if (turn->decided && then->kind == now->kind && then->react == now->react &&
        str_eq(then->reason, now->reason) && then->decisive_edge == now->decisive_edge) {
        return true;
    }
    Str recorded = turn->decided ? decision_text(replayer, then) : STR("nothing");
    Str decided = decision_text(replayer, now);
    return report_difference(replayer, turn->work.step,
                             arena_format(replayer->arena,
                                          "recorded: %" STR_FMT "; decided now: %" STR_FMT,
                                          STR_ARG(recorded), STR_ARG(decided)));
}

static bool start(Replayer *replayer, const Turn *turn, TurnEnd *end)
{
    const Recording *recording = replayer->recording;
    StepState *step = &replayer->steps[turn->work.step];
    *end = TURN_ENDED;
    if (turn->override == OVERRIDE_INTERRUPTED) {
        conclude_not_run(&step->status, turn->work.phase,
                         step->stage == STAGE_START ? RESULT_SKIPPED : RESULT_WAITING);
        return true;
    }
    if (turn->override == OVERRIDE_REBOOT) {
        conclude_not_run(&step->status, turn->work.phase, RESULT_WAITING);
        return true;
    }
    if (step->stage == STAGE_SUCCESS || step->stage == STAGE_CONTINUE) {
        *end = evaluate_result(replayer, turn);
        return true;
    }
    Decision decision = decide(recording->graph, turn->work, schedule_statuses(replayer->schedule),
                               recording->planning, replayer->arena);
    if (!compare_decisions(replayer, turn, &decision)) {
        return false;
    }
    if (decision.kind != DECIDE_RUN) {
        conclude_not_run(&step->status, turn->work.phase, conclude_decision(decision.kind));
    } else if (turn->work.phase != PHASE_REACT) {
        *end = start_step(replayer, turn);
    } else if (recording->planning) {
        step->status.changed = true;
        conclude_success(&step->status, PHASE_REACT);
    } else {
        *end = act(replayer, turn);
    }
    return true;
}

/* --- Turns ----------------------------------------------------------------------------------- */

static bool next_start(Replayer *replayer, Work *out)
{
    replayer->joined_count = replayer->joined_used = 0;
    if (!schedule_next(replayer->schedule, &replayer->started)) {
        return false;
    }
    *out = replayer->started;
    return true;
}

static bool next_join(Replayer *replayer, Work *out)
{
    if (replayer->joined_count == 0) {
        replayer->joined_count =
            schedule_join(replayer->schedule, replayer->started, replayer->joined);
    }
    if (replayer->joined_used == replayer->joined_count) {
        return false;
    }
    *out = replayer->joined[replayer->joined_used++];
    return true;
}

static bool match_next_work(Replayer *replayer, const Turn *turn)
{
    Work work;
    bool any = turn->kind == TURN_JOIN ? next_join(replayer, &work) : next_start(replayer, &work);
    if (!any) {
        Str recorded = work_text(replayer, turn->work);
        return report_difference(replayer, turn->work.step,
                                 arena_format(replayer->arena,
                                              "recorded: the %" STR_FMT
                                              " came next; now: nothing is ready",
                                              STR_ARG(recorded)));
    }
    if (work.step != turn->work.step || work.phase != turn->work.phase) {
        Str recorded = work_text(replayer, turn->work);
        Str now = work_text(replayer, work);
        return report_difference(replayer, turn->work.step,
                                 arena_format(replayer->arena,
                                              "recorded: the %" STR_FMT
                                              " came next; now: the %" STR_FMT,
                                              STR_ARG(recorded), STR_ARG(now)));
    }
    return true;
}

static bool expect_state(Replayer *replayer, const Turn *turn, TurnEnd state)
{
    if (*work_state(replayer, turn->work) == state) {
        return true;
    }
    Str recorded = work_text(replayer, turn->work);
    return report_difference(
        replayer, turn->work.step,
        arena_format(replayer->arena,
                     "recorded: '%s' of the %" STR_FMT "; now: it is not one that %s",
                     turn_kind_name(turn->kind), STR_ARG(recorded), turn_end_name(state)));
}

static Str end_text(const Replayer *replayer, TurnEnd end, WorkPhase phase,
                    const StepStatus *status)
{
    if (end != TURN_ENDED) {
        return str_from_c(turn_end_name(end));
    }
    return arena_format(replayer->arena, "%s%s%s",
                        step_result_name(phase == PHASE_CHECK ? status->pending : status->result),
                        status->changed && status->result != RESULT_CHANGED ? ", with a change"
                                                                            : "",
                        status->reacted ? ", reacted" : "");
}

static bool same_status(const StepStatus *a, const StepStatus *b)
{
    return a->result == b->result && a->pending == b->pending && a->changed == b->changed &&
           a->reacted == b->reacted;
}

static bool compare_ends(Replayer *replayer, const Turn *turn, TurnEnd end)
{
    const StepStatus *status = &replayer->steps[turn->work.step].status;
    WorkPhase phase = turn->work.phase;
    if (turn->end == end && (end != TURN_ENDED || same_status(&turn->status, status))) {
        return true;
    }
    Str recorded = end_text(replayer, turn->end, phase, &turn->status);
    Str now = end_text(replayer, end, phase, status);
    return report_difference(replayer, turn->work.step,
                             arena_format(replayer->arena,
                                          "recorded: %" STR_FMT
                                          "; what was observed results in: %" STR_FMT,
                                          STR_ARG(recorded), STR_ARG(now)));
}

static bool replay_turn(Replayer *replayer, const Turn *turn)
{
    TurnEnd end = TURN_ENDED;
    switch (turn->kind) {
    case TURN_START:
    case TURN_JOIN:
        if (!match_next_work(replayer, turn) || !start(replayer, turn, &end)) {
            return false;
        }
        break;
    case TURN_FINISH:
        if (!expect_state(replayer, turn, TURN_ACTS)) {
            return false;
        }
        end = finish(replayer, turn);
        break;
    case TURN_WAKE:
        if (!expect_state(replayer, turn, TURN_WAITS)) {
            return false;
        }
        schedule_requeue(replayer->schedule, turn->work);
        *work_state(replayer, turn->work) = STATE_NONE;
        return true;
    case TURN_GIVE_UP:
        if (!expect_state(replayer, turn, TURN_WAITS)) {
            return false;
        }
        conclude_not_run(&replayer->steps[turn->work.step].status, turn->work.phase,
                         RESULT_WAITING);
        break;
    }
    if (!compare_ends(replayer, turn, end)) {
        return false;
    }
    *work_state(replayer, turn->work) = (uint8_t)end;
    if (end == TURN_ENDED) {
        replayer->steps[turn->work.step].stage = STAGE_START;
        replayer->steps[turn->work.step].evaluations = 0;
        schedule_done(replayer->schedule, turn->work, &replayer->steps[turn->work.step].status);
    } else if (end == TURN_WAITS) {
        schedule_park(replayer->schedule, turn->work);
    }
    return true;
}

static void compare_results(Replayer *replayer)
{
    const Recording *recording = replayer->recording;
    for (uint32_t i = 0; i < recording->graph->steps.count; i++) {
        const StepStatus *then = &recording->results[i];
        const StepStatus *now = &replayer->steps[i].status;
        if (then->result != now->result || then->changed != now->changed) {
            Str recorded = end_text(replayer, TURN_ENDED, PHASE_RUN, then);
            Str result = end_text(replayer, TURN_ENDED, PHASE_RUN, now);
            report_difference(replayer, i,
                              arena_format(replayer->arena,
                                           "recorded at the end: %" STR_FMT
                                           "; its turns result in: %" STR_FMT,
                                           STR_ARG(recorded), STR_ARG(result)));
            return;
        }
    }
}

/* Reports that the record ends before the run. */
static void report_early_end(Replayer *replayer)
{
    Work work = { 0 };
    if (schedule_next(replayer->schedule, &work)) {
        Str next = work_text(replayer, work);
        report_difference(replayer, work.step,
                          arena_format(replayer->arena,
                                       "recorded: the run was over; now: the %" STR_FMT
                                       " comes next",
                                       STR_ARG(next)));
        return;
    }
    const Graph *graph = replayer->recording->graph;
    while (work.step + 1 < graph->steps.count &&
           replayer->steps[work.step].status.result != RESULT_PENDING) {
        work.step++;
    }
    report_difference(replayer, work.step,
                      STR("recorded: the run was over; now: it has not ended"));
}

Replay replay_run(const Recording *recording, Arena *arena)
{
    uint32_t count = recording->graph->steps.count;
    Replayer replayer = {
        .recording = recording,
        .arena = arena,
        .schedule = schedule_new(arena, recording->graph, recording->order, recording->workers),
        .steps = arena_alloc_zero(arena, ((size_t)count + 1) * sizeof(StepState)),
        .states = arena_alloc(arena, ((size_t)count + 1) * PHASES),
        .joined = ARENA_ARRAY(arena, Work, JOIN_MAX),
    };
    memset(replayer.states, STATE_NONE, ((size_t)count + 1) * PHASES);
    for (uint32_t i = 0; recording->owed != NULL && i < count; i++) {
        replayer.steps[i].status.owed = recording->owed[i];
        schedule_set_owed(replayer.schedule, i, recording->owed[i]);
    }
    for (uint32_t i = 0; i < recording->turns->list.len; i++) {
        replayer.result.turns++;
        if (!replay_turn(&replayer, &recording->turns->list.items[i])) {
            return replayer.result;
        }
    }
    if (!schedule_is_finished(replayer.schedule)) {
        report_early_end(&replayer);
        return replayer.result;
    }
    compare_results(&replayer);
    return replayer.result;
}
