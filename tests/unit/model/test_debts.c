#include "model/debts.h"

#include "unit.h"

typedef struct Fixture {
    Arena arena;
    DebtBook book;
} Fixture;

static int set_up(void **state)
{
    static Fixture fixture;
    arena_init(&fixture.arena, ARENA_UNLIMITED);
    debt_book_init(&fixture.book, &fixture.arena);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    arena_clear(&((Fixture *)*state)->arena);
    return 0;
}

/* nginx watches conf and key; reload runs on changes of conf; mail listens to key. */
static const Debt edges[] = {
    { .step = { "nginx", 5 },
      .cause = { "conf", 4 },
      .kind = REQUISITE_WATCH,
      .unit = { "nginx", 5 } },
    { .step = { "nginx", 5 },
      .cause = { "key", 3 },
      .kind = REQUISITE_WATCH,
      .unit = { "nginx", 5 } },
    { .step = { "reload", 6 }, .cause = { "conf", 4 }, .kind = REQUISITE_ONCHANGES },
    { .step = { "mail", 4 }, .cause = { "key", 3 }, .kind = REQUISITE_LISTEN },
};

enum {
    WATCH = 1 << REQUISITE_WATCH,
    ONCHANGES = 1 << REQUISITE_ONCHANGES,
    LISTEN = 1 << REQUISITE_LISTEN,
};

static DebtBook *begin(void **state)
{
    DebtBook *book = &((Fixture *)*state)->book;
    debt_book_begin(book, STR("r1"), STR("b1"), 1000, edges, COUNT_OF(edges));
    return book;
}

static void a_change_owes_until_the_reaction(void **state)
{
    DebtBook *book = begin(state);
    debt_book_start_action(book, STR("conf"), 2000);
    assert_int_equal(debt_book_kinds(book, STR("nginx")), 0);
    debt_book_finish_action(book, STR("conf"), true);
    assert_int_equal(debt_book_kinds(book, STR("nginx")), WATCH);
    assert_int_equal(debt_book_kinds(book, STR("reload")), ONCHANGES);
    assert_int_equal(debt_book_kinds(book, STR("mail")), 0);
    debt_book_pay(book, STR("nginx"));
    assert_int_equal(debt_book_kinds(book, STR("nginx")), 0);
    debt_book_end(book);
    assert_int_equal(debt_book_count(book), 1);
    uint32_t at = 0;
    const Debt *left = debt_book_next(book, &at, false);
    assert_str(left->step, "reload");
    assert_str(left->run, "r1");
    assert_int_equal(left->at_ms, 2000);
    assert_null(debt_book_next(book, &at, true));
}

static void a_step_that_changed_nothing_owes_nothing(void **state)
{
    DebtBook *book = begin(state);
    debt_book_start_action(book, STR("conf"), 2000);
    debt_book_finish_action(book, STR("conf"), false);
    debt_book_end(book);
    assert_int_equal(debt_book_count(book), 0);
}

static void an_effect_without_outcome_counts_as_a_change(void **state)
{
    DebtBook *book = begin(state);
    debt_book_start_action(book, STR("key"), 2000);
    debt_book_recover(book, STR("b1"));
    assert_int_equal(debt_book_kinds(book, STR("nginx")), WATCH);
    assert_int_equal(debt_book_kinds(book, STR("mail")), LISTEN);
    assert_int_equal(debt_book_kinds(book, STR("reload")), 0);
    debt_book_recover(book, STR("b2"));
    assert_int_equal(debt_book_count(book), 2);
}

static void after_a_power_failure_everything_unknown_counts(void **state)
{
    DebtBook *book = begin(state);
    debt_book_start_action(book, STR("conf"), 2000);
    debt_book_finish_action(book, STR("conf"), false);
    debt_book_recover(book, STR("b2"));
    assert_int_equal(debt_book_kinds(book, STR("nginx")), WATCH); /* of key */
    assert_int_equal(debt_book_kinds(book, STR("reload")), 0);
    assert_int_equal(debt_book_kinds(book, STR("mail")), LISTEN);
}

static void after_a_power_failure_paid_debts_are_owed_again(void **state)
{
    DebtBook *book = begin(state);
    debt_book_start_action(book, STR("conf"), 2000);
    debt_book_finish_action(book, STR("conf"), true);
    debt_book_pay(book, STR("nginx"));
    debt_book_start_action(book, STR("key"), 2000);
    debt_book_finish_action(book, STR("key"), false);
    debt_book_recover(book, STR("b2"));
    assert_int_equal(debt_book_kinds(book, STR("nginx")), WATCH); /* of both causes */
    assert_int_equal(debt_book_kinds(book, STR("reload")), ONCHANGES);
    assert_int_equal(debt_book_kinds(book, STR("mail")), 0);
    assert_int_equal(debt_book_count(book), 3);
}

