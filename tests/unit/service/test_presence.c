#include "service/presence.h"

#include <stdlib.h>

#include "lossy_store.h"
#include "store/keys.h"
#include "unit.h"

#define ALIVE STR("/eden/nodes/web1/alive")

typedef struct Fixture {
    Loop *loop;
    Store *store;
    Presence *presence;
    bool there; /* of the last check */
    int64_t lease;
    char value[300];
    int evictions;
    Error why;
} Fixture;

static void ignored(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    f->loop = loop_new_virtual(1);
    f->store = store_open_memory(f->loop, NULL);
    Error err;
    assert_true(store_put(f->store, STR("/eden/nodes/web1"), STR("{}"), 0, ignored, NULL, &err));
    f->presence = presence_new(f->loop, f->store, KEYS_PREFIX, STR("s1"));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    presence_free(f->presence);
    store_close(f->store);
    loop_free(f->loop);
    free(f);
    return 0;
}

static void pass(Fixture *f, int64_t ms)
{
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + ms);
}

static void evicted(void *context, const Error *why)
{
    Fixture *f = context;
    f->evictions++;
    f->why = *why;
}

static NodePresence *enter(Fixture *f, const char *boot)
{
    return presence_claim(f->presence, &(PresenceHolder){ .node = STR("web1"),
                                                          .boot_id = str_from_c(boot),
                                                          .version = STR("1"),
                                                          .evicted = evicted,
                                                          .context = f });
}

static void looked(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->there = reply->ops[0].kv_count > 0;
    if (f->there) {
        Str value = reply->ops[0].kvs[0].value;
        f->lease = reply->ops[0].kvs[0].lease;
        snprintf(f->value, sizeof f->value, "%" STR_FMT, STR_ARG(value));
    }
}

static bool look(Fixture *f)
{
    Error err;
    assert_true(store_get(f->store, ALIVE, looked, f, &err));
    pass(f, 1);
    return f->there;
}

static void lease_ignored(void *context, const StoreLease *lease, const Error *err)
{
    assert_null(err);
}

static void test_a_node_is_present_while_its_session_beats(void **state)
{
    Fixture *f = *state;
    NodePresence *holder = enter(f, "b1");
    presence_renew(holder);
    pass(f, 10);
    assert_true(look(f));
    assert_non_null(strstr(f->value, "\"server\":\"s1\",\"boot_id\":\"b1\",\"version\":\"1\""));
    for (int i = 0; i < 10; i++) {
        pass(f, 5000);
        presence_renew(holder);
        assert_true(look(f));
    }
    int64_t since_ms;
    assert_false(presence_is_released(f->presence, STR("web1"), &since_ms));
    int64_t now_ms = loop_wall_ms(f->loop);
    presence_release(holder);
    pass(f, 10000);
    assert_true(look(f));
    assert_true(presence_is_released(f->presence, STR("web1"), &since_ms));
    assert_int_equal(since_ms, now_ms);
    assert_false(presence_is_released(f->presence, STR("web9"), &since_ms));
    pass(f, 10000);
    assert_false(presence_is_released(f->presence, STR("web1"), &since_ms));
    assert_false(look(f));
    assert_int_equal(f->evictions, 0);
    assert_int_equal(store_status(f->store).leases, 0);
}

static void test_a_quick_reconnect_is_not_an_absence(void **state)
{
    Fixture *f = *state;
    presence_renew(enter(f, "b1"));
    pass(f, 10);
    assert_true(look(f));
    int64_t lease = f->lease;
    for (int i = 0; i < 100; i++) {
        NodePresence *holder = enter(f, "b2");
        presence_renew(holder);
        presence_release(holder);
        pass(f, 20);
    }
    assert_int_equal(store_status(f->store).leases, 1);
    NodePresence *holder = enter(f, "b3");
    presence_renew(holder);
    pass(f, 10);
    assert_true(look(f));
    assert_int_equal(f->lease, lease);
    assert_non_null(strstr(f->value, "\"b3\""));
    presence_release(holder);
}

