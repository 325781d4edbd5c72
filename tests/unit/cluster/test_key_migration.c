/* Records of an earlier version, moved to their current keys. */
#include "cluster/key_migration.h"

#include "store_world.h"

enum {
    TOKENS = 300, /* more than a chunk */
    LARGE = 1 << 20,
};

typedef struct Fixture {
    StoreWorld world;
    StoreWorld second; /* another server on the same store, with the notifications it gets */
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    *state = f;
    world_open(&f->world);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    world_close(&f->world);
    free(f);
    return 0;
}

static Str former(Fixture *f, const char *rest)
{
    return arena_format(&f->world.arena, "/eden/objects/%s", rest);
}

static Str present(Fixture *f, const char *rest)
{
    return arena_format(&f->world.arena, "/eden/internal/%s", rest);
}

static void run(Fixture *f)
{
    key_migration_run(&f->world.cluster_store, world_done, &f->world);
    for (int i = 0; i < 1000 && !f->world.is_done; i++) {
        world_pass(&f->world);
    }
    world_expect(&f->world, ERROR_NONE, NULL);
}

static void fill(Fixture *f)
{
    for (int i = 0; i < TOKENS; i++) {
        Str key = arena_format(&f->world.arena, "/eden/objects/token/t%d", i);
        world_put(&f->world, key, arena_format(&f->world.arena, "token %d", i));
    }
}

static void expect_moved(Fixture *f)
{
    for (int i = 0; i < TOKENS; i++) {
        Str rest = arena_format(&f->world.arena, "token/t%d", i);
        assert_false(world_get(&f->world, former(f, rest.data)).there);
        assert_str(world_get(&f->world, present(f, rest.data)).value,
                   arena_format(&f->world.arena, "token %d", i).data);
    }
}

static void records_of_every_kind_are_moved(void **state)
{
    Fixture *f = *state;
    static const char *const moved[] = {
        "access-token/aaaaaaaa", "grants/access-token", "join-nonce/00",    "joining/web1",
        "pki/revocations",       "pki/trust",           "pki-without/web1", "token/aaaaaaaa",
        "user-certificate/00",   "joining/%ff",         "token/a/b"
    };
    static const char *const others[] = { "role/web", "config/cluster", "tokens/x", "pki" };
    for (size_t i = 0; i < COUNT_OF(moved); i++) {
        world_put(&f->world, former(f, moved[i]), str_from_c(moved[i]));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        world_put(&f->world, former(f, others[i]), str_from_c(others[i]));
    }
    run(f);
    for (size_t i = 0; i < COUNT_OF(moved); i++) {
        assert_false(world_get(&f->world, former(f, moved[i])).there);
        assert_str(world_get(&f->world, present(f, moved[i])).value, moved[i]);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_str(world_get(&f->world, former(f, others[i])).value, others[i]);
    }
}

static void granted(void *context, const StoreLease *lease, const Error *err)
{
    *(int64_t *)context = lease->id;
}

static void leases_and_large_values_are_moved_too(void **state)
{
    Fixture *f = *state;
    int64_t lease = 0;
    Error err;
    Str large = { arena_alloc_zero(&f->world.arena, LARGE), LARGE };
    assert_true(store_lease_grant(f->world.cluster_store.store, 60, 0, granted, &lease, &err));
    world_pass(&f->world);
    assert_true(store_put(f->world.cluster_store.store, former(f, "join-nonce/00"), STR("x"), lease,
                          world_stored, &f->world, &err));
    world_expect(&f->world, ERROR_NONE, NULL);
    for (int i = 0; i < 5; i++) {
        world_put(&f->world, arena_format(&f->world.arena, "/eden/objects/pki/%d", i), large);
    }
    run(f);
    assert_int_equal(world_get(&f->world, present(f, "join-nonce/00")).lease, lease);
    assert_int_equal(world_get(&f->world, present(f, "pki/4")).value.len, LARGE);
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + 61000);
    assert_false(world_get(&f->world, present(f, "join-nonce/00")).there);
}

static void it_happens_once(void **state)
{
    Fixture *f = *state;
    fill(f);
    run(f);
    expect_moved(f);
    int64_t revision = store_status(f->world.cluster_store.store).revision;
    run(f);
    assert_int_equal(store_status(f->world.cluster_store.store).revision, revision);
    /* Records that clients put there later are not ours. */
    world_put(&f->world, former(f, "access-token/evil"), STR("{}"));
    run(f);
    assert_false(world_get(&f->world, present(f, "access-token/evil")).there);
    assert_true(world_get(&f->world, former(f, "access-token/evil")).there);
}

/* Killed at any point, or with a second server doing the same: each record is in one place. */
static void an_interrupted_move_is_completed_by_another_server(void **state)
{
    Fixture *f = *state;
    fill(f);
    f->second.cluster_store = f->world.cluster_store;
    key_migration_run(&f->second.cluster_store, world_done, &f->second);
    run(f);
    for (int i = 0; i < 1000 && !f->second.is_done; i++) {
        world_pass(&f->world);
    }
    assert_true(f->second.is_done);
    assert_int_equal(f->second.err.kind, ERROR_NONE);
    expect_moved(f);
}

static void a_record_changed_meanwhile_is_read_again(void **state)
{
    Fixture *f = *state;
    Error err;
    fill(f);
    key_migration_run(&f->world.cluster_store, world_done, &f->world);
    /* Between reading and writing of some chunk. */
    for (int i = 0; i < 20; i++) {
        Str key = arena_format(&f->world.arena, "/eden/objects/user-certificate/%d", i);
        assert_true(store_put(f->world.cluster_store.store, key, STR("late"), 0, world_stored,
                              &f->second, &err));
        loop_run_virtual_until(f->world.cluster_store.loop,
                               loop_now_ms(f->world.cluster_store.loop));
        f->second.is_done = false;
    }
    for (int i = 0; i < 1000 && !f->world.is_done; i++) {
        world_pass(&f->world);
        f->second.is_done = false;
    }
    world_expect(&f->world, ERROR_NONE, NULL);
    expect_moved(f);
}

static void former_keys_are_recognized(void **state)
{
    Fixture *f = *state;
    Str found;
    assert_true(
        key_migration_target(&f->world.arena, PREFIX, STR("/eden/objects/pki/trust"), &found));
    assert_str(found, "/eden/internal/pki/trust");
    static const char *const others[] = { "/eden/objects/pki/",       "/eden/objects/pki",
                                          "/eden/objects/role/web",   "/eden/internal/pki/trust",
                                          "/other/objects/pki/trust", "" };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(key_migration_target(&f->world.arena, PREFIX, str_from_c(others[i]), &found));
    }
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(records_of_every_kind_are_moved),
        ROW(leases_and_large_values_are_moved_too),
        ROW(it_happens_once),
        ROW(an_interrupted_move_is_completed_by_another_server),
        ROW(a_record_changed_meanwhile_is_read_again),
        ROW(former_keys_are_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
