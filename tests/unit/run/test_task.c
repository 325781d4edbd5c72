#include "run/task.h"

#include "base/buf.h"
#include "unit.h"

/* The events of tasks in order: "check0 before0 apply0 after0+". An event named in `fails` fails
 * and records that. */
typedef struct Script {
    Arena arena;
    Buf log;
    const char *fails;     /* "before1 apply0" */
    const char *unchanged; /* steps whose check finds nothing: "0 2" */
    const char *unknown;   /* steps whose check is inconclusive */
    const char *half;      /* steps whose effect changes something before it fails */
    const char *needless;  /* steps whose effect finds nothing to do */
    bool ran_after_change; /* as reported by the last reaction */
} Script;

static bool lists(const char *words, const char *word)
{
    Str rest = str_from_c(words == NULL ? "" : words), one;
    while (str_split_next(&rest, ' ', &one)) {
        if (str_eq_c(one, word)) {
            return true;
        }
    }
    return false;
}

static bool is_in(const char *steps, uint32_t step)
{
    char word[16];
    snprintf(word, sizeof word, "%u", step);
    return lists(steps, word);
}

static void note(Script *script, const char *word)
{
    buf_put_format(&script->log, "%s%s", script->log.len > 0 ? " " : "", word);
}

static bool happens(Script *script, const char *event, uint32_t step, Error *err)
{
    char word[32];
    snprintf(word, sizeof word, "%s%u", event, step);
    note(script, word);
    return !lists(script->fails, word) || error_set(err, ERROR_OS, "%s fails", word);
}

static Script *script_of(const Call *call)
{
    return call->services->context;
}

static bool step_check(Call *call, Outcome *outcome, Error *err)
{
    Script *script = script_of(call);
    outcome->unknown = is_in(script->unknown, call->step);
    outcome->changed = !outcome->unknown && !is_in(script->unchanged, call->step);
    outcome->comment = STR("found");
    outcome->diff = STR("-old\n+new\n");
    outcome->changes = map_new(call->arena, 1);
    return happens(script, "check", call->step, err);
}

static bool has_effect(Call *call, Outcome *outcome, bool ok)
{
    const Script *script = script_of(call);
    outcome->changed =
        is_in(script->half, call->step) || (ok && !is_in(script->needless, call->step));
    return ok;
}

static bool step_apply(Call *call, Outcome *outcome, Error *err)
{
    assert_false(outcome->changed);
    assert_str(outcome->comment, "");
    return has_effect(call, outcome, happens(script_of(call), "apply", call->step, err));
}

static bool step_react(Call *call, Outcome *outcome, Error *err)
{
    script_of(call)->ran_after_change = call->ran_after_change;
    return happens(script_of(call), "react", call->step, err);
}

static void step_merge(MergedCall *calls, uint32_t count)
{
    note(script_of(calls[0].call), "[");
    for (uint32_t i = 0; i < count; i++) {
        calls[i].failed = !step_apply(calls[i].call, calls[i].outcome, calls[i].error);
    }
    note(script_of(calls[0].call), "]");
}

static const ParamSpec no_params[] = { { 0 } };
static const Action whole = { "whole",    "",         no_params,          step_check,
                              step_apply, step_react, .merge = step_merge };
static const Action looking = { "looking", "", no_params, step_check };

static bool journal_before(void *context, uint32_t step, const Outcome *found, Error *err)
{
    return happens(context, "before", step, err);
}

static void journal_after(void *context, uint32_t step, const Outcome *outcome, bool ok)
{
    char word[32];
    snprintf(word, sizeof word, "after%u%c%s", step, ok ? '+' : '-', outcome->changed ? "" : "=");
    note(context, word);
}

enum {
    TASKS = 4
};

typedef struct World {
    Script script;
    CallServices services;
    TaskJournal journal;
    Task tasks[TASKS];
} World;

