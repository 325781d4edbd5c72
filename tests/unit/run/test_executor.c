#include "run/executor.h"

#include <pthread.h>

#include "model/steps_text.h"
#include "sys/signals.h"

/* A run without a site. Events are recorded line by line in `log`; a table specifies how each event
 * ends: one letter for each time that it happens, the last one for all further times.
 *
 *     y  it succeeded; a check found a change, a condition holds
 *     n  a check found nothing, a condition does not hold
 *     u  it is unknown
 *     f  it failed, with a text that contains a secret
 *
 * Events not in the table succeed. */
typedef struct Ending {
    const char *event; /* "check a", "apply a", "when x" with the text of the condition ... */
    const char *letters;
} Ending;

enum {
    ENDINGS_MAX = 12
};

#define SECRET "hunter2"

typedef struct Play {
    World world;
    Host *host;
    RunCoreSettings settings;
    CallServices services;
    TaskJournal journal;
    Ending endings[ENDINGS_MAX];
    uint32_t happened[ENDINGS_MAX];
    pthread_mutex_t mutex;
    Buf log;
    bool again;
    int64_t timeout_ms; /* as in the last call */
    int64_t change_ms;
    bool ran_after_change;
    const ShutdownRequest *shutdown; /* requested by "apply leaver" */
    uint32_t ticks;                  /* of the view */
    uint32_t interrupts;             /* sent by "apply interrupter" */
    int descriptor;                  /* of these; -1: none */
    Executor *executor;
} Play;

static Str step_name(const Play *play, uint32_t step)
{
    return graph_step(play->world.graph, step)->name;
}

/* Records the event and returns how it ends. */
static char happens(Play *play, const char *event, Str what)
{
    char ending = 'y';
    pthread_mutex_lock(&play->mutex);
    Str line = arena_format(&play->world.arena, "%s %" STR_FMT, event, STR_ARG(what));
    buf_put_format(&play->log, "%" STR_FMT "\n", STR_ARG(line));
    for (uint32_t i = 0; i < ENDINGS_MAX && play->endings[i].event != NULL; i++) {
        const char *letters = play->endings[i].letters;
        if (str_eq_c(line, play->endings[i].event)) {
            size_t at = play->happened[i]++;
            ending = letters[at < strlen(letters) ? at : strlen(letters) - 1];
        }
    }
    pthread_mutex_unlock(&play->mutex);
    return ending;
}

static bool ends_well(char ending, const char *event, Error *err)
{
    return ending != 'f' || error_set(err, ERROR_OS, "%s fails with " SECRET, event);
}

/* --- Actions --------------------------------------------------------------------------------- */

static Play *play_of(const Call *call)
{
    return call->services->context;
}

static bool step_check(Call *call, Outcome *outcome, Error *err)
{
    Play *play = play_of(call);
    char ending =
        happens(play, call->is_prereq_check ? "look" : "check", step_name(play, call->step));
    outcome->changed = ending == 'y';
    outcome->unknown = ending == 'u';
    call->provided_by = ending == 'u' ? STR("another step provides " SECRET) : STR_EMPTY;
    outcome->comment = STR("comment with " SECRET);
    outcome->diff = STR("-" SECRET "\n");
    play->timeout_ms = call->timeout_ms;
    return ends_well(ending, "check", err);
}

static bool step_apply(Call *call, Outcome *outcome, Error *err)
{
    Play *play = play_of(call);
    Str name = step_name(play, call->step);
    char ending = happens(play, "apply", name);
    outcome->changed = ending != 'f';
    outcome->out = STR("out with " SECRET);
    if (str_eq(name, STR("leaver"))) {
        outcome->shutdown = play->shutdown;
    }
    if (str_eq(name, STR("interrupter"))) {
        for (uint32_t i = 0; i < play->interrupts; i++) {
            kill(getpid(), i == 0 ? SIGTERM : SIGHUP); /* two of one kind would be merged */
        }
    }
    return ends_well(ending, "apply", err);
}

static bool step_react(Call *call, Outcome *outcome, Error *err)
{
    Play *play = play_of(call);
    play->change_ms = call->change_ms;
    play->ran_after_change = call->ran_after_change;
    outcome->changed = true;
    return ends_well(happens(play, "react", step_name(play, call->step)), "react", err);
}

static void step_merge(MergedCall *calls, uint32_t count)
{
    char number[16];
    snprintf(number, sizeof number, "%u", count);
    happens(play_of(calls[0].call), "merge", str_from_c(number));
    for (uint32_t i = 0; i < count; i++) {
        calls[i].failed = !step_apply(calls[i].call, calls[i].outcome, calls[i].error);
    }
}

/* `brief` runs in the thread of the run, the others in a worker. */
static const Action brief = { "brief", "", world_params, step_check, step_apply, step_react };
static const Action worker = { "worker",   "",         world_params,          step_check,
                               step_apply, step_react, .always_changes = true };
static const Action joiner = { "joiner",   "",         world_params,       step_check,
                               step_apply, step_react, .merge = step_merge };

/* --- The environment of the run -------------------------------------------------------------- */

static bool journal_before(void *context, uint32_t step, const Outcome *found, Error *err)
{
    return ends_well(happens(context, "before", step_name(context, step)), "before", err);
}

