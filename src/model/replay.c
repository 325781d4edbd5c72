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
    int64_t asked;
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
    uint8_t *where; /* for each work item: NOT_TAKEN, or the state after its last turn */
    Work started;   /* work handed out last */
    Work *joined;   /* work that the schedule joins to it; JOIN_MAX entries */
    uint32_t joined_count, joined_taken;
    Replay result;
} Replayer;

enum {
    NOT_TAKEN = TURN_ENDED
};

static bool differ(Replayer *replayer, uint32_t step, Str difference)
{
    replayer->result.differs = true;
    replayer->result.step = step;
    replayer->result.difference = difference;
    return false;
}

static uint8_t *where_is(Replayer *replayer, Work work)
{
    return &replayer->where[(size_t)work.step * PHASES + work.phase];
}

static Str work_text(const Replayer *replayer, Work work)
{
    Str id = graph_step(replayer->recording->graph, work.step)->id;
    return arena_format(replayer->arena, "%s of '%" STR_FMT "'", work_phase_name(work.phase),
                        STR_ARG(id));
}

/* The last evaluation of a condition in this turn; NULL: it was not evaluated. */
static const Asked *find_asked(const Replayer *replayer, const Turn *turn, ConditionName condition)
{
    const Asked *asked = &replayer->recording->turns->asked.items[turn->first_asked];
    for (uint32_t i = turn->asked_count; i > 0; i--) {
        if (asked[i - 1].condition == condition) {
            return &asked[i - 1];
        }
    }
    return NULL;
}

static Retry retry_of(const Asked *asked)
{
    return (Retry){ .given = asked->retries, .limit = asked->limit };
}

/* --- After the action ------------------------------------------------------------------------ */

static bool passes(Replayer *replayer, const Turn *turn, ConditionName condition, Stage stage,
                   TurnEnd *end)
{
    StepState *step = &replayer->steps[turn->work.step];
    const Asked *asked = find_asked(replayer, turn, condition);
    if (asked == NULL) {
        return true;
    }
    if (step->stage != stage) {
        step->stage = stage;
        step->asked = 0;
    }
    step->asked += asked->answer == ANSWER_NO;
    Retry retry = retry_of(asked);
    switch (conclude_result(asked->answer, &retry, step->asked, replayer->recording->planning)) {
    case VERDICT_PARK: *end = TURN_WAITS; return false;
    case VERDICT_FAIL:
        conclude_failed(&step->status, turn->work.phase);
        *end = TURN_ENDED;
        return false;
    default: return true;
    }
}

static TurnEnd ask_about_result(Replayer *replayer, const Turn *turn)
{
    StepState *step = &replayer->steps[turn->work.step];
    TurnEnd end = TURN_ENDED;
    if ((step->stage == STAGE_CONTINUE ||
         passes(replayer, turn, CONDITION_SUCCESS, STAGE_SUCCESS, &end)) &&
        passes(replayer, turn, CONDITION_CONTINUE, STAGE_CONTINUE, &end)) {
        conclude_well(&step->status, turn->work.phase);
    }
    return end;
}

