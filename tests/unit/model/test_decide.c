#include "model/decide.h"

#include "model/steps_text.h"

/* Results as "a=failed b=changed c=failed+" ('+': it changed nevertheless) and, for a step checked
 * for a prereq, "a?changed". "a!watch": it owes that from an earlier run. */
static void read_statuses(const World *world, const char *text, StepStatus *statuses)
{
    Str rest = str_from_c(text), word;
    while (str_split_next(&rest, ' ', &word)) {
        size_t at = 0;
        while (at < word.len && word.data[at] != '=' && word.data[at] != '?' &&
               word.data[at] != '!') {
            at++;
        }
        if (at == word.len) {
            continue;
        }
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)at, word.data);
        StepStatus *status = &statuses[world_step(world, name)];
        Str value = str_from_offset(word, at + 1);
        bool plus = str_ends(value, STR("+"));
        value.len -= plus;
        if (word.data[at] == '!') {
            for (int kind = 0; kind < REQUISITE_KINDS; kind++) {
                if (str_eq_c(value, requisite_kind_name((RequisiteKind)kind))) {
                    status->owed |= (uint16_t)(1u << kind);
                }
            }
            continue;
        }
        StepResult result;
        assert_true(step_result_from_name(value, &result));
        if (word.data[at] == '?') {
            status->pending = result;
        } else {
            status->result = result;
            status->changed = result == RESULT_CHANGED || plus;
        }
    }
}

/* "run", "run react", "block", ... followed by " owes watch" where it does. */
static Str decided(World *world, Work work, const char *results, bool planning, Decision *out)
{
    StepStatus *statuses =
        arena_alloc_zero(&world->arena, world->graph->steps.count * sizeof *statuses);
    read_statuses(world, results, statuses);
    *out = decide(world->graph, work, statuses, planning, &world->arena);
    Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
    buf_put_format(&text, "%s%s", decision_kind_name(out->kind), out->react ? " react" : "");
    for (int kind = 0; kind < REQUISITE_KINDS; kind++) {
        if ((out->owes >> kind & 1) != 0) {
            buf_put_format(&text, " owes %s", requisite_kind_name((RequisiteKind)kind));
        }
    }
    return buf_str(&text);
}

typedef struct Case {
    const char *steps; /* the decision for step "x" is tested */
    const char *results;
    const char *expected;
} Case;

static void check(const Case *cases, size_t count, WorkPhase phase, bool planning)
{
    for (size_t i = 0; i < count; i++) {
        World world;
        world_make(&world, cases[i].steps);
        Decision decision;
        Work work = { .step = world_step(&world, "x"), .phase = phase };
        Str text = decided(&world, work, cases[i].results, planning, &decision);
        if (!str_eq_c(text, cases[i].expected)) {
            print_error("%s with %s\n", cases[i].steps, cases[i].results);
        }
        assert_str(text, cases[i].expected);
        world_clear(&world);
    }
}

