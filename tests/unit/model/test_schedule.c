#include "model/schedule.h"

#include <stdlib.h>

#include "model/steps_text.h"

/* Runs a schedule by hand: every step ends as specified in `results` ("a=failed b=changed"), by
 * default "ok"; "a?changed" is the result of a check. decide() makes the decisions. */
typedef struct Runner {
    World world;
    Schedule *schedule;
    const char *results;
    Buf log; /* "a b? c!": in the order of dispatch; a check, a reaction */
} Runner;

static void runner_start(Runner *runner, const char *steps, const char *results, OrderMode mode,
                         uint32_t workers)
{
    world_make(&runner->world, steps);
    runner->schedule = schedule_new(&runner->world.arena, runner->world.graph, mode, workers);
    runner->results = results;
    runner->log = buf_make_in(&runner->world.arena, BUF_UNLIMITED);
}

static void runner_clear(Runner *runner)
{
    world_clear(&runner->world);
}
DEFINE_AUTO_CLEAR(Runner, runner_clear)

static StepResult result_of(const Runner *runner, Str name, char sign)
{
    Str rest = str_from_c(runner->results), word;
    while (str_split_next(&rest, ' ', &word)) {
        if (word.len > name.len && str_starts(word, name) && word.data[name.len] == sign) {
            StepResult result;
            assert_true(step_result_from_name(str_from_offset(word, name.len + 1), &result));
            return result;
        }
    }
    return RESULT_OK;
}

static void log_work(Runner *runner, Work work)
{
    static const char *const signs[] = {
        [PHASE_CHECK] = "?", [PHASE_RUN] = "", [PHASE_REACT] = "!"
    };
    buf_put_format(&runner->log, "%s%" STR_FMT "%s", runner->log.len > 0 ? " " : "",
                   STR_ARG(graph_step(runner->world.graph, work.step)->name), signs[work.phase]);
}

/* Completes dispatched steps according to the decision and the specified results. */
static void end(Runner *runner, Work work)
{
    const StepStatus *statuses = schedule_statuses(runner->schedule);
    Decision decision = decide(runner->world.graph, work, statuses, false, &runner->world.arena);
    static const StepResult instead[] = { [DECIDE_SKIP] = RESULT_SKIPPED,
                                          [DECIDE_BLOCK] = RESULT_BLOCKED,
                                          [DECIDE_WAIT] = RESULT_WAITING,
                                          [DECIDE_UNKNOWN] = RESULT_UNKNOWN };
    Str name = graph_step(runner->world.graph, work.step)->name;
    StepResult result = decision.kind != DECIDE_RUN
                            ? instead[decision.kind]
                            : result_of(runner, name, work.phase == PHASE_CHECK ? '?' : '=');
    StepStatus status = statuses[work.step];
    if (work.phase == PHASE_CHECK) {
        status.pending = result;
    } else if (work.phase == PHASE_REACT) {
        status.reacted = true;
    } else {
        status.result = result;
        status.changed = result == RESULT_CHANGED;
    }
    schedule_done(runner->schedule, work, &status);
}

/* One at a time, each completed before the next. */
static Str run_serial(Runner *runner)
{
    Work work;
    while (schedule_next(runner->schedule, &work)) {
        log_work(runner, work);
        end(runner, work);
    }
    assert_true(schedule_is_finished(runner->schedule));
    return buf_str(&runner->log);
}

/* As many as possible, then the first of them completes: "a b | c |". */
static Str run_waves(Runner *runner)
{
    Work held[256];
    for (;;) {
        uint32_t count = 0;
        while (count < COUNT_OF(held) && schedule_next(runner->schedule, &held[count])) {
            log_work(runner, held[count]);
            count++;
        }
        if (count == 0) {
            break;
        }
        buf_put_c(&runner->log, " |");
        for (uint32_t i = 0; i < count; i++) {
            end(runner, held[i]);
        }
    }
    assert_true(schedule_is_finished(runner->schedule));
    return buf_str(&runner->log);
}

/* "a=ok b=blocked" of all steps. */
static Str outcome(Runner *runner)
{
    Buf out = buf_make_in(&runner->world.arena, BUF_UNLIMITED);
    const StepStatus *statuses = schedule_statuses(runner->schedule);
    for (uint32_t i = 0; i < runner->world.graph->steps.count; i++) {
        buf_put_format(&out, "%s%" STR_FMT "=%s", i > 0 ? " " : "",
                       STR_ARG(graph_step(runner->world.graph, i)->name),
                       step_result_name(statuses[i].result));
    }
    return buf_str(&out);
}

