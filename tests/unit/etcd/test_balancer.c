/* Which member is tried next, and when. */
#include "etcd/balancer.h"
#include "unit.h"

static void clients_start_with_different_members(void **state)
{
    bool chosen[3] = { false };
    for (uint64_t chance = 0; chance < 9; chance++) {
        Balancer balancer;
        balancer_init(&balancer, 3, chance);
        BalancerPick pick = balancer_pick(&balancer, 0);
        assert_int_equal(pick.wait_ms, 0);
        chosen[pick.member] = true;
    }
    assert_true(chosen[0] && chosen[1] && chosen[2]);
}

static void members_take_turns(void **state)
{
    Balancer balancer;
    balancer_init(&balancer, 3, 1);
    for (uint32_t i = 0; i < 3; i++) {
        BalancerPick pick = balancer_pick(&balancer, 1000);
        assert_int_equal(pick.member, (1 + i) % 3);
        assert_int_equal(pick.wait_ms, 0);
        balancer_failed(&balancer, pick.member, 1000, 0);
    }
    /* All have failed: the first of them again, after a while. */
    BalancerPick pick = balancer_pick(&balancer, 1000);
    assert_int_equal(pick.member, 1);
    assert_int_equal(pick.wait_ms, BALANCER_FIRST_MS);
    pick = balancer_pick(&balancer, 1000 + BALANCER_FIRST_MS);
    assert_int_equal(pick.wait_ms, 0);
}

/* One that accepts a connection, and then fails, waits like any other. */
static void a_member_that_works_is_not_left_for_one_that_failed(void **state)
{
    Balancer balancer;
    balancer_init(&balancer, 2, 0);
    balancer_failed(&balancer, 0, 0, 0);
    balancer_succeeded(&balancer, 1);
    assert_int_equal(balancer_pick(&balancer, 0).member, 1);
    balancer_failed(&balancer, 1, 0, 0);
    assert_int_equal(balancer_pick(&balancer, 0).member, 0);
    assert_true(balancer_pick(&balancer, 0).wait_ms > 0);
}

static void delays_double_up_to_the_maximum_and_vary(void **state)
{
    Balancer balancer;
    balancer_init(&balancer, 1, 0);
    int64_t most = BALANCER_FIRST_MS;
    for (int i = 0; i < 50; i++) {
        balancer_failed(&balancer, 0, 0, 0);
        assert_int_equal(balancer_pick(&balancer, 0).wait_ms, most);
        most = most * 2 > BALANCER_MAX_MS ? BALANCER_MAX_MS : most * 2;
    }
    for (uint64_t chance = 0; chance < 5000; chance += 7) {
        balancer_failed(&balancer, 0, 0, chance);
        assert_in_range(balancer_pick(&balancer, 0).wait_ms, BALANCER_MAX_MS / 2, BALANCER_MAX_MS);
    }
    balancer_succeeded(&balancer, 0);
    assert_int_equal(balancer_pick(&balancer, 0).wait_ms, 0);
    balancer_failed(&balancer, 0, 0, 0);
    assert_int_equal(balancer_pick(&balancer, 0).wait_ms, BALANCER_FIRST_MS);
}

static void members_that_stay_keep_their_delays(void **state)
{
    Balancer balancer;
    balancer_init(&balancer, 2, 0);
    balancer_failed(&balancer, 1, 0, 0);
    const uint32_t former[] = { 1, BALANCER_NEW, 0 };
    balancer_replace(&balancer, former, 3);
    assert_int_equal(balancer_pick(&balancer, 0).member, 1);
    balancer_failed(&balancer, 1, 0, 0);
    assert_int_equal(balancer_pick(&balancer, 0).member, 2);
    assert_int_equal(balancer_pick(&balancer, BALANCER_FIRST_MS).wait_ms, 0);
    balancer_replace(&balancer, former, 1);
    assert_int_equal(balancer_pick(&balancer, 0).wait_ms, BALANCER_FIRST_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_start_with_different_members),
        cmocka_unit_test(members_take_turns),
        cmocka_unit_test(a_member_that_works_is_not_left_for_one_that_failed),
        cmocka_unit_test(delays_double_up_to_the_maximum_and_vary),
        cmocka_unit_test(members_that_stay_keep_their_delays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
