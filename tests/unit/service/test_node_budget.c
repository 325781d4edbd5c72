/* What a node may write: rates, and the size of its results, which is counted when it is used up. */
#include "service/node_budget.h"

#include "failing_store.h"
#include "store_world.h"

typedef struct Fixture {
    StoreWorld world;
    FailingStore *store;
    NodeBudgets *budgets;
    NodeBudget *budget; /* of web1 */
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    store_close(f->world.cluster_store.store);
    f->store = failing_store_open(f->world.cluster_store.loop);
    f->world.cluster_store.store = &f->store->base;
    world_follow(&f->world);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    node_budgets_free(f->budgets);
    world_close(&f->world);
    free(f);
    return 0;
}

static void limit(Fixture *f, const NodeLimits *limits)
{
    f->budgets =
        node_budgets_new(f->world.cluster_store.loop, f->world.cluster_store.store, PREFIX, limits);
    f->budget = node_budget_of(f->budgets, STR("web1"));
}

static void pass(Fixture *f, int64_t ms)
{
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + ms);
}

/* --- Rates ----------------------------------------------------------------------------------- */

static void sessions_are_limited_by_name(void **state)
{
    Fixture *f = *state;
    limit(f, &(NodeLimits){ .sessions = { .per_second = 1, .burst = 2 } });
    assert_true(node_budget_of(f->budgets, STR("web1")) == f->budget);
    NodeBudget *other = node_budget_of(f->budgets, STR("web2"));
    assert_true(node_budget_allows_session(f->budget));
    assert_true(node_budget_allows_session(f->budget));
    assert_false(node_budget_allows_session(f->budget));
    assert_true(node_budget_allows_session(other));
    pass(f, 1000);
    assert_true(node_budget_allows_session(f->budget));
    assert_false(node_budget_allows_session(f->budget));
}

/* The bytes of many small records are mostly overhead. */
static void records_cost_more_than_their_bytes(void **state)
{
    Fixture *f = *state;
    limit(f, &(NodeLimits){ .bytes = { .per_second = 1000, .burst = 10 * NODE_RECORD_COST } });
    assert_int_equal(node_budget_charge(f->budget, 0, 10), 0);
    assert_int_equal(node_budget_charge(f->budget, 1000 - NODE_RECORD_COST, 1), 1000);
    pass(f, 999);
    assert_int_equal(node_budget_charge(f->budget, 1000 - NODE_RECORD_COST, 1), 1);
    pass(f, 1);
    assert_int_equal(node_budget_charge(f->budget, 1000 - NODE_RECORD_COST, 1), 0);
}

static void the_longer_wait_counts_and_nothing_is_charged_before(void **state)
{
    Fixture *f = *state;
    limit(f, &(NodeLimits){ .bytes = { .per_second = 1 << 20, .burst = 10 << 20 },
                            .records = { .per_second = 10, .burst = 20 } });
    assert_int_equal(node_budget_charge(f->budget, 0, 20), 0);
    assert_int_equal(node_budget_charge(f->budget, 1, 10), 1000); /* only the records wait */
    assert_int_equal(node_budget_charge(f->budget, 1, 10), 1000); /* again */
    pass(f, 60000);
    assert_int_equal(node_budget_charge(f->budget, 10 << 20, 0), 0);
    int64_t wait = node_budget_charge(f->budget, 2 << 20, 1); /* only the bytes */
    assert_in_range(wait, 2000, 2001);
    pass(f, wait);
    assert_int_equal(node_budget_charge(f->budget, 2 << 20, 1), 0);
}

static void events_have_a_rate_of_their_own(void **state)
{
    Fixture *f = *state;
    limit(f, &(NodeLimits){ .events = { .per_second = 100, .burst = 1000 } });
    assert_true(node_budget_allows_events(f->budget, 1000));
    assert_false(node_budget_allows_events(f->budget, 100));
    assert_int_equal(node_budget_charge(f->budget, 1 << 30, 1000), 0);
    pass(f, 1000);
    assert_true(node_budget_allows_events(f->budget, 100));
}

static void the_log_says_it_once_a_minute(void **state)
{
    Fixture *f = *state;
    limit(f, &(NodeLimits){ 0 });
    assert_true(node_budget_allows_log(f->budget));
    assert_false(node_budget_allows_log(f->budget));
    pass(f, 59000);
    assert_false(node_budget_allows_log(f->budget));
    pass(f, 2000);
    assert_true(node_budget_allows_log(f->budget));
    assert_false(node_budget_allows_log(f->budget));
}

/* --- Results --------------------------------------------------------------------------------- */

static void what_is_left_is_never_negative(void **state)
{
    Fixture *f = *state;
    limit(f, &(NodeLimits){ .results_bytes = 1000 });
    assert_int_equal(node_budget_results_left(f->budget, 0), 1000);
    assert_int_equal(node_budget_results_left(f->budget, 999), 1);
    assert_int_equal(node_budget_results_left(f->budget, 1000), 0);
    assert_int_equal(node_budget_results_left(f->budget, 5000), 0);
    node_budgets_free(f->budgets);
    limit(f, &(NodeLimits){ 0 });
    assert_int_equal(node_budget_results_left(f->budget, 5000), INT64_MAX);
}