static void journal_after(void *context, uint32_t step, const Outcome *outcome, bool ok)
{
    happens(context, ok ? "after" : "after failed", step_name(context, step));
}

static void add_problem(Problems *problems)
{
    Problem *problem = problems_add(problems, "E0301", NULL, 0, 0, "evaluating " SECRET);
    ProblemNote *note = ARENA_NEW(problems->arena, ProblemNote);
    note->message = STR("in item " SECRET);
    problem->hint = STR("did you mean " SECRET "?");
    problem->fix = (ProblemFix){ .line = 1, .text = STR(SECRET) };
    problem->excerpt = STR("when: " SECRET);
    problem->notes = note;
}

static DynamicOutcome world_evaluate(void *context, uint32_t step, const Dynamic *dynamic, bool own,
                                     Arena *arena, Value *out, Problems *problems)
{
    Play *play = context;
    char ending = happens(play,
                          play->again ? "ask again"
                          : own       ? "ask"
                                      : "when",
                          value_str(dynamic->value));
    *out = value_bool(ending == 'y');
    if (ending == 'f') {
        add_problem(problems);
        return DYNAMIC_FAILED;
    }
    return ending == 'u' ? DYNAMIC_UNKNOWN : DYNAMIC_OK;
}

static void set_evaluate_again(void *context, bool again)
{
    ((Play *)context)->again = again;
}

static DynamicOutcome world_resolve(void *context, uint32_t step, Arena *arena, Value *out,
                                    Problems *problems)
{
    char ending = happens(context, "params", step_name(context, step));
    for (uint32_t i = 0; world_params[i].name != NULL; i++) {
        out[i] = value_int(step + 1);
    }
    if (ending == 'f') {
        add_problem(problems);
        return DYNAMIC_FAILED;
    }
    return ending == 'u' ? DYNAMIC_UNKNOWN : DYNAMIC_OK;
}

static bool world_targeted(void *context, uint32_t step)
{
    return happens(context, "target", step_name(context, step)) == 'y';
}

static Cause world_cause(void *context, uint32_t step, const Value *params)
{
    assert_int_equal(params[0].integer, step + 1);
    happens(context, "cause", step_name(context, step));
    return CAUSE_DRIFT;
}

static void world_ended(void *context, Work work, const Value *params)
{
    assert_true(params == NULL || params[0].integer == work.step + 1);
    happens(context, params != NULL ? "ended" : "ended without", step_name(context, work.step));
}

static Str world_scrub(void *context, Str text, Arena *arena)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t at = 0; at < text.len;) {
        bool secret = str_starts(str_from_offset(text, at), STR(SECRET));
        buf_put(&out, secret ? STR("***") : str_slice(text, at, at + 1));
        at += secret ? strlen(SECRET) : 1;
    }
    return buf_str(&out);
}

static void view_waits(void *context, uint32_t step, Str why, int64_t until_us)
{
    Play *play = context;
    happens(play, "waits",
            arena_format(&play->world.arena, "%" STR_FMT ": %" STR_FMT,
                         STR_ARG(step_name(play, step)), STR_ARG(why)));
}

static void view_tick(void *context)
{
    ((Play *)context)->ticks++;
}

static void view_interrupted(void *context, bool again)
{
    happens(context, "interrupted", again ? STR("again") : STR("once"));
}

/* --- Scenarios ------------------------------------------------------------------------------- */

static void play_init(Play *play, const char *steps)
{
    *play = (Play){ .mutex = PTHREAD_MUTEX_INITIALIZER };
    world_init(&play->world);
    world_read(&play->world, str_from_c(steps));
    for (uint32_t i = 0; i < play->world.steps.count; i++) {
        StepSpec *spec = (StepSpec *)play->world.steps.items[i].spec;
        spec->action = str_eq_c(str_from_c(spec->module->name), "pkg")    ? &joiner
                       : str_eq_c(str_from_c(spec->module->name), "slow") ? &worker
                                                                          : &brief;
    }
    assert_true(world_build(&play->world));
    Error err;
    assert_true(host_open("/", &play->host, &err)); /* for output of workers; no action uses it */
    play->log = buf_make_in(&play->world.arena, BUF_UNLIMITED);
    play->services.context = play;
    play->descriptor = -1;
    play->journal = (TaskJournal){ play, journal_before, journal_after };
    play->settings = (RunCoreSettings){
        .graph = play->world.graph,
        .order = MODE_ANSIBLE,
        .workers = 1,
        .max_wait_us = -1,
        .host = play->host,
        .services = &play->services,
        .journal = &play->journal,
        .environment = { play, world_evaluate, set_evaluate_again, world_resolve, NULL, NULL, NULL,
                         NULL, NULL, world_scrub },
    };
}

static void play_clear(Play *play)
{
    executor_free(play->executor);
    host_close(play->host);
    world_clear(&play->world);
}
DEFINE_AUTO_CLEAR(Play, play_clear)

/* A scenario with its steps and how events end. */
#define PLAY(name, steps, ...) \
    AUTO_CLEAR(Play) name;     \
    play_init(&name, (steps)); \
    memcpy(name.endings, ((Ending[ENDINGS_MAX]){ __VA_ARGS__ }), sizeof name.endings)