static void world_init(World *world, Script script)
{
    *world = (World){ .script = script };
    arena_init(&world->script.arena, ARENA_UNLIMITED);
    world->script.log = buf_make_in(&world->script.arena, BUF_UNLIMITED);
    world->services.context = &world->script;
    world->journal = (TaskJournal){ &world->script, journal_before, journal_after };
    for (uint32_t i = 0; i < TASKS; i++) {
        Task *task = &world->tasks[i];
        arena_init(&task->arena, ARENA_UNLIMITED);
        task->kind = TASK_RUN;
        task->journal = &world->journal;
        task->call = (Call){
            .action = &whole, .arena = &task->arena, .step = i, .services = &world->services
        };
    }
}

static void world_clear(World *world)
{
    for (uint32_t i = 0; i < TASKS; i++) {
        arena_clear(&world->tasks[i].arena);
    }
    arena_clear(&world->script.arena);
}
DEFINE_AUTO_CLEAR(World, world_clear)

#define WORLD(name, ...)    \
    AUTO_CLEAR(World) name; \
    world_init(&name, (Script){ __VA_ARGS__ })

/* Runs the first `count` tasks, as one transaction if there are several, and returns the events. */
static Str run(World *world, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        world->tasks[i - 1].next_joined = &world->tasks[i];
    }
    task_run(&world->tasks[0]);
    return buf_str(&world->script.log);
}

static void assert_failed(const Task *task, const char *error)
{
    assert_true(task->failed);
    assert_string_equal(task->error.text, error);
}

/* Nothing was done, and no message suggests that it was. */
static void assert_untouched(const Task *task)
{
    assert_false(task->outcome.changed);
    assert_null(task->outcome.changes);
    assert_str(task->outcome.diff, "");
    assert_str(task->outcome.comment, "");
}

/* --- Single tasks ---------------------------------------------------------------------------- */

static void test_an_effect_is_between_its_records(void **state)
{
    WORLD(world, .fails = "");
    assert_str(run(&world, 1), "check0 before0 apply0 after0+");
    const Task *task = &world.tasks[0];
    assert_false(task->failed);
    assert_true(task->applied && task->outcome.changed);
    assert_false(task->reacted);
    assert_str(task->outcome.comment, "found");
    assert_non_null(task->outcome.changes);
}

static void test_nothing_to_do_is_neither_recorded_nor_applied(void **state)
{
    WORLD(world, .unchanged = "0");
    assert_str(run(&world, 1), "check0");
    assert_false(world.tasks[0].applied || world.tasks[0].failed);
}

static void test_a_check_is_all_that_a_plan_does(void **state)
{
    WORLD(world, .unknown = "0");
    world.tasks[0].kind = TASK_CHECK;
    assert_str(run(&world, 1), "check0");
    assert_false(world.tasks[0].applied);
    assert_true(world.tasks[0].outcome.unknown);
}

static void test_unpredictable_actions_are_applied(void **state)
{
    WORLD(world, .unknown = "0");
    assert_str(run(&world, 1), "check0 before0 apply0 after0+");
    assert_true(world.tasks[0].applied && world.tasks[0].outcome.changed);
    assert_false(world.tasks[0].outcome.unknown);
}

static void test_an_action_without_effect_only_checks(void **state)
{
    WORLD(world, .fails = "");
    world.tasks[0].call.action = &looking;
    assert_str(run(&world, 1), "check0");
    assert_false(world.tasks[0].failed);
}

static void test_a_failed_check_stops_it(void **state)
{
    WORLD(world, .fails = "check0");
    world.tasks[0].react = true;
    assert_str(run(&world, 1), "check0");
    assert_failed(&world.tasks[0], "check0 fails");
    assert_false(world.tasks[0].applied);
    assert_untouched(&world.tasks[0]);
}

static void test_an_effect_that_cannot_be_recorded_does_not_happen(void **state)
{
    WORLD(world, .fails = "before0");
    world.tasks[0].react = true;
    assert_str(run(&world, 1), "check0 before0");
    assert_failed(&world.tasks[0], "before0 fails");
    assert_untouched(&world.tasks[0]);
}

static void test_a_failed_effect_that_did_nothing_shows_nothing(void **state)
{
    WORLD(world, .fails = "apply0");
    world.tasks[0].react = true;
    assert_str(run(&world, 1), "check0 before0 apply0 after0-=");
    assert_failed(&world.tasks[0], "apply0 fails");
    assert_untouched(&world.tasks[0]);
}

