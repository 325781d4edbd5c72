/* Leases: they expire in monotonic time, together with their keys, in one revision. */
#include <stdlib.h>

#include "store_world.h"

#define OK(answer)          assert_int_equal((answer)->err.kind, ERROR_NONE)
#define FAILS(answer, code) assert_int_equal((answer)->err.kind, (code))

static void pass(World *world, int64_t ms)
{
    loop_run_virtual_until(world->loop, loop_now_ms(world->loop) + ms);
}

static void leases_are_granted_listed_and_revoked(World *world)
{
    Answer *chosen = world_grant(world, 30, 0);
    OK(chosen);
    assert_true(chosen->lease.id > 0);
    assert_int_equal(chosen->lease.ttl_s, 30);
    assert_int_equal(chosen->lease.remaining_s, 30);
    OK(world_grant(world, 30, 7));
    FAILS(world_grant(world, 30, 7), ERROR_CONFLICT);
    FAILS(world_grant(world, 0, 8), ERROR_INVALID);
    FAILS(world_grant(world, 1, -8), ERROR_INVALID);
    FAILS(world_grant(world, (int64_t)STORE_TTL_MAX + 1, 8), ERROR_INVALID);
    Answer *list = world_lease_list(world);
    assert_int_equal(list->id_count, 2);
    assert_int_equal(list->ids[0] + list->ids[1], 7 + chosen->lease.id);
    assert_int_equal(world_now(world), world_revision(world, 0));
    OK(world_revoke(world, 7));
    FAILS(world_revoke(world, 7), ERROR_NOT_FOUND);
    FAILS(world_keep_alive(world, 7), ERROR_NOT_FOUND);
    FAILS(world_time_to_live(world, 7, false), ERROR_NOT_FOUND);
    FAILS(world_time_to_live(world, 7, true), ERROR_NOT_FOUND);
    assert_int_equal(world_lease_list(world)->id_count, 1);
    if (world->backend->members == 0) { /* etcd does not report it */
        assert_int_equal(store_status(world->store).leases, 1);
    }
}

static void leases_are_listed_in_ascending_order(World *world)
{
    static const int64_t ids[] = { 70, 4, 1000000, 9, 3000000000000, 12, 5 };
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        OK(world_grant(world, 30 + (int64_t)i, ids[i]));
    }
    Answer *list = world_lease_list(world);
    assert_int_equal(list->id_count, COUNT_OF(ids));
    for (uint32_t i = 1; i < list->id_count; i++) {
        assert_true(list->ids[i - 1] < list->ids[i]);
    }
}

static void revoking_deletes_the_keys_as_one_revision(World *world)
{
    WatchLog seen = { .acks = true };
    watch_log_start(&seen, world, "a", STORE_ALL, 0, true);
    OK(world_grant(world, 30, 7));
    OK(world_grant(world, 30, 8));
    OK(world_put_lease(world, "a", "1", 7));
    OK(world_put_lease(world, "b", "1", 7));
    OK(world_put_lease(world, "c", "1", 8));
    OK(world_put_lease(world, "b", "2", 0)); /* detaches the key from the lease */
    OK(world_put_lease(world, "d", "1", 7));
    Answer *asked = world_time_to_live(world, 7, true);
    assert_int_equal(asked->lease.key_count, 2);
    FAILS(world_put_lease(world, "x", "1", 9), ERROR_NOT_FOUND);
    Answer *revoked = world_revoke(world, 7);
    OK(revoked);
    assert_int_equal(world_nth(world, revoked->lease.revision), 6);
    watch_log_wait(&seen, 7);
    assert_non_null(strstr(seen.log, "delete a@6 (was 1@1)"));
    assert_non_null(strstr(seen.log, "delete d@6 (was 1@5)"));
    assert_string_equal(world_get(world, "b"), "2");
    assert_string_equal(world_get(world, "c"), "1");
    store_watch_cancel(seen.watch);
}

static void a_lease_ends_unless_it_is_kept_alive(World *world)
{
    OK(world_grant(world, 10, 7));
    OK(world_put_lease(world, "a", "1", 7));
    OK(world_put_lease(world, "b", "1", 7));
    int64_t before = world_now(world);
    pass(world, 9000);
    assert_int_equal(world_time_to_live(world, 7, false)->lease.remaining_s, 1);
    assert_int_equal(world_keep_alive(world, 7)->lease.remaining_s, 10);
    /* The wall clock does not matter. */
    loop_virtual_set_wall(world->loop, INT64_C(4000000000000));
    pass(world, 9999);
    assert_string_equal(world_get(world, "a"), "1");
    pass(world, 1);
    assert_null(world_get(world, "a"));
    assert_null(world_get(world, "b"));
    assert_int_equal(world_now(world), before + 1); /* both leases expire at once */
    assert_int_equal(store_status(world->store).leases, 0);
    FAILS(world_keep_alive(world, 7), ERROR_NOT_FOUND);
}