static void every_cell_of_the_truth_table(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a; x require=a", "a=blocked", "block" },
        { "a; x require=a", "a=failed", "block" },
        { "a; x require=a", "a=ok", "run" },
        { "a; x require=a", "a=changed", "run" },
        { "a; x require=a", "a=skipped", "run" },
        { "a; x watch=a", "a=blocked", "block" },
        { "a; x watch=a", "a=failed", "block" },
        { "a; x watch=a", "a=ok", "run" },
        { "a; x watch=a", "a=changed", "run react owes watch" },
        { "a; x mod=file watch=a", "a=changed", "run" },
        { "a; x watch=a", "a=skipped", "run" },
        { "a; x onchanges=a", "a=blocked", "skip" },
        { "a; x onchanges=a", "a=failed", "skip" },
        { "a; x onchanges=a", "a=ok", "skip" },
        { "a; x onchanges=a", "a=changed", "run owes onchanges" },
        { "a; x onchanges=a", "a=skipped", "skip" },
        { "a; x onfail=a", "a=blocked", "skip" },
        { "a; x onfail=a", "a=failed", "run" },
        { "a; x onfail=a", "a=ok", "skip" },
        { "a; x onfail=a", "a=changed", "skip" },
        { "a; x onfail=a", "a=skipped", "skip" },
        { "a; x prereq=a", "a?blocked", "block" },
        { "a; x prereq=a", "a?failed", "block" },
        { "a; x prereq=a", "a?ok", "skip" },
        { "a; x prereq=a", "a?changed", "run" },
        { "a; x prereq=a", "a?skipped", "skip" },
        /* listen has no effect on the run itself. */
        { "a; x listen=a", "a=blocked", "run" },
        { "a; x listen=a", "a=failed", "run" },
        { "a; x listen=a", "a=ok", "run" },
        { "a; x listen=a", "a=changed", "run" },
        { "a; x listen=a", "", "run" },
        { "x", "", "run" },
        /* The same for a shared resource: whatever happened to the other step. */
        { "a claims=path:/p; x claims=path:/p", "a=failed", "run" },
        { "a claims=path:/p; x claims=path:/p", "a=blocked", "run" },
    };
    check(cases, COUNT_OF(cases), PHASE_RUN, false);
    static const Case reactions[] = {
        { "a; x listen=a", "x=ok a=blocked", "skip" },
        { "a; x listen=a", "x=ok a=failed", "skip" },
        { "a; x listen=a", "x=ok a=ok", "skip" },
        { "a; x listen=a", "x=ok a=skipped", "skip" },
        { "a; x listen=a", "x=ok a=changed", "run react owes listen" },
        { "a; x mod=file listen=a", "x=ok a=changed", "skip" },
        { "a; x listen=a", "x=changed a=changed", "run react owes listen" },
        { "a; x listen=a", "x=failed a=changed", "run react owes listen" },
        { "a; x listen=a", "x=blocked a=changed", "skip owes listen" },
        { "a; x listen=a", "x=waiting a=changed", "skip owes listen" },
        { "a; x listen=a", "x=skipped a=changed", "skip" },
        { "a; b; x listen=a,b", "x=ok a=ok b=changed", "run react owes listen" },
        { "a; x listen=a", "x=ok a=failed+", "skip owes listen" },
    };
    check(reactions, COUNT_OF(reactions), PHASE_REACT, false);
}

static void several_targets_of_one_kind(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a; b; x require=a,b", "a=ok b=failed", "block" },
        { "a; b; x require=a,b", "a=skipped b=changed", "run" },
        { "a; b; x watch=a,b", "a=changed b=failed", "block owes watch" },
        { "a; b; x watch=a,b", "a=ok b=changed", "run react owes watch" },
        { "a; b; x onchanges=a,b", "a=ok b=changed", "run owes onchanges" },
        { "a; b; x onchanges=a,b", "a=failed b=changed", "run owes onchanges" },
        { "a; b; x onchanges=a,b", "a=ok b=failed", "skip" },
        { "a; b; x onfail=a,b", "a=ok b=failed", "run" },
        { "a; b; x onfail=a,b", "a=blocked b=failed", "run" },
        { "a; b; x onfail=a,b", "a=ok b=blocked", "skip" },
        { "a; b; x prereq=a,b", "a?ok b?changed", "run" },
        { "a; b; x prereq=a,b", "a?failed b?changed", "run" },
        { "a; b; x prereq=a,b", "a?failed b?ok", "block" },
        { "a; b; x prereq=a,b", "a?ok b?ok", "skip" },
        { "a; b; x require_any=a,b", "a=ok b=failed", "run" },
        { "a; b; x require_any=a,b", "a=blocked b=failed", "block" },
        { "a; b; x require_any=a,b", "a=blocked b=skipped", "run" },
        { "a; b; x watch_any=a,b", "a=changed b=failed", "run react owes watch" },
        { "a; b; x watch_any=a,b", "a=ok b=failed", "run" },
        { "a; b; x watch_any=a,b", "a=failed b=failed", "block" },
        { "a; b; x onchanges_any=a,b", "a=ok b=changed", "run owes onchanges" },
        { "a; b; x onchanges_any=a,b", "a=ok b=ok", "skip" },
        { "a; b; x onfail_any=a,b", "a=ok b=failed", "run" },
        { "a; b; x onfail_any=a,b", "a=ok b=ok", "skip" },
        { "a; b; x onfail_all=a,b", "a=ok b=failed", "skip" },
        { "a; b; x onfail_all=a,b", "a=failed b=failed", "run" },
        { "a; b; x onfail_all=a,b", "a=failed b=blocked", "skip" },
        /* Both forms of a kind on one step are evaluated separately. */
        { "a; b; c; x require=a require_any=b,c", "a=failed b=ok c=ok", "block" },
        { "a; b; c; x require=a require_any=b,c", "a=ok b=failed c=ok", "run" },
        { "a; b; c; x require=a require_any=b,c", "a=ok b=failed c=failed", "block" },
        { "a; b; c; x onfail=a onfail_all=b,c", "a=failed b=failed c=ok", "skip" },
    };
    check(cases, COUNT_OF(cases), PHASE_RUN, false);
}