static Verdict repeats(Replayer *replayer, const Turn *turn)
{
    const Recording *recording = replayer->recording;
    const Retry *retry = &graph_step(recording->graph, turn->work.step)->spec->run->retry;
    const Asked *until = find_asked(replayer, turn, CONDITION_UNTIL);
    bool failed = turn->seen.failed;
    if (!retry->given || recording->planning || turn->work.phase != PHASE_RUN) {
        return failed ? VERDICT_FAIL : VERDICT_GO_ON;
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
    conclude_observed(&step->status, phase, turn->seen, replayer->recording->planning);
    if (phase == PHASE_CHECK && !turn->seen.failed) {
        return TURN_ENDED;
    }
    if (turn->seen.leaves && !turn->seen.failed) {
        conclude_without(&step->status, phase, RESULT_WAITING);
        return TURN_ENDED;
    }
    Verdict verdict = repeats(replayer, turn);
    if (verdict == VERDICT_PARK) {
        step->stage = STAGE_ACT;
        return TURN_WAITS;
    }
    if (verdict == VERDICT_FAIL) {
        conclude_failed(&step->status, phase);
        return TURN_ENDED;
    }
    if (phase == PHASE_REACT) {
        conclude_well(&step->status, phase);
        return TURN_ENDED;
    }
    return ask_about_result(replayer, turn);
}

/* --- Starting -------------------------------------------------------------------------------- */

static TurnEnd act(Replayer *replayer, const Turn *turn)
{
    StepStatus *status = &replayer->steps[turn->work.step].status;
    if (turn->params == PARAMS_UNKNOWN && replayer->recording->planning) {
        conclude_without(status, turn->work.phase, RESULT_UNKNOWN);
        return TURN_ENDED;
    }
    if (turn->params != PARAMS_OK) {
        conclude_failed(status, turn->work.phase);
        return TURN_ENDED;
    }
    return turn->acted ? finish(replayer, turn) : TURN_ACTS;
}

static TurnEnd start_step(Replayer *replayer, const Turn *turn)
{
    StepState *step = &replayer->steps[turn->work.step];
    WorkPhase phase = turn->work.phase;
    if (turn->bar == BAR_TARGET) {
        conclude_without(&step->status, phase, RESULT_SKIPPED);
        return TURN_ENDED;
    }
    if (turn->bar == BAR_HELD && turn->end == TURN_WAITS) {
        return TURN_WAITS;
    }
    if (turn->bar == BAR_HELD) {
        conclude_failed(&step->status, phase);
        return TURN_ENDED;
    }
    const Asked *asked =
        step->stage == STAGE_ACT ? NULL : find_asked(replayer, turn, CONDITION_WHEN);
    Retry retry = asked == NULL ? (Retry){ 0 } : retry_of(asked);
    Answer answer = asked == NULL ? ANSWER_YES : asked->answer;
    step->asked = answer == ANSWER_YES ? 0 : step->asked + (answer == ANSWER_NO);
    switch (conclude_when(answer, &retry, step->asked, replayer->recording->planning)) {
    case VERDICT_GO_ON: return act(replayer, turn);
    case VERDICT_SKIP: conclude_without(&step->status, phase, RESULT_SKIPPED); break;
    case VERDICT_WAIT: conclude_without(&step->status, phase, RESULT_WAITING); break;
    case VERDICT_UNKNOWN: conclude_without(&step->status, phase, RESULT_UNKNOWN); break;
    case VERDICT_FAIL: conclude_failed(&step->status, phase); break;
    case VERDICT_PARK: step->stage = STAGE_START; return TURN_WAITS;
    }
    return TURN_ENDED;
}

static Str decision_text(const Replayer *replayer, const Decision *decision)
{
    Str via = STR_EMPTY;
    if (decision->because != NULL) {
        const Graph *graph = replayer->recording->graph;
        via = arena_format(replayer->arena, " (edge %u, %s '%" STR_FMT "')",
                           (unsigned)(decision->because - graph->edges) + 1,
                           requisite_kind_name((RequisiteKind)decision->because->kind),
                           STR_ARG(graph_step(graph, decision->because->to)->id));
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
        str_eq(then->reason, now->reason) && then->because == now->because) {
        return true;
    }
    Str recorded = turn->decided ? decision_text(replayer, then) : STR("nothing");
    Str decided = decision_text(replayer, now);
    return differ(replayer, turn->work.step,
                  arena_format(replayer->arena, "recorded: %" STR_FMT "; decided now: %" STR_FMT,
                               STR_ARG(recorded), STR_ARG(decided)));
}

static bool start(Replayer *replayer, const Turn *turn, TurnEnd *end)
{
    const Recording *recording = replayer->recording;
    StepState *step = &replayer->steps[turn->work.step];
    *end = TURN_ENDED;
    if (turn->bar == BAR_INTERRUPTED) {
        conclude_without(&step->status, turn->work.phase,
                         step->stage == STAGE_START ? RESULT_SKIPPED : RESULT_WAITING);
        return true;
    }
    if (turn->bar == BAR_LEAVING) {
        conclude_without(&step->status, turn->work.phase, RESULT_WAITING);
        return true;
    }
    if (step->stage == STAGE_SUCCESS || step->stage == STAGE_CONTINUE) {
        *end = ask_about_result(replayer, turn);
        return true;
    }
    Decision decision = decide(recording->graph, turn->work, schedule_statuses(replayer->schedule),
                               recording->planning, replayer->arena);
    if (!compare_decisions(replayer, turn, &decision)) {
        return false;
    }
    if (decision.kind != DECIDE_RUN) {
        conclude_without(&step->status, turn->work.phase, conclude_decision(decision.kind));
    } else if (turn->work.phase != PHASE_REACT) {
        *end = start_step(replayer, turn);
    } else if (recording->planning) {
        step->status.changed = true;
        conclude_well(&step->status, PHASE_REACT);
    } else {
        *end = act(replayer, turn);
    }
    return true;
}

/* --- Turns ----------------------------------------------------------------------------------- */

static bool next_start(Replayer *replayer, Work *out)
{
    replayer->joined_count = replayer->joined_taken = 0;
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
    if (replayer->joined_taken == replayer->joined_count) {
        return false;
    }
    *out = replayer->joined[replayer->joined_taken++];
    return true;
}

static bool take(Replayer *replayer, const Turn *turn)
{
    Work work;
    bool any = turn->kind == TURN_JOIN ? next_join(replayer, &work) : next_start(replayer, &work);
    if (!any) {
        Str recorded = work_text(replayer, turn->work);
        return differ(replayer, turn->work.step,
                      arena_format(replayer->arena,
                                   "recorded: the %" STR_FMT " came next; now: nothing is ready",
                                   STR_ARG(recorded)));
    }
    if (work.step != turn->work.step || work.phase != turn->work.phase) {
        Str recorded = work_text(replayer, turn->work);
        Str now = work_text(replayer, work);
        return differ(replayer, turn->work.step,
                      arena_format(replayer->arena,
                                   "recorded: the %" STR_FMT " came next; now: the %" STR_FMT,
                                   STR_ARG(recorded), STR_ARG(now)));
    }
    return true;
}

static bool expect(Replayer *replayer, const Turn *turn, TurnEnd where)
{
    if (*where_is(replayer, turn->work) == where) {
        return true;
    }
    Str recorded = work_text(replayer, turn->work);
    return differ(replayer, turn->work.step,
                  arena_format(replayer->arena,
                               "recorded: '%s' of the %" STR_FMT "; now: it is not one that %s",
                               turn_kind_name(turn->kind), STR_ARG(recorded),
                               turn_end_name(where)));
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
    return differ(replayer, turn->work.step,
                  arena_format(replayer->arena,
                               "recorded: %" STR_FMT "; what was observed results in: %" STR_FMT,
                               STR_ARG(recorded), STR_ARG(now)));
}

static bool go_through(Replayer *replayer, const Turn *turn)
{
    TurnEnd end = TURN_ENDED;
    switch (turn->kind) {
    case TURN_START:
    case TURN_JOIN:
        if (!take(replayer, turn) || !start(replayer, turn, &end)) {
            return false;
        }
        break;
    case TURN_FINISH:
        if (!expect(replayer, turn, TURN_ACTS)) {
            return false;
        }
        end = finish(replayer, turn);
        break;
    case TURN_WAKE:
        if (!expect(replayer, turn, TURN_WAITS)) {
            return false;
        }
        schedule_requeue(replayer->schedule, turn->work);
        *where_is(replayer, turn->work) = NOT_TAKEN;
        return true;
    case TURN_GIVE_UP:
        if (!expect(replayer, turn, TURN_WAITS)) {
            return false;
        }
        conclude_without(&replayer->steps[turn->work.step].status, turn->work.phase,
                         RESULT_WAITING);
        break;
    }
    if (!compare_ends(replayer, turn, end)) {
        return false;
    }
    *where_is(replayer, turn->work) = (uint8_t)end;
    if (end == TURN_ENDED) {
        replayer->steps[turn->work.step].stage = STAGE_START;
        replayer->steps[turn->work.step].asked = 0;
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
            differ(replayer, i,
                   arena_format(replayer->arena,
                                "recorded at the end: %" STR_FMT "; its turns result in: %" STR_FMT,
                                STR_ARG(recorded), STR_ARG(result)));
            return;
        }
    }
}