static void leases_start_over_after_a_restart(World *world)
{
    OK(world_grant(world, 10, 7));
    OK(world_put_lease(world, "a", "1", 7));
    pass(world, 9000);
    world_reopen(world);
    assert_int_equal(world_time_to_live(world, 7, true)->lease.remaining_s, 10);
    pass(world, 9999);
    assert_string_equal(world_get(world, "a"), "1");
    pass(world, 1);
    assert_null(world_get(world, "a"));
    world_reopen(world);
    assert_int_equal(store_status(world->store).leases, 0);
    FAILS(world_put_lease(world, "a", "1", 7), ERROR_NOT_FOUND);
}

static void a_lease_ends_in_real_time(World *world)
{
    WatchLog seen = { .acks = true };
    OK(world_grant(world, 1, 7));
    OK(world_put_lease(world, "a", "1", 7));
    watch_log_start(&seen, world, "a", STR_EMPTY, 0, false);
    if (world->backend->virtual_time) {
        pass(world, 1000);
    }
    watch_log_wait(&seen, 1);
    assert_string_equal(seen.log, "delete a@2");
    store_watch_cancel(seen.watch);
}

static void thousands_of_leases_end_separately(World *world)
{
    enum {
        LEASES = 2000
    };
    Answer *answers = ARENA_ARRAY(&world->arena, Answer, LEASES);
    memset(answers, 0, LEASES * sizeof *answers);
    Error err;
    for (int i = 0; i < LEASES; i++) {
        answers[i].world = world;
        assert_true(
            store_lease_grant(world->store, 1 + i % 100, i + 1, answer_lease, &answers[i], &err));
    }
    world_wait(world, &answers[LEASES - 1].done);
    for (int i = 0; i < LEASES; i++) {
        answers[i].done = false;
        Str key = arena_format(&world->arena, "k%d", i);
        assert_true(store_put(world->store, key, STR("v"), i + 1, answer_done, &answers[i], &err));
    }
    world_wait(world, &answers[LEASES - 1].done);
    assert_int_equal(store_status(world->store).leases, LEASES);
    for (int64_t second = 1; second <= 100; second++) {
        pass(world, 1000);
        assert_int_equal(store_status(world->store).leases, LEASES - LEASES / 100 * second);
    }
    StoreOp op = { .kind = STORE_RANGE, .key = STR("k"), .end = STORE_ALL, .count_only = true };
    assert_int_equal(world_op(world, op)->reply.ops[0].count, 0);
}

/* Grants leases without waiting for responses: pending grants count toward the limit. */
static void leases_have_a_limit_and_a_reserve(World *world)
{
    enum {
        ORDINARY = STORE_LEASES_MAX - STORE_LEASES_RESERVED,
        AT_ONCE = 500
    };
    Answer *answers = ARENA_ARRAY(&world->arena, Answer, AT_ONCE);
    Error err;
    int64_t granted = 0;
    bool is_full = false;
    while (!is_full) {
        Answer *last = NULL;
        for (int i = 0; i < AT_ONCE && !is_full; i++) {
            /* The last grants are all pending when the limit is reached. */
            int64_t left = ORDINARY - granted;
            if (left > AT_ONCE / 2 && i >= left - AT_ONCE / 2) {
                break;
            }
            answers[i] = (Answer){ .world = world };
            is_full = !store_lease_grant(world->store, 1000, granted + 1, answer_lease, &answers[i],
                                         &err);
            granted += !is_full;
            last = is_full ? last : &answers[i];
        }
        assert_non_null(last);
        world_wait(world, &last->done);
    }
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_int_equal(granted, ORDINARY);
    assert_int_equal(store_status(world->store).leases, ORDINARY);
    Answer member = { .world = world };
    assert_true(store_lease_grant_reserved(world->store, 15, answer_lease, &member, &err));
    world_wait(world, &member.done);
    assert_int_equal(store_status(world->store).leases, ORDINARY + 1);
    FAILS(world_grant(world, 15, 0), ERROR_LIMIT);
    OK(world_revoke(world, 1));
    OK(world_revoke(world, 2));
    OK(world_grant(world, 15, 0));
}

int main(void)
{
    static const StoreTest tests[] = {
        STORE_TEST(leases_are_granted_listed_and_revoked),
        STORE_TEST(leases_are_listed_in_ascending_order),
        STORE_TEST(revoking_deletes_the_keys_as_one_revision),
        { "a_lease_ends_unless_it_is_kept_alive", a_lease_ends_unless_it_is_kept_alive,
          .time_only = true },
        { "leases_start_over_after_a_restart", leases_start_over_after_a_restart, .disk_only = true,
          .time_only = true },
        STORE_TEST(a_lease_ends_in_real_time),
        { "thousands_of_leases_end_separately", thousands_of_leases_end_separately,
          .time_only = true },
        { "leases_have_a_limit_and_a_reserve", leases_have_a_limit_and_a_reserve,
          .local_only = true, .time_only = true },
    };
    return store_tests_run("store leases", tests, COUNT_OF(tests));
}