static StepSpec *spec_of(Play *play, const char *name)
{
    return (StepSpec *)graph_step(play->world.graph, world_step(&play->world, name))->spec;
}

static const Retry three_tries = { .interval_ms = 0, .limit = 2, .is_set = true };
static const Retry no_tries = { .is_set = false };

static const Condition *condition(Play *play, const char *text, Retry retry)
{
    Condition *made = ARENA_NEW(&play->world.arena, Condition);
    *made = (Condition){ .is_set = true, .retry = retry };
    made->test.value = value_string(str_from_c(text));
    return made;
}

static void retries(Play *play, const char *step, const char *until)
{
    Retry *retry = &((RunOptions *)spec_of(play, step)->run)->retry;
    *retry = three_tries;
    retry->until.value = until == NULL ? value_null() : value_string(str_from_c(until));
}

static bool holds_secret(Str text)
{
    return str_find(text, STR(SECRET), 0) != STR_NOT_FOUND;
}

/* Displayed text contains no secret, whatever happened. */
static void assert_no_secret(const StepReport *report)
{
    assert_false(holds_secret(report->reason) || holds_secret(report->comment) ||
                 holds_secret(report->diff) || holds_secret(report->shown_out));
    if (report->error != NULL) {
        assert_false(holds_secret(report->error->message) || holds_secret(report->error->hint));
    }
}

/* Runs it: the events, line by line. */
static Str run(Play *play)
{
    play->executor = executor_new(&play->world.arena, &play->settings);
    executor_run(play->executor, play->descriptor, NULL);
    for (uint32_t i = 0; i < play->world.graph->steps.count; i++) {
        assert_no_secret(&run_core_reports(executor_core(play->executor))[i]);
    }
    assert_false(holds_secret(buf_str(&play->log)));
    return buf_str(&play->log);
}

static const StepReport *report_of(Play *play, const char *step)
{
    return &run_core_reports(executor_core(play->executor))[world_step(&play->world, step)];
}

static void assert_result(Play *play, const char *step, StepResult result)
{
    assert_string_equal(step_result_name(report_of(play, step)->status.result),
                        step_result_name(result));
}

static void assert_error(Play *play, const char *step, const char *code, const char *message)
{
    assert_result(play, step, RESULT_FAILED);
    assert_non_null(report_of(play, step)->error);
    assert_str(report_of(play, step)->error->code, code);
    assert_str(report_of(play, step)->error->message, message);
}

/* --- The phases of a step -------------------------------------------------------------------- */

static void test_steps_run_sequentially(void **state)
{
    PLAY(play, "a; b require=a", { "check b", "n" });
    play.settings.environment.ended = world_ended;
    play.settings.environment.cause = world_cause;
    assert_str(run(&play), "params a\ncheck a\nbefore a\napply a\nafter a\ncause a\nended a\n"
                           "params b\ncheck b\nended b\n");
    assert_result(&play, "a", RESULT_CHANGED);
    assert_result(&play, "b", RESULT_OK);
    assert_int_equal(report_of(&play, "a")->cause, CAUSE_DRIFT);
    assert_int_equal(report_of(&play, "b")->cause, CAUSE_NONE);
    assert_int_equal(report_of(&play, "a")->run_order, 1);
    assert_int_equal(report_of(&play, "b")->run_order, 2);
    assert_int_equal(report_of(&play, "a")->attempts, 1);
    assert_str(report_of(&play, "a")->comment, "comment with ***");
    assert_str(report_of(&play, "a")->out, "out with " SECRET);
    assert_str(report_of(&play, "a")->shown_out, "out with ***");
    assert_true(report_of(&play, "a")->secret_out);
    assert_false(run_core_was_interrupted(executor_core(play.executor)) ||
                 run_core_timed_out(executor_core(play.executor)));
}

static void test_a_worker_does_the_same(void **state)
{
    PLAY(play, "a mod=slow; b mod=slow require=a", { "apply a", "f" });
    ((RunOptions *)spec_of(&play, "a")->run)->timeout_ms = 1234;
    assert_str(run(&play), "params a\ncheck a\nbefore a\napply a\nafter failed a\n");
    assert_error(&play, "a", "E0601", "apply fails with ***");
    assert_result(&play, "b", RESULT_BLOCKED);
    assert_int_equal(play.timeout_ms, 1234);
}

static void test_a_plan_only_checks(void **state)
{
    PLAY(play, "a; b; c", { "check b", "n" }, { "check c", "u" });
    play.settings.planning = true;
    assert_str(run(&play), "params a\ncheck a\nparams b\ncheck b\nparams c\ncheck c\n");
    assert_result(&play, "a", RESULT_CHANGED);
    assert_result(&play, "b", RESULT_OK);
    assert_result(&play, "c", RESULT_UNKNOWN);
    assert_str(report_of(&play, "c")->reason, "another step provides ***");
}

