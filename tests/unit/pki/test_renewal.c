#include "pki/renewal.h"

#include "authority.h"

#define HOUR ((int64_t)3600 * 1000)

static const RenewalRules any;

static void renewal_is_at_two_thirds_of_life_or_a_little_later(void **state)
{
    Authority *authority = *state;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    int64_t first = INT64_MAX, last = 0;
    for (int i = 0; i < 200; i++) {
        Certificate made = issue_node(authority, &grant);
        int64_t life = made.not_after_ms - made.not_before_ms;
        RenewalPlan plan = renewal_plan(&made, &any, NOW_MS);
        assert_int_equal(plan.state, RENEWAL_WAIT);
        assert_true(plan.due_ms >= made.not_before_ms + life / 3 * 2);
        assert_true(plan.due_ms <= made.not_before_ms + life / 3 * 2 + life / 12);
        assert_int_equal(renewal_plan(&made, &any, plan.due_ms - 1).state, RENEWAL_WAIT);
        assert_int_equal(renewal_plan(&made, &any, plan.due_ms).state, RENEWAL_DUE);
        assert_int_equal(renewal_plan(&made, &any, plan.due_ms).due_ms, plan.due_ms);
        first = plan.due_ms < first ? plan.due_ms : first;
        last = plan.due_ms > last ? plan.due_ms : last;
    }
    /* Of 200, spread over two and a half days, some are far from others. */
    assert_true(last - first > 30 * HOUR);
}

static void all_digits_of_short_serial_numbers_count(void **state)
{
    int64_t twelfth = (int64_t)1 << 44;
    Certificate made = { .not_after_ms = 12 * twelfth, .serial = "f00" };
    assert_int_equal(renewal_plan(&made, &any, 0).due_ms, 8 * twelfth + 0xf0);
}

static void wrong_clocks_and_expired_certificates_are_reported(void **state)
{
    Authority *authority = *state;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate made = issue_node(authority, &grant);
    assert_int_equal(renewal_plan(&made, &any, made.not_before_ms - 1).state, RENEWAL_EARLY);
    assert_int_equal(renewal_plan(&made, &any, made.not_before_ms).state, RENEWAL_WAIT);
    assert_int_equal(renewal_plan(&made, &any, made.not_after_ms - 1).state, RENEWAL_DUE);
    assert_int_equal(renewal_plan(&made, &any, made.not_after_ms).state, RENEWAL_EXPIRED);
    assert_int_equal(renewal_plan(&made, &any, INT64_MIN).state, RENEWAL_EARLY);
    assert_int_equal(renewal_plan(&made, &any, INT64_MAX).state, RENEWAL_EXPIRED);
}

static void certificates_of_another_ca_are_due_within_the_spread(void **state)
{
    Authority *authority = *state;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate made = issue_node(authority, &grant);
    Pin other = { { 1 } };
    RenewalRules rules = { .issuer = &other, .since_ms = NOW_MS + HOUR, .spread_ms = HOUR };
    RenewalPlan plan = renewal_plan(&made, &rules, NOW_MS);
    assert_true(plan.due_ms >= NOW_MS + HOUR && plan.due_ms < NOW_MS + 2 * HOUR);
    assert_int_equal(renewal_plan(&made, &rules, NOW_MS + 2 * HOUR).state, RENEWAL_DUE);
    /* The right issuer changes nothing, a spread of zero means immediately. */
    rules.issuer = &authority->ca.chain.items[0].pin;
    assert_int_equal(renewal_plan(&made, &rules, NOW_MS).due_ms,
                     renewal_plan(&made, &any, NOW_MS).due_ms);
    rules = (RenewalRules){ .issuer = &other, .since_ms = NOW_MS };
    assert_int_equal(renewal_plan(&made, &rules, NOW_MS).state, RENEWAL_DUE);
}

static void failed_attempts_back_off_but_stay_in_time(void **state)
{
    Authority *authority = *state;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate made = issue_node(authority, &grant);
    int64_t most = 30000;
    for (uint32_t failures = 0; failures < 40; failures++) {
        for (uint64_t random_state = 0; random_state < UINT64_MAX / 2;
             random_state += UINT64_MAX / 17) {
            int64_t wait = renewal_retry_ms(&made, failures, NOW_MS, random_state);
            assert_true(wait >= most / 2 && wait <= most);
        }
        most = most < HOUR / 2 ? most * 2 : HOUR;
    }
    assert_true(renewal_retry_ms(&made, 30, made.not_after_ms - 100000, 0) <= 10000);
    assert_int_equal(renewal_retry_ms(&made, 30, made.not_after_ms + HOUR, 0), 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(renewal_is_at_two_thirds_of_life_or_a_little_later),
        authority_test(wrong_clocks_and_expired_certificates_are_reported),
        authority_test(all_digits_of_short_serial_numbers_count),
        authority_test(certificates_of_another_ca_are_due_within_the_spread),
        authority_test(failed_attempts_back_off_but_stay_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