/* The record ends before the run does. */
static void differ_at_end(Replayer *replayer)
{
    Work work = { 0 };
    if (schedule_next(replayer->schedule, &work)) {
        Str next = work_text(replayer, work);
        differ(replayer, work.step,
               arena_format(replayer->arena,
                            "recorded: the run was over; now: the %" STR_FMT " comes next",
                            STR_ARG(next)));
        return;
    }
    const Graph *graph = replayer->recording->graph;
    while (work.step + 1 < graph->steps.count &&
           replayer->steps[work.step].status.result != RESULT_PENDING) {
        work.step++;
    }
    differ(replayer, work.step, STR("recorded: the run was over; now: it has not ended"));
}

Replay replay_run(const Recording *recording, Arena *arena)
{
    uint32_t count = recording->graph->steps.count;
    Replayer replayer = {
        .recording = recording,
        .arena = arena,
        .schedule = schedule_new(arena, recording->graph, recording->order, recording->workers),
        .steps = arena_alloc_zero(arena, ((size_t)count + 1) * sizeof(StepState)),
        .where = arena_alloc(arena, ((size_t)count + 1) * PHASES),
        .joined = ARENA_ARRAY(arena, Work, JOIN_MAX),
    };
    memset(replayer.where, NOT_TAKEN, ((size_t)count + 1) * PHASES);
    for (uint32_t i = 0; recording->owed != NULL && i < count; i++) {
        replayer.steps[i].status.owed = recording->owed[i];
        schedule_set_owed(replayer.schedule, i, recording->owed[i]);
    }
    for (uint32_t i = 0; i < recording->turns->list.len; i++) {
        replayer.result.turns++;
        if (!go_through(&replayer, &recording->turns->list.items[i])) {
            return replayer.result;
        }
    }
    if (!schedule_is_finished(replayer.schedule)) {
        differ_at_end(&replayer);
        return replayer.result;
    }
    compare_results(&replayer);
    return replayer.result;
}