static void all_kinds_must_allow_it_and_blocked_beats_skipped(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a; b; x require=a onchanges=b", "a=ok b=changed", "run owes onchanges" },
        { "a; b; x require=a onchanges=b", "a=ok b=ok", "skip" },
        { "a; b; x require=a onchanges=b", "a=failed b=ok", "block" },
        { "a; b; x require=a onchanges=b", "a=failed b=changed", "block owes onchanges" },
        { "a; b; x require=a onfail=b", "a=ok b=failed", "run" },
        { "a; b; x require=a onfail=b", "a=failed b=failed", "block" },
        { "a; b; x onfail=a onchanges=b", "a=failed b=changed", "run owes onchanges" },
        { "a; b; x onfail=a onchanges=b", "a=ok b=changed", "skip" },
        { "a; b; x onfail=a onchanges=b", "a=failed b=ok", "skip" },
        { "a; b; x watch=a onchanges=b", "a=changed b=ok", "skip" },
        { "a; b; x watch=a onchanges=b", "a=changed b=changed",
          "run react owes watch owes onchanges" },
        { "a; b; x prereq=a require=b", "a?changed b=ok", "run" },
        { "a; b; x prereq=a require=b", "a?ok b=failed", "block" },
        { "a; b; x prereq=a onfail=b", "a?changed b=ok", "skip" },
        { "a; x require=a onchanges=a", "a=failed", "block" },
        { "a; x require=a onfail=a", "a=failed", "block" },
        { "a; b; x onfail=a watch=b", "a=ok b=failed", "block" },
    };
    check(cases, COUNT_OF(cases), PHASE_RUN, false);
}

static void the_target_of_a_prereq_follows_it(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a prereq=x; x", "x?changed a=failed", "block" },
        { "a prereq=x; x", "x?changed a=blocked", "block" },
        { "a prereq=x; x", "x?changed a=ok", "run" },
        { "a prereq=x; x", "x?changed a=changed", "run" },
        { "a prereq=x; x", "x?ok a=skipped", "run" },
        { "a prereq=x; x", "x?changed", "wait" },
        { "a prereq=x; b prereq=x; x", "x?changed a=ok b=failed", "block" },
        { "a prereq=x; x require=a,b; b", "x?changed a=changed b=failed", "block" },
    };
    check(cases, COUNT_OF(cases), PHASE_RUN, false);
    /* Its check evaluates its other requisites, and its fellow targets by the result of their
     * check. */
    static const Case checks[] = {
        { "a prereq=x; x", "", "run" },
        { "a prereq=x; x require=a", "", "run" },
        { "a prereq=x; x require=b; b", "b=failed", "block" },
        { "a prereq=x; x onchanges=b; b", "b=ok", "skip" },
        { "a prereq=x; x prereq=b; b", "b?ok", "skip" },
        { "a prereq=x; x prereq=b; b", "b?changed", "run" },
        { "a prereq=x,b; b; x onchanges=b", "b?changed", "run" },
        { "a prereq=x,b; b; x onchanges=b", "b?ok", "skip" },
        { "a prereq=x,b; b; x require=b", "b?blocked", "block" },
    };
    check(checks, COUNT_OF(checks), PHASE_CHECK, false);
}