/* Also for unmarked values, and also if it fails. */
static void test_a_secret_step_shows_nothing(void **state)
{
    PLAY(play, "a; b", { "apply b", "f" });
    spec_of(&play, "a")->secret = spec_of(&play, "b")->secret = true;
    run(&play);
    assert_true(report_of(&play, "a")->secret_out);
    assert_str(report_of(&play, "a")->diff, "(secret)\n");
    assert_error(&play, "b", "E0601", "failed; the reason is hidden (secret)");
}

static void test_effects_that_cannot_be_recorded_do_not_happen(void **state)
{
    PLAY(play, "a; b watch=a", { "before a", "f" });
    assert_str(run(&play), "params a\ncheck a\nbefore a\n");
    assert_error(&play, "a", "E0601", "before fails with ***");
    assert_false(report_of(&play, "a")->status.changed);
    assert_str(report_of(&play, "a")->diff, "");
    assert_result(&play, "b", RESULT_BLOCKED);
}

static void test_a_failed_check_fails_the_step(void **state)
{
    PLAY(play, "a; b prereq=a", { "look a", "f" });
    assert_str(run(&play), "params a\nlook a\n");
    assert_error(&play, "a", "E0601", "check fails with ***");
    assert_result(&play, "b", RESULT_BLOCKED);
}

static void test_prereq_runs_before_a_pending_change(void **state)
{
    PLAY(play, "a; b prereq=a", { "check a", "y" });
    play.settings.environment.ended = world_ended;
    assert_str(run(&play), "params a\nlook a\n"
                           "params b\ncheck b\nbefore b\napply b\nafter b\nended b\n"
                           "params a\ncheck a\nbefore a\napply a\nafter a\nended a\n");
    assert_int_equal(report_of(&play, "b")->run_order, 1);
    assert_int_equal(report_of(&play, "a")->run_order, 2);
}

static void test_a_step_for_other_nodes_is_skipped(void **state)
{
    PLAY(play, "a; b", { "target a", "n" });
    play.settings.environment.targeted = world_targeted;
    assert_str(run(&play), "target a\ntarget b\nparams b\ncheck b\nbefore b\napply b\nafter b\n");
    assert_result(&play, "a", RESULT_SKIPPED);
    assert_true(report_of(&play, "a")->declined);
    assert_false(report_of(&play, "b")->declined);
}

static void test_parameters_that_cannot_be_resolved_fail_the_step(void **state)
{
    PLAY(play, "a; b", { "params a", "f" }, { "params b", "u" });
    assert_str(run(&play), "params a\nparams b\n");
    assert_error(&play, "a", "E0301", "evaluating ***");
    assert_str(report_of(&play, "a")->error->hint, "did you mean ***?");
    assert_error(&play, "b", "E0602", "a parameter requires a result that this run does not have");
}

static void test_parameters_that_need_a_run_are_unknown_in_a_plan(void **state)
{
    PLAY(play, "a; b", { "params a", "u" }, { "params b", "f" });
    play.settings.planning = true;
    assert_str(run(&play), "params a\nparams b\n");
    assert_result(&play, "a", RESULT_UNKNOWN);
    assert_str(report_of(&play, "a")->reason, "a parameter is not known before the run");
    assert_error(&play, "b", "E0301", "evaluating ***");
}

/* --- Repeating ------------------------------------------------------------------------------- */

static void test_a_failed_step_is_tried_again_without_its_secret(void **state)
{
    PLAY(play, "a", { "apply a", "ffy" });
    retries(&play, "a", NULL);
    play.settings.view = (RunView){ .context = &play, .waits = view_waits };
    Str again = run(&play);
    assert_int_not_equal(str_find(again, STR("failed, will retry: apply fails with ***"), 0),
                         STR_NOT_FOUND);
    assert_result(&play, "a", RESULT_CHANGED);
    assert_null(report_of(&play, "a")->error);
    assert_str(report_of(&play, "a")->reason, "");
    assert_int_equal(report_of(&play, "a")->attempts, 3);
    assert_int_equal(report_of(&play, "a")->run_order, 1);
}

static void test_the_last_attempt_fails_the_step(void **state)
{
    PLAY(play, "a; b onfail=a", { "apply a", "f" });
    retries(&play, "a", NULL);
    run(&play);
    assert_error(&play, "a", "E0601", "apply fails with ***");
    assert_int_equal(report_of(&play, "a")->attempts, 3);
    assert_result(&play, "b", RESULT_CHANGED);
}

static void test_a_plan_does_not_repeat(void **state)
{
    PLAY(play, "a", { "check a", "f" });
    retries(&play, "a", NULL);
    play.settings.planning = true;
    assert_str(run(&play), "params a\ncheck a\n");
    assert_error(&play, "a", "E0601", "check fails with ***");
}

static void test_a_step_is_repeated_until_its_condition_holds(void **state)
{
    PLAY(play, "a", { "ask ready", "n" }, { "ask again ready", "ny" });
    retries(&play, "a", "ready");
    assert_str(run(&play), "params a\ncheck a\nbefore a\napply a\nafter a\nask ready\n"
                           "params a\ncheck a\nbefore a\napply a\nafter a\nask again ready\n"
                           "params a\ncheck a\nbefore a\napply a\nafter a\nask again ready\n");
    assert_result(&play, "a", RESULT_CHANGED);
}