static void paid_debts_stay_paid_if_only_the_process_died(void **state)
{
    DebtBook *book = begin(state);
    debt_book_start_action(book, STR("conf"), 2000);
    debt_book_finish_action(book, STR("conf"), true);
    debt_book_pay(book, STR("nginx"));
    debt_book_recover(book, STR("b1"));
    assert_int_equal(debt_book_kinds(book, STR("nginx")), 0);
}

static void paid_debts_of_a_finished_run_stay_paid(void **state)
{
    DebtBook *book = begin(state);
    debt_book_start_action(book, STR("conf"), 2000);
    debt_book_finish_action(book, STR("conf"), true);
    debt_book_pay(book, STR("nginx"));
    debt_book_pay(book, STR("reload"));
    debt_book_end(book);
    debt_book_begin(book, STR("r2"), STR("b1"), 3000, NULL, 0);
    debt_book_recover(book, STR("b2"));
    assert_int_equal(debt_book_count(book), 0);
}

static void a_later_run_without_change_does_not_end_an_older_debt(void **state)
{
    DebtBook *book = begin(state);
    debt_book_start_action(book, STR("conf"), 2000);
    debt_book_finish_action(book, STR("conf"), true);
    debt_book_end(book);
    debt_book_begin(book, STR("r2"), STR("b1"), 3000, edges, COUNT_OF(edges));
    debt_book_start_action(book, STR("conf"), 4000);
    debt_book_finish_action(book, STR("conf"), false);
    debt_book_end(book);
    assert_int_equal(debt_book_kinds(book, STR("reload")), ONCHANGES);
    uint32_t at = 0;
    assert_str(debt_book_next(book, &at, false)->run, "r1");
    assert_int_equal(debt_book_count(book), 2);
}

static void a_reaction_does_not_pay_for_a_change_in_progress(void **state)
{
    DebtBook *book = begin(state);
    debt_book_start_action(book, STR("conf"), 2000);
    debt_book_finish_action(book, STR("conf"), true);
    debt_book_start_action(book, STR("key"), 2100);
    debt_book_pay(book, STR("nginx"));
    debt_book_finish_action(book, STR("key"), true);
    assert_int_equal(debt_book_kinds(book, STR("nginx")), WATCH);
}

static void a_crash_between_reaction_and_end_of_change_owes_it(void **state)
{
    DebtBook *book = begin(state);
    debt_book_start_action(book, STR("key"), 2100);
    debt_book_pay(book, STR("nginx"));
    debt_book_recover(book, STR("b1"));
    assert_int_equal(debt_book_kinds(book, STR("nginx")), WATCH);
}

static void a_cause_can_change_again_after_the_reaction(void **state)
{
    DebtBook *book = begin(state);
    for (int i = 0; i < 3; i++) {
        debt_book_start_action(book, STR("conf"), 2000 + i);
        debt_book_finish_action(book, STR("conf"), true);
        assert_int_equal(debt_book_kinds(book, STR("nginx")), WATCH);
        debt_book_pay(book, STR("nginx"));
        assert_int_equal(debt_book_kinds(book, STR("nginx")), 0);
    }
    debt_book_start_action(book, STR("conf"), 3000);
    debt_book_recover(book, STR("b1"));
    assert_int_equal(debt_book_kinds(book, STR("nginx")), WATCH);
}

static void a_removed_edge_owes_nothing_new(void **state)
{
    DebtBook *book = begin(state);
    debt_book_start_action(book, STR("conf"), 2000);
    debt_book_finish_action(book, STR("conf"), true);
    debt_book_end(book);
    debt_book_begin(book, STR("r2"), STR("b1"), 3000, &edges[3], 1);
    debt_book_pay(book, STR("nginx"));
    debt_book_start_action(book, STR("conf"), 4000);
    debt_book_finish_action(book, STR("conf"), true);
    assert_int_equal(debt_book_kinds(book, STR("nginx")), 0);
    assert_int_equal(debt_book_kinds(book, STR("reload")), ONCHANGES);
}

static void an_inherited_debt_is_owed_once(void **state)
{
    DebtBook *book = &((Fixture *)*state)->book;
    Debt debt = edges[0];
    debt.run = STR("r0");
    debt_book_owe(book, &debt);
    debt_book_owe(book, &debt);
    assert_int_equal(debt_book_count(book), 1);
    debt_book_begin(book, STR("r1"), STR("b1"), 1000, edges, COUNT_OF(edges));
    debt_book_end(book);
    assert_int_equal(debt_book_count(book), 1);
}