static void dependents_of_waiting_steps_wait(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a; x require=a", "a=waiting", "wait" },
        { "a; x watch=a", "a=waiting", "wait" },
        { "a; x onchanges=a", "a=waiting", "wait" },
        { "a; x onfail=a", "a=waiting", "wait" },
        { "a; x prereq=a", "a?waiting", "wait" },
        { "a; x listen=a", "a=waiting", "run" },
        { "a claims=p:q; x claims=p:q", "a=waiting", "wait" },
        { "a; b; x require=a,b", "a=waiting b=failed", "block" },
        { "a; b; x onchanges=a,b", "a=waiting b=changed", "wait owes onchanges" },
        { "a; b; x require=a onchanges=b", "a=waiting b=ok", "wait" },
        /* `_any` waits for all its targets. */
        { "a; b; x require_any=a,b", "a=waiting b=ok", "wait" },
        { "a; b; x require_any=a,b", "a=waiting b=failed", "wait" },
        { "a; b; x onfail_any=a,b", "a=waiting b=failed", "wait" },
        { "a; x require=a", "", "wait" },
    };
    check(cases, COUNT_OF(cases), PHASE_RUN, false);
}

static void in_a_plan_unknown_flows_on(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a; x require=a", "a=unknown", "run" },
        { "a; x watch=a", "a=unknown", "unknown" },
        { "a; x onchanges=a", "a=unknown", "unknown" },
        { "a; x onfail=a", "a=unknown", "unknown" },
        { "a; x prereq=a", "a?unknown", "unknown" },
        { "a; x require_any=a", "a=unknown", "run" },
        { "a claims=p:q; x claims=p:q", "a=unknown", "run" },
        /* Decisions already certain do not change. */
        { "a; b; x onchanges=a,b", "a=unknown b=changed", "run owes onchanges" },
        { "a; b; x watch=a,b", "a=unknown b=changed", "run react owes watch" },
        { "a; x mod=file watch=a", "a=unknown", "run" },
        { "a; b; x mod=file watch_any=a,b", "a=unknown b=failed", "run" },
        { "a; b; x onfail=a,b", "a=unknown b=failed", "run" },
        { "a; b; x onfail_all=a,b", "a=unknown b=failed", "unknown" },
        { "a; b; x onfail_all=a,b", "a=unknown b=ok", "skip" },
        { "a; b; x onchanges=a onfail=b", "a=unknown b=ok", "skip" },
        { "a; b; x onchanges=a require=b", "a=unknown b=failed", "block" },
        { "a; b; x watch_any=a,b", "a=unknown b=failed", "unknown" },
        /* Planned changes fire. */
        { "a; x onchanges=a", "a=changed", "run owes onchanges" },
    };
    check(cases, COUNT_OF(cases), PHASE_RUN, true);
    static const Case reactions[] = {
        { "a; x listen=a", "x=ok a=unknown", "unknown" },
        { "a; b; x listen=a,b", "x=ok a=unknown b=changed", "run react owes listen" },
        { "a; x listen=a", "x=unknown a=changed", "run react owes listen" },
    };
    check(reactions, COUNT_OF(reactions), PHASE_REACT, true);
    /* In a real run, what may change before a step that must come first does. */
    static const Case real[] = { { "a; x prereq=a", "a?unknown", "run" } };
    check(real, COUNT_OF(real), PHASE_RUN, false);
}