static void test_the_later_session_wins(void **state)
{
    Fixture *f = *state;
    presence_renew(enter(f, "b1"));
    NodePresence *holder = enter(f, "b2"); /* while the first one is still pending */
    assert_int_equal(f->evictions, 1);
    assert_int_equal(f->why.kind, ERROR_CONFLICT);
    presence_renew(holder);
    pass(f, 10);
    assert_true(look(f));
    assert_non_null(strstr(f->value, "\"b2\""));
    assert_int_equal(f->evictions, 1);
    presence_release(holder);
}

static void test_a_lost_lease_is_granted_again(void **state)
{
    Fixture *f = *state;
    NodePresence *holder = enter(f, "b1");
    presence_renew(holder);
    pass(f, 10);
    assert_true(look(f));
    Error err;
    assert_true(store_lease_revoke(f->store, f->lease, lease_ignored, NULL, &err));
    assert_false(look(f));
    presence_renew(holder);
    pass(f, 10);
    assert_true(look(f));
    presence_release(holder);
}

static void test_a_newer_session_elsewhere_is_not_touched(void **state)
{
    Fixture *f = *state;
    NodePresence *holder = enter(f, "b1");
    presence_renew(holder);
    pass(f, 10);
    assert_true(look(f));
    Error err;
    assert_true(store_lease_revoke(f->store, f->lease, lease_ignored, NULL, &err));
    assert_true(store_put(f->store, ALIVE, STR("another server"), 0, ignored, NULL, &err));
    pass(f, 10);
    presence_renew(holder);
    pass(f, 10);
    assert_int_equal(f->evictions, 1);
    assert_int_equal(f->why.kind, ERROR_CONFLICT);
    assert_true(look(f));
    assert_string_equal(f->value, "another server");
}

/* Its key was put and the response was lost: the next beat finds the key, which is its own. */
static void test_a_claim_with_a_lost_response_is_recognized(void **state)
{
    static const Fate fates[] = { FATE_WELL, FATE_ANSWER_LOST };
    Fixture *f = *state;
    LossyStore lossy;
    Store *store = lossy_open(&lossy, f->loop, f->store, fates, COUNT_OF(fates));
    Presence *presence = presence_new(f->loop, store, KEYS_PREFIX, STR("s1"));
    NodePresence *holder = presence_claim(presence, &(PresenceHolder){ .node = STR("web1"),
                                                                       .boot_id = STR("b1"),
                                                                       .version = STR("1"),
                                                                       .evicted = evicted,
                                                                       .context = f });
    presence_renew(holder);
    pass(f, 10);
    assert_true(look(f));
    Error err;
    assert_true(store_lease_revoke(f->store, f->lease, lease_ignored, NULL, &err));
    assert_false(look(f));
    for (int i = 0; i < 4; i++) {
        presence_renew(holder);
        pass(f, 5000);
        assert_true(look(f));
        assert_int_equal(f->evictions, 0);
    }
    assert_int_equal(lossy.sent, 3);
    presence_release(holder);
    presence_free(presence);
    arena_clear(&lossy.arena);
}

static void test_a_removed_node_is_not_present(void **state)
{
    Fixture *f = *state;
    NodePresence *holder = enter(f, "b1");
    Error err;
    assert_true(store_delete(f->store, STR("/eden/nodes/web1"), ignored, NULL, &err));
    presence_renew(holder);
    pass(f, 10);
    assert_int_equal(f->evictions, 1);
    assert_int_equal(f->why.kind, ERROR_DENIED);
    assert_false(look(f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_node_is_present_while_its_session_beats, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_quick_reconnect_is_not_an_absence, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_later_session_wins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_lost_lease_is_granted_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_claim_with_a_lost_response_is_recognized, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_removed_node_is_not_present, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_newer_session_elsewhere_is_not_touched, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
