/* What a store keeps of the past unless its settings say otherwise. */
#include "store_world.h"

static int64_t compacted_after(StoreWorld *world, int64_t ms)
{
    loop_run_virtual_until(world->cluster_store.loop, loop_now_ms(world->cluster_store.loop) + ms);
    for (int i = 0; i < 3; i++) { /* the writer compacts between writes */
        world_put(world, STR("key"), STR("x"));
    }
    return store_status(world->cluster_store.store).compacted;
}

static void by_default_ten_minutes_are_kept(void **state)
{
    StoreWorld world = { 0 };
    world_open(&world);
    for (int i = 0; i < STORE_KEEP_REVISIONS + STORE_KEEP_REVISIONS / 4; i++) {
        Error err;
        assert_true(store_put(world.cluster_store.store, STR("key"), STR("x"), 0, world_stored,
                              &world, &err));
        loop_run_virtual_until(world.cluster_store.loop, loop_now_ms(world.cluster_store.loop));
        world.is_done = false;
    }
    assert_int_equal(compacted_after(&world, STORE_KEEP_MS - 60000), 0);
    int64_t compacted = compacted_after(&world, 120000);
    int64_t revision = store_status(world.cluster_store.store).revision;
    assert_in_range(compacted, 1, revision - STORE_KEEP_REVISIONS);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_default_ten_minutes_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