static void debts_count_as_changes_and_new_ones_are_reported(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a; x watch=a", "a=ok x!watch", "run react owes watch" },
        { "a; x watch=a", "a=failed x!watch", "block owes watch" },
        { "a; x onchanges=a", "a=ok x!onchanges", "run owes onchanges" },
        { "a; b; x onchanges=a require=b", "a=ok b=failed x!onchanges", "block owes onchanges" },
        { "a; b; x onchanges=a onfail=b", "a=ok b=ok x!onchanges", "skip owes onchanges" },
        /* The changed step then failed its `success`: its dependents are owed. */
        { "a; x onchanges=a", "a=failed+", "skip owes onchanges" },
        { "a; x watch=a", "a=failed+", "block owes watch" },
        { "a; b; x watch=a require=b", "a=changed b=failed", "block owes watch" },
        /* A step not meant to act by its own conditions owes nothing. */
        { "a; b; x watch=a onfail=b", "a=changed b=ok", "skip" },
    };
    check(cases, COUNT_OF(cases), PHASE_RUN, false);
    static const Case reactions[] = {
        { "a; x listen=a", "x=ok a=ok x!listen", "run react owes listen" },
        { "a; x listen=a", "x=blocked a=ok x!listen", "skip owes listen" },
        { "a; x listen=a", "x=skipped a=ok x!listen", "skip owes listen" },
    };
    check(reactions, COUNT_OF(reactions), PHASE_REACT, false);
}

static void reasons_name_the_step_that_decided(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a; x require=a", "a=failed", "requires 'a', which failed" },
        { "a; x watch=a", "a=blocked", "watches 'a', which is blocked" },
        { "a; x onchanges=a", "a=ok", "'a' did not change" },
        { "a; x onchanges=a", "a=skipped", "'a' was skipped" },
        { "a; x onchanges=a", "a=changed", "'a' changed" },
        { "a; b; x onchanges=a,b", "a=ok b=ok", "none of the 2 steps under 'onchanges' changed" },
        { "a; b; x onfail_all=a,b", "a=failed b=ok",
          "not all of the 2 steps under 'onfail' failed" },
        { "a; x onfail=a", "a=ok", "'a' did not fail" },
        { "a; x onfail=a", "a=failed", "'a' failed" },
        { "a; x prereq=a", "a?ok", "'a' will not change" },
        { "a; x prereq=a", "a?changed", "'a' will change" },
        { "a; x prereq=a", "a?failed", "must run before 'a', which failed" },
        { "a prereq=x; x", "a=failed", "'a', which must run before it, failed" },
        { "a; x require=a", "a=waiting", "waits for 'a'" },
        { "job:web; a; job:main; x require=a", "a=failed", "requires 'web#a', which failed" },
        { "a; x watch=a", "a=ok x!watch", "owed from an earlier run" },
        { "x", "", "" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        World world;
        world_make(&world, cases[i].steps);
        Decision decision;
        Work work = { .step = world_step(&world, "x"), .phase = PHASE_RUN };
        decided(&world, work, cases[i].results, false, &decision);
        assert_str(decision.reason, cases[i].expected);
        world_clear(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_of_the_truth_table),
        cmocka_unit_test(several_targets_of_one_kind),
        cmocka_unit_test(all_kinds_must_allow_it_and_blocked_beats_skipped),
        cmocka_unit_test(the_target_of_a_prereq_follows_it),
        cmocka_unit_test(dependents_of_waiting_steps_wait),
        cmocka_unit_test(in_a_plan_unknown_flows_on),
        cmocka_unit_test(debts_count_as_changes_and_new_ones_are_reported),
        cmocka_unit_test(reasons_name_the_step_that_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