static void test_until_never_holds(void **state)
{
    PLAY(play, "a", { "ask ready", "n" }, { "ask again ready", "n" });
    retries(&play, "a", "ready");
    run(&play);
    assert_error(&play, "a", "E0603", "'until' is still false after 3 attempts");
    assert_int_equal(report_of(&play, "a")->attempts, 3);
}

static void test_until_cannot_be_evaluated(void **state)
{
    PLAY(play, "a", { "ask ready", "f" }, { "ask again ready", "f" });
    retries(&play, "a", "ready");
    run(&play);
    assert_error(&play, "a", "E0301", "evaluating ***");
    assert_str(report_of(&play, "a")->error->hint, "did you mean ***?");
}

/* --- Conditions ------------------------------------------------------------------------------ */

static void test_a_false_condition_skips(void **state)
{
    PLAY(play, "a; b require=a", { "when x", "n" });
    spec_of(&play, "a")->when = condition(&play, "x", no_tries);
    assert_str(run(&play), "when x\nparams b\ncheck b\nbefore b\napply b\nafter b\n");
    assert_result(&play, "a", RESULT_SKIPPED);
    assert_true(report_of(&play, "a")->declined);
    assert_str(report_of(&play, "a")->reason, "condition is false: x");
    assert_int_equal(report_of(&play, "a")->run_order, 0);
}

static void test_a_condition_is_waited_for(void **state)
{
    PLAY(play, "a", { "when x", "n" }, { "ask again x", "ny" });
    spec_of(&play, "a")->when = condition(&play, "x", three_tries);
    play.settings.view = (RunView){ .context = &play, .waits = view_waits, .tick = view_tick };
    assert_str(run(&play), "when x\nwaits a: waiting for: x\nask again x\nwaits a: waiting for: x\n"
                           "ask again x\nparams a\ncheck a\nbefore a\napply a\nafter a\n");
    assert_true(play.ticks > 0);
    assert_result(&play, "a", RESULT_CHANGED);
    assert_str(report_of(&play, "a")->reason, "");
}

static void test_waiting_for_a_condition_times_out(void **state)
{
    PLAY(play, "a", { "when x", "n" }, { "ask again x", "n" });
    spec_of(&play, "a")->when = condition(&play, "x", three_tries);
    run(&play);
    assert_error(&play, "a", "E0604", "gave up after 3 attempts: x");
}

static void test_a_condition_that_cannot_be_evaluated_fails(void **state)
{
    PLAY(play, "a; b", { "when x", "u" }, { "when y", "f" });
    spec_of(&play, "a")->when = condition(&play, "x", three_tries);
    spec_of(&play, "b")->when = condition(&play, "y", three_tries);
    assert_str(run(&play), "when x\nwhen y\n");
    assert_error(&play, "a", "E0602",
                 "its condition requires a result that this run does not have");
    assert_error(&play, "b", "E0301", "evaluating ***");
    const Problem *error = report_of(&play, "b")->error;
    assert_str(error->hint, "did you mean ***?");
    assert_str(error->notes->message, "in item ***");
    assert_str(error->excerpt, "");
    assert_str(error->fix.text, "");
}

static void test_a_plan_does_not_wait_for_conditions(void **state)
{
    PLAY(play, "a; b", { "when x", "u" }, { "when y", "n" });
    spec_of(&play, "a")->when = condition(&play, "x", three_tries);
    spec_of(&play, "b")->when = condition(&play, "y", three_tries);
    play.settings.planning = true;
    assert_str(run(&play), "when x\nwhen y\n");
    assert_result(&play, "a", RESULT_UNKNOWN);
    assert_result(&play, "b", RESULT_WAITING);
}

/* A job reached in two ways, each with its conditions: one suffices. */
static void play_gates(Play *play)
{
    Job *job = (Job *)spec_of(play, "a")->job;
    JobGate *outer = ARENA_NEW(&play->world.arena, JobGate);
    JobGate *first = ARENA_NEW(&play->world.arena, JobGate);
    JobGate *second = ARENA_NEW(&play->world.arena, JobGate);
    *outer = (JobGate){ .when = *condition(play, "outer", no_tries) };
    *first = (JobGate){ .when = *condition(play, "first", no_tries), .outer = outer };
    *second = (JobGate){ .when = *condition(play, "second", no_tries) };
    job->gates = arena_alloc(&play->world.arena, 2 * sizeof *job->gates);
    job->gates[0] = first;
    job->gates[1] = second;
    job->gate_count = 2;
}

static void test_one_path_to_a_job_suffices(void **state)
{
    PLAY(play, "a", { "when outer", "n" });
    play_gates(&play);
    spec_of(&play, "a")->when = condition(&play, "own", no_tries);
    assert_str(run(&play), "when first\nwhen outer\nwhen second\nwhen own\n"
                           "params a\ncheck a\nbefore a\napply a\nafter a\n");
}

static void test_no_path_to_a_job(void **state)
{
    PLAY(play, "a", { "when first", "n" }, { "when second", "n" });
    play_gates(&play);
    spec_of(&play, "a")->when = condition(&play, "own", no_tries);
    assert_str(run(&play), "when first\nwhen second\n");
    assert_str(report_of(&play, "a")->reason, "condition is false: second");
}