static void test_a_partially_failed_effect_shows_its_changes(void **state)
{
    WORLD(world, .fails = "apply0", .half = "0");
    assert_str(run(&world, 1), "check0 before0 apply0 after0-");
    assert_failed(&world.tasks[0], "apply0 fails");
    assert_true(world.tasks[0].outcome.changed);
    assert_non_null(world.tasks[0].outcome.changes);
    assert_str(world.tasks[0].outcome.diff, "-old\n+new\n");
    assert_str(world.tasks[0].outcome.comment, "");
}

/* Such as a command that reports it in its output: the output is in its changes. */
static void test_an_effect_without_changes_keeps_its_comment(void **state)
{
    WORLD(world, .needless = "0");
    assert_str(run(&world, 1), "check0 before0 apply0 after0+=");
    assert_false(world.tasks[0].failed || world.tasks[0].outcome.changed);
    assert_non_null(world.tasks[0].outcome.changes);
    assert_str(world.tasks[0].outcome.diff, "-old\n+new\n");
}

static void test_without_a_journal_effects_happen(void **state)
{
    WORLD(world, .fails = "");
    world.tasks[0].journal = NULL;
    assert_str(run(&world, 1), "check0 apply0");
}

/* --- Reactions ------------------------------------------------------------------------------- */

static void test_a_reaction_follows_the_effect(void **state)
{
    WORLD(world, .fails = "");
    world.tasks[0].react = true;
    assert_str(run(&world, 1), "check0 before0 apply0 after0+ before0 react0 after0+");
    assert_true(world.tasks[0].reacted && world.tasks[0].outcome.changed);
    assert_true(world.script.ran_after_change); /* its own effect came after the change */
}

static void test_a_reaction_without_effect_knows_that_nothing_preceded(void **state)
{
    WORLD(world, .unchanged = "0");
    world.tasks[0].react = true;
    assert_str(run(&world, 1), "check0 before0 react0 after0+=");
    assert_true(world.tasks[0].reacted);
    assert_false(world.script.ran_after_change || world.tasks[0].outcome.changed);
}

static void test_a_final_reaction_does_not_check(void **state)
{
    WORLD(world, .fails = "");
    world.tasks[0].kind = TASK_REACT;
    assert_str(run(&world, 1), "before0 react0 after0+=");
    assert_true(world.tasks[0].reacted);
}

static void test_a_reaction_that_cannot_be_recorded_does_not_happen(void **state)
{
    WORLD(world, .fails = "before0");
    world.tasks[0].kind = TASK_REACT;
    assert_str(run(&world, 1), "before0");
    assert_failed(&world.tasks[0], "before0 fails");
    assert_false(world.tasks[0].reacted);
}

static void test_a_failed_reaction_leaves_the_effect_in_place(void **state)
{
    WORLD(world, .fails = "react0");
    world.tasks[0].react = true;
    assert_str(run(&world, 1), "check0 before0 apply0 after0+ before0 react0 after0-");
    assert_failed(&world.tasks[0], "react0 fails");
    assert_true(world.tasks[0].outcome.changed);
    assert_false(world.tasks[0].reacted);
}

static void test_an_action_without_a_reaction_has_none(void **state)
{
    WORLD(world, .fails = "before0");
    world.tasks[0].kind = TASK_REACT;
    world.tasks[0].call.action = &looking;
    assert_str(run(&world, 1), "");
    assert_false(world.tasks[0].failed || world.tasks[0].reacted);
}

/* --- Transactions ---------------------------------------------------------------------------- */

static void test_joined_effects_are_one_transaction(void **state)
{
    WORLD(world, .unchanged = "1");
    assert_str(run(&world, 3), "check0 check1 check2 before0 before2 [ apply0 apply2 ] "
                               "after0+ after2+");
    assert_true(world.tasks[0].outcome.changed && world.tasks[2].outcome.changed);
    assert_false(world.tasks[1].applied);
    for (uint32_t i = 0; i < 3; i++) {
        assert_false(world.tasks[i].failed);
        assert_str(world.tasks[i].outcome.comment, "found");
    }
}