static void a_debt_ends_when_its_step_is_removed_or_its_unit_restarted(void **state)
{
    Debt debt = edges[0];
    debt.boot = STR("b1");
    debt.at_ms = 2000;
    DebtView view = { .in_site = true, .boot = STR("b1") };
    assert_int_equal(debt_verdict(&debt, &view), DEBT_REMAINS);
    view.unit_started_ms = 1999;
    assert_int_equal(debt_verdict(&debt, &view), DEBT_REMAINS);
    view.unit_started_ms = 2001;
    assert_int_equal(debt_verdict(&debt, &view), DEBT_RESTARTED);
    view = (DebtView){ .in_site = true, .boot = STR("b2") };
    assert_int_equal(debt_verdict(&debt, &view), DEBT_RESTARTED);
    view.in_site = false;
    assert_int_equal(debt_verdict(&debt, &view), DEBT_LEFT_SITE);
    /* Booting the machine does not run a command. */
    Debt command = edges[2];
    command.boot = STR("b1");
    view.in_site = true;
    assert_int_equal(debt_verdict(&command, &view), DEBT_REMAINS);
    Arena *arena = &((Fixture *)*state)->arena;
    assert_str(debt_notice(arena, &debt, DEBT_RESTARTED), "'nginx' has been restarted since");
    assert_str(debt_notice(arena, &debt, DEBT_LEFT_SITE), "'nginx' is no longer in the site");
}

static bool no_reaction(Call *call, Outcome *outcome, Error *err)
{
    return true;
}

static void edges_that_can_owe_are_taken_from_the_graph(void **state)
{
    Arena *arena = &((Fixture *)*state)->arena;
    List *claims = list_new(arena, 2);
    list_push(arena, claims, value_string(STR("path:/etc/x")));
    list_push(arena, claims, value_string(STR("unit:nginx.service")));
    static const Action quiet = { .name = "managed" };
    static const Action service = { .name = "running", .react = no_reaction };
    static const StepSpec files = { .action = &quiet }, services = { .action = &service };
    Step steps[] = { { .id = STR("j#conf"), .spec = &services },
                     { .id = STR("j#nginx"), .spec = &services, .claims = claims },
                     { .id = STR("j#file"), .spec = &files } };
    Edge all[] = {
        { .from = 1, .to = 0, .kind = REQUISITE_REQUIRE },
        { .from = 1, .to = 0, .kind = REQUISITE_WATCH },
        { .from = 1, .to = 0, .kind = REQUISITE_ONFAIL },
        { .from = 0, .to = 1, .kind = REQUISITE_LISTEN },
        { .from = 2, .to = 0, .kind = REQUISITE_WATCH },
        { .from = 2, .to = 0, .kind = REQUISITE_LISTEN },
        { .from = 2, .to = 0, .kind = REQUISITE_ONCHANGES },
    };
    Graph graph = { .steps = { steps, 3 }, .edges = all, .edge_count = COUNT_OF(all) };
    Debt *found;
    uint32_t count;
    debts_of_graph(arena, &graph, STR("site"), STR("/srv/site"), &found, &count);
    assert_int_equal(count, 3);
    assert_str(found[0].step, "j#nginx");
    assert_str(found[0].cause, "j#conf");
    assert_str(found[0].unit, "nginx.service");
    assert_int_equal(found[1].kind, REQUISITE_LISTEN);
    assert_str(found[1].unit, "");
    /* Without a reaction watch and listen cannot owe anything. */
    assert_str(found[2].step, "j#file");
    assert_int_equal(found[2].kind, REQUISITE_ONCHANGES);
}

#define BOOK_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOOK_TEST(a_change_owes_until_the_reaction),
        BOOK_TEST(a_step_that_changed_nothing_owes_nothing),
        BOOK_TEST(an_effect_without_outcome_counts_as_a_change),
        BOOK_TEST(after_a_power_failure_everything_unknown_counts),
        BOOK_TEST(after_a_power_failure_paid_debts_are_owed_again),
        BOOK_TEST(paid_debts_stay_paid_if_only_the_process_died),
        BOOK_TEST(paid_debts_of_a_finished_run_stay_paid),
        BOOK_TEST(a_later_run_without_change_does_not_end_an_older_debt),
        BOOK_TEST(a_reaction_does_not_pay_for_a_change_in_progress),
        BOOK_TEST(a_crash_between_reaction_and_end_of_change_owes_it),
        BOOK_TEST(a_cause_can_change_again_after_the_reaction),
        BOOK_TEST(a_removed_edge_owes_nothing_new),
        BOOK_TEST(an_inherited_debt_is_owed_once),
        BOOK_TEST(a_debt_ends_when_its_step_is_removed_or_its_unit_restarted),
        BOOK_TEST(edges_that_can_owe_are_taken_from_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