static void test_success_decides_about_the_result(void **state)
{
    PLAY(play, "a; b require=a", { "ask fine", "n" });
    spec_of(&play, "a")->success = condition(&play, "fine", no_tries);
    assert_str(run(&play), "params a\ncheck a\nbefore a\napply a\nafter a\nask fine\n");
    assert_error(&play, "a", "E0603", "'success' is false: fine");
    assert_result(&play, "b", RESULT_BLOCKED);
}

static void test_success_is_evaluated_again_without_acting(void **state)
{
    PLAY(play, "a; b", { "ask fine", "n" }, { "ask again fine", "ny" }, { "ask on", "n" });
    spec_of(&play, "a")->success = condition(&play, "fine", three_tries);
    spec_of(&play, "a")->proceed = condition(&play, "on", three_tries);
    play.settings.view = (RunView){ .context = &play, .waits = view_waits };
    play.settings.environment.ended = world_ended;
    /* While it waits, others continue; `continue` has its own attempts. */
    assert_str(run(&play), "params a\ncheck a\nbefore a\napply a\nafter a\nask fine\n"
                           "waits a: waiting until 'success' is true: fine\n"
                           "params b\ncheck b\nbefore b\napply b\nafter b\nended b\n"
                           "ask again fine\nwaits a: waiting until 'success' is true: fine\n"
                           "ask again fine\nask on\nwaits a: waiting until 'continue' is true: on\n"
                           "ask again on\nended a\n");
    assert_result(&play, "a", RESULT_CHANGED);
}

static void test_a_continue_that_cannot_be_evaluated_fails(void **state)
{
    PLAY(play, "a; b", { "ask on", "u" }, { "ask off", "f" });
    spec_of(&play, "a")->proceed = condition(&play, "on", three_tries);
    spec_of(&play, "b")->proceed = condition(&play, "off", three_tries);
    run(&play);
    assert_error(&play, "a", "E0602", "cannot evaluate 'continue': on");
    assert_error(&play, "b", "E0301", "evaluating ***");
    assert_str(report_of(&play, "b")->error->hint, "did you mean ***?");
}

static void test_a_plan_continues_if_the_result_is_unknown(void **state)
{
    PLAY(play, "a", { "ask fine", "n" }, { "ask on", "u" });
    spec_of(&play, "a")->success = condition(&play, "fine", no_tries);
    spec_of(&play, "a")->proceed = condition(&play, "on", no_tries);
    play.settings.planning = true;
    assert_str(run(&play), "params a\ncheck a\nask fine\nask on\n");
    assert_result(&play, "a", RESULT_CHANGED);
}

/* --- Reactions ------------------------------------------------------------------------------- */

static void test_watch_reacts_to_a_change(void **state)
{
    PLAY(play, "a; b watch=a; c; d watch=c", { "check b", "n" }, { "check c", "n" },
         { "check d", "n" });
    assert_str(run(&play), "params a\ncheck a\nbefore a\napply a\nafter a\n"
                           "params b\ncheck b\nbefore b\nreact b\nafter b\n"
                           "params c\ncheck c\nparams d\ncheck d\n");
    assert_true(play.change_ms > 0);
    assert_false(play.ran_after_change);
    assert_result(&play, "b", RESULT_CHANGED);
    assert_result(&play, "d", RESULT_OK);
}

static void test_a_plan_shows_pending_reactions(void **state)
{
    PLAY(play, "a; b watch=a; c listen=a", { "check b", "n" }, { "check c", "n" });
    play.settings.planning = true;
    assert_str(run(&play), "params a\ncheck a\nparams b\ncheck b\nparams c\ncheck c\nparams c\n");
    assert_result(&play, "b", RESULT_CHANGED);
    assert_result(&play, "c", RESULT_CHANGED);
    assert_true(str_starts(report_of(&play, "b")->comment, STR("would re")));
    assert_true(str_starts(report_of(&play, "c")->reason, STR("would re")));
}

static void test_listen_reacts_at_the_end(void **state)
{
    PLAY(play, "a listen=b; b; c listen=d; d", { "check a", "n" }, { "check c", "n" },
         { "check d", "n" });
    play.settings.environment.cause = world_cause;
    assert_str(run(&play), "params a\ncheck a\n"
                           "params b\ncheck b\nbefore b\napply b\nafter b\ncause b\n"
                           "params c\ncheck c\nparams d\ncheck d\n"
                           "params a\nbefore a\nreact a\nafter a\n");
    assert_true(play.change_ms > 0);
    assert_false(play.ran_after_change);
    assert_result(&play, "a", RESULT_CHANGED);
    assert_true(report_of(&play, "a")->status.reacted);
    assert_int_equal(report_of(&play, "a")->cause, CAUSE_NONE);
    assert_false(report_of(&play, "c")->status.reacted);
}

static void test_a_reaction_after_the_change_is_recognized(void **state)
{
    PLAY(play, "b; a listen=b", { "check a", "y" });
    run(&play);
    assert_true(play.ran_after_change);
}