static void test_a_joined_step_that_cannot_be_recorded_has_failed(void **state)
{
    WORLD(world, .fails = "before1");
    assert_str(run(&world, 3), "check0 check1 check2 before0 before1 before2 [ apply0 apply2 ] "
                               "after0+ after2+");
    assert_failed(&world.tasks[1], "before1 fails");
    assert_untouched(&world.tasks[1]);
    assert_false(world.tasks[0].failed || world.tasks[2].failed);
}

static void test_without_a_record_there_is_no_transaction(void **state)
{
    WORLD(world, .fails = "before0 before1");
    assert_str(run(&world, 2), "check0 check1 before0 before1");
    assert_failed(&world.tasks[0], "before0 fails");
    assert_failed(&world.tasks[1], "before1 fails");
}

static void test_a_joined_step_whose_check_failed_is_excluded(void **state)
{
    WORLD(world, .fails = "check0");
    assert_str(run(&world, 2), "check0 check1 before1 [ apply1 ] after1+");
    assert_failed(&world.tasks[0], "check0 fails");
    assert_untouched(&world.tasks[0]);
    assert_false(world.tasks[1].failed);
}

static void test_one_of_a_transaction_fails(void **state)
{
    WORLD(world, .fails = "apply1");
    assert_str(run(&world, 3), "check0 check1 check2 before0 before1 before2 "
                               "[ apply0 apply1 apply2 ] after0+ after1-= after2+");
    assert_failed(&world.tasks[1], "apply1 fails");
    assert_untouched(&world.tasks[1]);
    assert_false(world.tasks[0].failed || world.tasks[2].failed);
}

static void test_joined_steps_react_each_by_itself(void **state)
{
    WORLD(world, .fails = "apply1 react2", .unchanged = "3");
    for (uint32_t i = 0; i < 4; i++) {
        world.tasks[i].react = true;
    }
    assert_str(run(&world, 4),
               "check0 check1 check2 check3 before0 before1 before2 [ apply0 apply1 apply2 ] "
               "after0+ after1-= after2+ before0 react0 after0+ before2 react2 after2- "
               "before3 react3 after3+=");
    assert_true(world.tasks[0].reacted && world.tasks[3].reacted);
    assert_false(world.tasks[0].failed || world.tasks[3].failed);
    assert_failed(&world.tasks[1], "apply1 fails");
    assert_failed(&world.tasks[2], "react2 fails");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_effect_is_between_its_records),
        cmocka_unit_test(test_nothing_to_do_is_neither_recorded_nor_applied),
        cmocka_unit_test(test_a_check_is_all_that_a_plan_does),
        cmocka_unit_test(test_unpredictable_actions_are_applied),
        cmocka_unit_test(test_an_action_without_effect_only_checks),
        cmocka_unit_test(test_a_failed_check_stops_it),
        cmocka_unit_test(test_an_effect_that_cannot_be_recorded_does_not_happen),
        cmocka_unit_test(test_a_failed_effect_that_did_nothing_shows_nothing),
        cmocka_unit_test(test_a_partially_failed_effect_shows_its_changes),
        cmocka_unit_test(test_an_effect_without_changes_keeps_its_comment),
        cmocka_unit_test(test_without_a_journal_effects_happen),
        cmocka_unit_test(test_a_reaction_follows_the_effect),
        cmocka_unit_test(test_a_reaction_without_effect_knows_that_nothing_preceded),
        cmocka_unit_test(test_a_final_reaction_does_not_check),
        cmocka_unit_test(test_a_reaction_that_cannot_be_recorded_does_not_happen),
        cmocka_unit_test(test_a_failed_reaction_leaves_the_effect_in_place),
        cmocka_unit_test(test_an_action_without_a_reaction_has_none),
        cmocka_unit_test(test_joined_effects_are_one_transaction),
        cmocka_unit_test(test_a_joined_step_that_cannot_be_recorded_has_failed),
        cmocka_unit_test(test_without_a_record_there_is_no_transaction),
        cmocka_unit_test(test_a_joined_step_whose_check_failed_is_excluded),
        cmocka_unit_test(test_one_of_a_transaction_fails),
        cmocka_unit_test(test_joined_steps_react_each_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