typedef struct Case {
    const char *steps;
    uint32_t workers;
    const char *log;
    const char *results;
    const char *outcome;
} Case;

static void assert_log(Str log, const Case *expected)
{
    if (!str_eq_c(log, expected->log)) {
        print_error("%s\n", expected->steps);
    }
    assert_str(log, expected->log);
}

static void mode_ansible_runs_one_at_a_time(void **state)
{
    static const Case cases[] = {
        { "a; b; c", 8, "a b c", "", "a=ok b=ok c=ok" },
        { "a require=c; b; c", 8, "c a b", "c=failed", "a=blocked b=ok c=failed" },
        { "a; b require=a; c require=b", 8, "a b c", "a=failed", "a=failed b=blocked c=blocked" },
        { "a; b onchanges=a; c require=b", 8, "a b c", "", "a=ok b=skipped c=ok" },
        { "a; b onfail=a; c onfail=b", 8, "a b c", "a=failed", "a=failed b=ok c=skipped" },
        { "a prereq=b; b", 8, "b? a b", "b?changed b=changed", "a=ok b=changed" },
        { "a prereq=b; b", 8, "b? a b", "b?ok", "a=skipped b=ok" },
        { "a prereq=b; b", 8, "b? a b", "b?changed a=failed", "a=failed b=blocked" },
        /* A failed check ends the target. */
        { "a prereq=b; b; c require=b", 8, "b? a c", "b?failed", "a=blocked b=failed c=blocked" },
        { "a prereq=b; b require=c; c", 8, "c b? a b", "c=failed", "a=blocked b=blocked c=failed" },
        /* The unchanged tail of a chain silences all of it. */
        { "a prereq=b; b prereq=c; c", 8, "c? b? a b c", "c?ok b?changed",
          "a=skipped b=skipped c=ok" },
        { "a prereq=b; b prereq=c; c", 8, "c? b? a b c", "c?changed b?changed", "a=ok b=ok c=ok" },
        /* Reactions come at the end, once, in order, and only after changes. */
        { "a listen=b; b; c listen=b,a", 8, "a b c a! c!", "b=changed", "a=ok b=changed c=ok" },
        { "a listen=b; b", 8, "a b", "", "a=ok b=ok" },
        { "a require=c listen=b; b; c", 8, "c a b", "b=changed c=failed",
          "a=blocked b=changed c=failed" },
        { "", 8, "", "", "" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_CLEAR(Runner) runner;
        runner_start(&runner, cases[i].steps, cases[i].results, MODE_ANSIBLE, cases[i].workers);
        assert_log(run_serial(&runner), &cases[i]);
        assert_str(outcome(&runner), cases[i].outcome);
    }
}

static void mode_ansible_never_dispatches_two(void **state)
{
    AUTO_CLEAR(Runner) runner;
    runner_start(&runner, "a; b mod=sleep; c", "", MODE_ANSIBLE, 8);
    assert_str(run_waves(&runner), "a | b | c |");
}

static void mode_justdoit_runs_everything_allowed(void **state)
{
    static const Case cases[] = {
        { "a; b; c require=a; d", 8, "a b d | c |" },
        { "a; b; c; d", 2, "a b | c d |" },
        { "a; b require=a; c require=a; d require=b,c", 8, "a | b c | d |" },
        { "a claims=path:/x; b claims=path:/x; c", 8, "a c | b |" },
        { "a claims=path:/x/y; b claims=path:/x; c", 8, "b c | a |" },
        { "a; b; c order=first; d order=last", 8, "c | a b | d |" },
        { "a; b; c order=first require=a; d order=last; e require=d", 8, "a | c | b | d | e |" },
        { "a order=last; b order=first require=a; c", 8, "a | b | c |" },
        { "a order=2; b; c order=1", 1, "c | a | b |" },
        /* Steps that only wait need no worker. */
        { "a mod=sleep; b; c mod=sleep; d", 1, "a c b | d |" },
        { "a prereq=b; b; c", 8, "b? c | a | b |" },
        { "a listen=b; b; c listen=b", 8, "a b c |" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_CLEAR(Runner) runner;
        runner_start(&runner, cases[i].steps, "b?changed", MODE_JUSTDOIT, cases[i].workers);
        assert_log(run_waves(&runner), &cases[i]);
    }
}

static void mode_genius_runs_long_chains_and_sources_first(void **state)
{
    static const Case cases[] = {
        { "a; b; c require=b; d require=c", 1, "b | c | a | d |" },
        { "a; b; c mod=slow require=b", 1, "b | c | a |" },
        { "a mod=pkg; b mod=repo; c", 8, "b c | a |" },
        { "a mod=pkg; b mod=repo require=a; c mod=pkg", 8, "a | b | c |" },
        { "a mod=pkg; b mod=repo order=last; c", 8, "a c | b |" },
        { "a mod=pkg order=first; b mod=repo", 8, "a | b |" },
        { "a mod=pkg; b mod=pkg", 8, "a b |" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_CLEAR(Runner) runner;
        runner_start(&runner, cases[i].steps, "", MODE_GENIUS, cases[i].workers);
        assert_log(run_waves(&runner), &cases[i]);
    }
}

static void ready_steps_of_one_action_can_share_a_transaction(void **state)
{
    AUTO_CLEAR(Runner) runner;
    runner_start(&runner, "a mod=pkg; b; c mod=pkg; d mod=pkg require=b; e mod=pkg", "",
                 MODE_GENIUS, 1);
    Work work, more[JOIN_MAX];
    /* b has the longest chain. */
    assert_true(schedule_next(runner.schedule, &work));
    assert_int_equal(work.step, 1);
    assert_int_equal(schedule_join(runner.schedule, work, more), 0);
    end(&runner, work);
    assert_true(schedule_next(runner.schedule, &work));
    assert_int_equal(work.step, 0);
    assert_int_equal(schedule_join(runner.schedule, work, more), 3);
    assert_int_equal(more[0].step, 2);
    assert_int_equal(more[1].step, 3);
    assert_int_equal(more[2].step, 4);
    Work other;
    assert_false(schedule_next(runner.schedule, &other)); /* the only worker is busy */
    for (int i = 0; i < 3; i++) {
        end(&runner, more[i]);
    }
    end(&runner, work);
    assert_true(schedule_is_finished(runner.schedule));
}

static void transactions_have_a_maximum_size(void **state)
{
    AUTO_CLEAR(Buf) steps = buf_make(BUF_UNLIMITED);
    for (int i = 0; i < JOIN_MAX + 10; i++) {
        buf_put_format(&steps, "s%d mod=pkg; ", i);
    }
    buf_put_char(&steps, '\0');
    AUTO_CLEAR(Runner) runner;
    runner_start(&runner, steps.data, "", MODE_GENIUS, 1);
    Work work, *more = ARENA_ARRAY(&runner.world.arena, Work, 2 * JOIN_MAX);
    assert_true(schedule_next(runner.schedule, &work));
    assert_int_equal(schedule_join(runner.schedule, work, more), JOIN_MAX);
    for (int i = 0; i < JOIN_MAX; i++) {
        end(&runner, more[i]);
    }
    end(&runner, work);
    run_serial(&runner); /* the rest comes later, each step once */
}

static void a_waiting_step_delays_only_its_dependents(void **state)
{
    AUTO_CLEAR(Runner) runner;
    runner_start(&runner, "a; b require=a; c; d order=last", "", MODE_ANSIBLE, 1);
    Work a, work;
    assert_true(schedule_next(runner.schedule, &a));
    schedule_park(runner.schedule, a);
    assert_true(schedule_next(runner.schedule, &work));
    assert_int_equal(work.step, 2);
    end(&runner, work);
    assert_false(schedule_next(runner.schedule, &work));
    assert_false(schedule_is_finished(runner.schedule));
    schedule_requeue(runner.schedule, a);
    assert_str(run_serial(&runner), "a b d");
    assert_str(outcome(&runner), "a=ok b=ok c=ok d=ok");
}

static void steps_still_waiting_at_the_end_finish_as_waiting(void **state)
{
    AUTO_CLEAR(Runner) runner;
    runner_start(&runner, "a; b require=a; c onfail=a", "", MODE_JUSTDOIT, 4);
    Work work;
    assert_true(schedule_next(runner.schedule, &work));
    schedule_park(runner.schedule, work);
    schedule_done(runner.schedule, work, &(StepStatus){ .result = RESULT_WAITING });
    run_serial(&runner);
    assert_str(outcome(&runner), "a=waiting b=waiting c=waiting");
}

static void debts_affect_decisions_and_reactions(void **state)
{
    AUTO_CLEAR(Runner) runner;
    runner_start(&runner, "a; b onchanges=a; c listen=a", "b=changed", MODE_ANSIBLE, 1);
    schedule_set_owed(runner.schedule, 1, 1 << REQUISITE_ONCHANGES);
    schedule_set_owed(runner.schedule, 2, 1 << REQUISITE_LISTEN);
    assert_str(run_serial(&runner), "a b c c!");
    assert_str(outcome(&runner), "a=ok b=changed c=ok");
    assert_int_equal(schedule_statuses(runner.schedule)[1].owed, 1 << REQUISITE_ONCHANGES);
    assert_true(schedule_statuses(runner.schedule)[2].reacted);
}

static void a_chain_of_failed_checks_passes_without_recursion(void **state)
{
    enum {
        COUNT = 20000
    };
    char *text = malloc(COUNT * 48);
    size_t len = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        len += i + 1 < COUNT ? (size_t)sprintf(text + len, "s%u prereq=s%u\n", i, i + 1)
                             : (size_t)sprintf(text + len, "s%u\n", i);
    }
    text[len] = '\0';
    static const OrderMode modes[] = { MODE_ANSIBLE, MODE_JUSTDOIT, MODE_GENIUS };
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        AUTO_CLEAR(Runner) runner;
        runner_start(&runner, text, "s19999?failed", modes[i], 4);
        run_serial(&runner);
        const StepStatus *statuses = schedule_statuses(runner.schedule);
        assert_int_equal(statuses[COUNT - 1].result, RESULT_FAILED);
        assert_int_equal(statuses[COUNT - 2].result, RESULT_BLOCKED);
        assert_int_equal(statuses[0].result, RESULT_BLOCKED);
    }
    free(text);
}

/* Random steps of all kinds; for any mode and number of workers, each step ends with the same
 * result, after all its dependencies. */
static void all_modes_give_the_same_results(void **state)
{
    static const char *const kinds[] = { "require", "watch",      "onchanges",   "onfail",
                                         "listen",  "onfail_all", "require_any", "watch_any" };
    uint32_t seed = 7;
    for (int round = 0; round < 100; round++) {
        char text[16000], results[4000];
        size_t len = 0, results_len = 0;
        for (uint32_t i = 0; i < 60; i++) {
            seed = seed * 1664525u + 1013904223u;
            len +=
                (size_t)snprintf(text + len, sizeof text - len, "s%u claims=p:%u%s", i, seed >> 28,
                                 (seed >> 9) % 20 == 0   ? " order=last"
                                 : (seed >> 9) % 20 == 1 ? " order=first"
                                                         : "");
            uint32_t count = (seed >> 20) % 4;
            for (uint32_t j = 0; i > 0 && j < count; j++) {
                seed = seed * 1664525u + 1013904223u;
                len += (size_t)snprintf(text + len, sizeof text - len, " %s=s%u",
                                        kinds[(seed >> 24) % COUNT_OF(kinds)], (seed >> 8) % i);
            }
            len += (size_t)snprintf(text + len, sizeof text - len, "\n");
            static const char *const ends[] = { "ok", "changed", "changed", "failed" };
            seed = seed * 1664525u + 1013904223u;
            results_len += (size_t)snprintf(results + results_len, sizeof results - results_len,
                                            "s%u=%s ", i, ends[seed >> 30]);
        }
        AUTO_CLEAR(Runner) serial, wide, genius;
        runner_start(&serial, text, results, MODE_ANSIBLE, 1);
        runner_start(&wide, text, results, MODE_JUSTDOIT, 5);
        runner_start(&genius, text, results, MODE_GENIUS, 3);
        run_serial(&serial);
        run_waves(&wide);
        run_waves(&genius);
        assert_true(str_eq(outcome(&serial), outcome(&wide)));
        assert_true(str_eq(outcome(&serial), outcome(&genius)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mode_ansible_runs_one_at_a_time),
        cmocka_unit_test(mode_ansible_never_dispatches_two),
        cmocka_unit_test(mode_justdoit_runs_everything_allowed),
        cmocka_unit_test(mode_genius_runs_long_chains_and_sources_first),
        cmocka_unit_test(ready_steps_of_one_action_can_share_a_transaction),
        cmocka_unit_test(transactions_have_a_maximum_size),
        cmocka_unit_test(a_waiting_step_delays_only_its_dependents),
        cmocka_unit_test(steps_still_waiting_at_the_end_finish_as_waiting),
        cmocka_unit_test(debts_affect_decisions_and_reactions),
        cmocka_unit_test(a_chain_of_failed_checks_passes_without_recursion),
        cmocka_unit_test(all_modes_give_the_same_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