static void test_a_reaction_that_cannot_be_recorded_fails(void **state)
{
    PLAY(play, "b; a listen=b", { "check a", "n" }, { "before a", "f" });
    assert_str(run(&play), "params b\ncheck b\nbefore b\napply b\nafter b\nparams a\ncheck a\n"
                           "params a\nbefore a\n");
    assert_error(&play, "a", "E0601", "before fails with ***");
    assert_false(report_of(&play, "a")->status.reacted);
}

static void test_a_reaction_is_not_tried_again(void **state)
{
    PLAY(play, "b; a listen=b", { "check a", "n" }, { "react a", "f" });
    retries(&play, "a", "ready");
    run(&play);
    assert_error(&play, "a", "E0601", "react fails with ***");
    assert_int_equal(report_of(&play, "a")->attempts, 2); /* the run, and the reaction */
}

static void test_actions_owed_by_an_earlier_run_happen(void **state)
{
    PLAY(play, "a; b watch=a; c listen=a", { "check a", "n" }, { "check b", "n" },
         { "check c", "n" });
    uint16_t owed[] = { 0, 1 << REQUISITE_WATCH, 1 << REQUISITE_LISTEN };
    play.settings.owed = owed;
    assert_str(run(&play), "params a\ncheck a\nparams b\ncheck b\nbefore b\nreact b\nafter b\n"
                           "params c\ncheck c\nparams c\nbefore c\nreact c\nafter c\n");
    assert_int_equal(play.change_ms, 0);
}

/* --- Transactions ---------------------------------------------------------------------------- */

static void test_ready_steps_share_a_transaction(void **state)
{
    PLAY(play, "a mod=pkg; b mod=pkg; c mod=pkg; d", { "check b", "n" });
    play.settings.order = MODE_GENIUS;
    Str log = run(&play);
    assert_int_not_equal(str_find(log, STR("merge 2\napply a\napply c\nafter a\nafter c\n"), 0),
                         STR_NOT_FOUND);
    assert_result(&play, "a", RESULT_CHANGED);
    assert_result(&play, "b", RESULT_OK);
    assert_result(&play, "c", RESULT_CHANGED);
    assert_result(&play, "d", RESULT_CHANGED);
}

static void test_one_of_a_transaction_that_cannot_be_recorded_has_failed(void **state)
{
    PLAY(play, "a mod=pkg; b mod=pkg; c mod=pkg", { "before b", "f" }, { "apply c", "f" });
    play.settings.order = MODE_GENIUS;
    assert_str(run(&play), "params a\nparams b\nparams c\ncheck a\ncheck b\ncheck c\n"
                           "before a\nbefore b\nbefore c\nmerge 2\napply a\napply c\n"
                           "after a\nafter failed c\n");
    assert_result(&play, "a", RESULT_CHANGED);
    assert_error(&play, "b", "E0601", "before fails with ***");
    assert_error(&play, "c", "E0601", "apply fails with ***");
}

static void test_plans_and_other_orders_use_no_transactions(void **state)
{
    PLAY(play, "a mod=pkg; b mod=pkg", { "check b", "y" });
    assert_str(run(&play), "params a\ncheck a\nbefore a\napply a\nafter a\n"
                           "params b\ncheck b\nbefore b\napply b\nafter b\n");
    PLAY(plan, "a mod=pkg; b mod=pkg", { "check b", "n" });
    plan.settings.order = MODE_GENIUS;
    plan.settings.planning = true;
    run(&plan);
    assert_result(&plan, "a", RESULT_CHANGED);
    assert_result(&plan, "b", RESULT_OK);
}

/* --- Early ends ------------------------------------------------------------------------------ */

static void test_nothing_starts_once_a_reboot_is_requested(void **state)
{
    PLAY(play, "a; leaver require=a; b; c listen=a", { "check a", "y" });
    ShutdownRequest shutdown = { .kind = SHUTDOWN_REBOOT, .resumes = true };
    play.shutdown = &shutdown;
    assert_str(run(&play), "params a\ncheck a\nbefore a\napply a\nafter a\n"
                           "params leaver\ncheck leaver\nbefore leaver\napply leaver\n"
                           "after leaver\n");
    assert_result(&play, "leaver", RESULT_WAITING);
    assert_result(&play, "b", RESULT_WAITING);
    assert_str(report_of(&play, "b")->reason, "waiting for the machine to reboot");
    assert_int_equal(report_of(&play, "leaver")->shutdown->kind, SHUTDOWN_REBOOT);
}

static void test_waiting_is_limited(void **state)
{
    PLAY(play, "a; b", { "when x", "n" });
    Retry patient = { .interval_ms = 3600000, .is_set = true };
    spec_of(&play, "a")->when = condition(&play, "x", patient);
    play.settings.max_wait_us = 0;
    assert_str(run(&play), "when x\nparams b\ncheck b\nbefore b\napply b\nafter b\n");
    assert_true(run_core_timed_out(executor_core(play.executor)));
    assert_result(&play, "a", RESULT_WAITING);
    assert_str(report_of(&play, "a")->reason, "waiting for: x");
    assert_result(&play, "b", RESULT_CHANGED);
}

static void run_interrupted(Play *play, uint32_t times)
{
    Error err;
    play->interrupts = times;
    play->settings.view = (RunView){ .context = play, .interrupted = view_interrupted };
    assert_true(signals_open(&play->descriptor, &err));
    run(play);
    signals_close(play->descriptor);
    assert_true(run_core_was_interrupted(executor_core(play->executor)));
}