static void put_result(Fixture *f, const char *run, const char *step, const char *node, size_t size)
{
    Arena *arena = &f->world.arena;
    Str parts[3] = { str_from_c(run) };
    uint32_t count = 1;
    if (step != NULL) {
        parts[count++] = str_from_c(step);
    }
    parts[count++] = str_from_c(node);
    char *value = arena_alloc_zero(arena, size + 1);
    memset(value, 'x', size);
    world_put(&f->world,
              key_make(arena, PREFIX, step == NULL ? KEY_RUN_NODE : KEY_RUN_STEP, parts, count),
              str_from(value, size));
}

static void expect_counted(Fixture *f, int64_t expected)
{
    int64_t stored = -1;
    assert_true(node_budget_is_counted(f->budget, &stored));
    assert_int_equal(stored, expected);
    assert_false(node_budget_is_counted(f->budget, &stored)); /* returned once */
}

static void only_results_of_the_node_are_counted(void **state)
{
    Fixture *f = *state;
    int64_t ignored;
    limit(f, &(NodeLimits){ .results_bytes = 1000 });
    Str id = STR("r1");
    world_put(&f->world, key_make(&f->world.arena, PREFIX, KEY_RUN, &id, 1), STR("the run itself"));
    put_result(f, "r1", NULL, "web1", 10);
    put_result(f, "r1", NULL, "web2", 100);
    put_result(f, "r1", "web1", "web2", 1000); /* the name of a step */
    put_result(f, "r2", "a", "web1", 20);
    put_result(f, "web1", NULL, "web3", 5000); /* the ID of a run */
    node_budget_count(f->budget);
    assert_false(node_budget_is_counted(f->budget, &ignored)); /* not yet */
    pass(f, 10);
    expect_counted(f, 10 + 20 + 2 * NODE_RECORD_COST);
}

static void many_results_are_counted_page_by_page(void **state)
{
    enum {
        MANY = 450
    };
    Fixture *f = *state;
    char run[16];
    limit(f, &(NodeLimits){ .results_bytes = 1000 });
    for (int i = 0; i < MANY; i++) {
        snprintf(run, sizeof run, "r%04d", i);
        put_result(f, run, NULL, "web1", 1);
    }
    node_budget_count(f->budget);
    pass(f, 100);
    expect_counted(f, MANY * (1 + NODE_RECORD_COST));
}

/* A node that sends results all the time must not make the server read all runs all the time. */
static void counting_is_not_repeated_soon(void **state)
{
    Fixture *f = *state;
    int64_t ignored;
    limit(f, &(NodeLimits){ .results_bytes = 1000 });
    put_result(f, "r1", NULL, "web1", 10);
    node_budget_count(f->budget);
    node_budget_count(f->budget); /* in progress */
    pass(f, 10);
    expect_counted(f, 10 + NODE_RECORD_COST);
    pass(f, 9 * 60 * 1000);
    node_budget_count(f->budget);
    pass(f, 10);
    assert_false(node_budget_is_counted(f->budget, &ignored));
    pass(f, 2 * 60 * 1000);
    node_budget_count(f->budget);
    pass(f, 10);
    expect_counted(f, 10 + NODE_RECORD_COST);
}

/* Part of the results is not what the node has stored. */
static void a_count_that_fails_does_not_count(void **state)
{
    Fixture *f = *state;
    int64_t ignored;
    Error broken;
    limit(f, &(NodeLimits){ .results_bytes = 1000 });
    put_result(f, "r1", NULL, "web1", 10);
    error_set(&broken, ERROR_OS, "disk I/O error");
    f->store->reads = &broken;
    node_budget_count(f->budget);
    pass(f, 10);
    f->store->reads = NULL;
    assert_false(node_budget_is_counted(f->budget, &ignored));
}

static void it_can_be_freed_while_it_counts(void **state)
{
    Fixture *f = *state;
    limit(f, &(NodeLimits){ .results_bytes = 1000 });
    put_result(f, "r1", NULL, "web1", 10);
    f->store->hangs = true;
    node_budget_count(f->budget);
    node_budgets_free(TAKE(f->budgets));
    failing_store_release(f->store);
    pass(f, 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sessions_are_limited_by_name),
        TEST(records_cost_more_than_their_bytes),
        TEST(the_longer_wait_counts_and_nothing_is_charged_before),
        TEST(events_have_a_rate_of_their_own),
        TEST(the_log_says_it_once_a_minute),
        TEST(what_is_left_is_never_negative),
        TEST(only_results_of_the_node_are_counted),
        TEST(many_results_are_counted_page_by_page),
        TEST(counting_is_not_repeated_soon),
        TEST(a_count_that_fails_does_not_count),
        TEST(it_can_be_freed_while_it_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