static void test_an_interrupt_lets_running_steps_finish(void **state)
{
    PLAY(play, "w; a; interrupter mod=slow; b; c listen=a", { "when x", "n" }, { "check c", "n" });
    Retry patient = { .interval_ms = 3600000, .is_set = true };
    spec_of(&play, "w")->when = condition(&play, "x", patient);
    play.settings.order = MODE_JUSTDOIT;
    run_interrupted(&play, 1);
    assert_result(&play, "interrupter", RESULT_CHANGED);
    assert_result(&play, "w", RESULT_SKIPPED);
    assert_true(report_of(&play, "w")->left);
    assert_null(strstr(play.log.data, "interrupted again"));
}

static void test_a_second_interrupt_cancels(void **state)
{
    PLAY(play, "interrupter mod=slow; b require=interrupter", { "check b", "y" });
    run_interrupted(&play, 2);
    assert_int_not_equal(str_find(buf_str(&play.log), STR("interrupted again"), 0), STR_NOT_FOUND);
    assert_result(&play, "interrupter", RESULT_CHANGED);
    assert_result(&play, "b", RESULT_SKIPPED);
    assert_true(report_of(&play, "b")->left);
    assert_str(report_of(&play, "b")->reason, "interrupted before it started");
}

static void test_an_interrupt_ends_waiting_for_a_result(void **state)
{
    PLAY(play, "w; interrupter mod=slow; c listen=interrupter", { "ask x", "n" },
         { "check c", "n" });
    Retry patient = { .interval_ms = 3600000, .is_set = true };
    spec_of(&play, "w")->success = condition(&play, "x", patient);
    run_interrupted(&play, 1);
    assert_result(&play, "w", RESULT_WAITING);
    assert_str(report_of(&play, "w")->reason, "interrupted while waiting");
    assert_false(report_of(&play, "w")->left);
    assert_false(report_of(&play, "c")->status.reacted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_run_sequentially),
        cmocka_unit_test(test_a_worker_does_the_same),
        cmocka_unit_test(test_a_plan_only_checks),
        cmocka_unit_test(test_a_secret_step_shows_nothing),
        cmocka_unit_test(test_effects_that_cannot_be_recorded_do_not_happen),
        cmocka_unit_test(test_a_failed_check_fails_the_step),
        cmocka_unit_test(test_prereq_runs_before_a_pending_change),
        cmocka_unit_test(test_a_step_for_other_nodes_is_skipped),
        cmocka_unit_test(test_parameters_that_cannot_be_resolved_fail_the_step),
        cmocka_unit_test(test_parameters_that_need_a_run_are_unknown_in_a_plan),
        cmocka_unit_test(test_a_failed_step_is_tried_again_without_its_secret),
        cmocka_unit_test(test_the_last_attempt_fails_the_step),
        cmocka_unit_test(test_a_plan_does_not_repeat),
        cmocka_unit_test(test_a_step_is_repeated_until_its_condition_holds),
        cmocka_unit_test(test_until_never_holds),
        cmocka_unit_test(test_until_cannot_be_evaluated),
        cmocka_unit_test(test_a_false_condition_skips),
        cmocka_unit_test(test_a_condition_is_waited_for),
        cmocka_unit_test(test_waiting_for_a_condition_times_out),
        cmocka_unit_test(test_a_condition_that_cannot_be_evaluated_fails),
        cmocka_unit_test(test_a_plan_does_not_wait_for_conditions),
        cmocka_unit_test(test_one_path_to_a_job_suffices),
        cmocka_unit_test(test_no_path_to_a_job),
        cmocka_unit_test(test_success_decides_about_the_result),
        cmocka_unit_test(test_success_is_evaluated_again_without_acting),
        cmocka_unit_test(test_a_continue_that_cannot_be_evaluated_fails),
        cmocka_unit_test(test_a_plan_continues_if_the_result_is_unknown),
        cmocka_unit_test(test_watch_reacts_to_a_change),
        cmocka_unit_test(test_a_plan_shows_pending_reactions),
        cmocka_unit_test(test_listen_reacts_at_the_end),
        cmocka_unit_test(test_a_reaction_after_the_change_is_recognized),
        cmocka_unit_test(test_a_reaction_that_cannot_be_recorded_fails),
        cmocka_unit_test(test_a_reaction_is_not_tried_again),
        cmocka_unit_test(test_actions_owed_by_an_earlier_run_happen),
        cmocka_unit_test(test_ready_steps_share_a_transaction),
        cmocka_unit_test(test_one_of_a_transaction_that_cannot_be_recorded_has_failed),
        cmocka_unit_test(test_plans_and_other_orders_use_no_transactions),
        cmocka_unit_test(test_nothing_starts_once_a_reboot_is_requested),
        cmocka_unit_test(test_waiting_is_limited),
        cmocka_unit_test(test_an_interrupt_lets_running_steps_finish),
        cmocka_unit_test(test_a_second_interrupt_cancels),
        cmocka_unit_test(test_an_interrupt_ends_waiting_for_a_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
