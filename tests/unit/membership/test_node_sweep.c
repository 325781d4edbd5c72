#include "membership/node_sweep.h"

#include "lossy_store.h"
#include "membership/nodes.h"
#include "store_world.h"

enum {
    NUMBERS = 60
};

/* Kinds of keys that contain the name of a node; the first part is the one that differs. */
static const KeyKind kinds[] = { KEY_RUN_NODE, KEY_RUN_STEP,        KEY_RUN_PUBLISHED,
                                 KEY_STATUS,   KEY_RUNNING_VERSION, KEY_SERVICE,
                                 KEY_RUN_SLOT, KEY_RUN_BARRIER };

static Str key_of(StoreWorld *world, KeyKind kind, int number, Str node)
{
    Str parts[KEYS_PARTS_MAX] = { arena_format(&world->arena, "n%d", number), STR("a/b"),
                                  STR("a/b") };
    uint32_t part;
    assert_true(key_node_part(kind, &part));
    parts[part] = node;
    return key_make(&world->arena, PREFIX, kind, parts, key_part_count(kind));
}

static void fill(StoreWorld *world, Str node)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (int number = 0; number < NUMBERS; number++) {
            world_put(world, key_of(world, kinds[i], number, node), STR("{}"));
        }
    }
    world_put(world, key_make(&world->arena, PREFIX, KEY_WAIT, (Str[]){ node, STR("1") }, 2),
              STR("{}"));
}

/* All of them, or none. */
static bool is_there(StoreWorld *world, Str node)
{
    uint32_t count = 0;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (int number = 0; number < NUMBERS; number++) {
            count += world_get(world, key_of(world, kinds[i], number, node)).there;
        }
    }
    assert_true(count == 0 || count == COUNT_OF(kinds) * NUMBERS);
    Str wait = key_make(&world->arena, PREFIX, KEY_WAIT, (Str[]){ node, STR("1") }, 2);
    assert_int_equal(world_get(world, wait).there, count > 0);
    return count > 0;
}

static bool is_marked(StoreWorld *world, Str node)
{
    return world_get(world, cluster_key_removed(&world->arena, PREFIX, node)).there;
}

static void wait_idle(StoreWorld *world, const NodeSweep *sweep)
{
    do {
        world_pass(world);
    } while (!node_sweep_is_idle(sweep));
}

static void a_removed_node_leaves_no_key_and_others_keep_theirs(void **state)
{
    StoreWorld world = { 0 };
    world_open(&world);
    world_follow(&world);
    fill(&world, STR("web1"));
    fill(&world, STR("web10"));
    world_put(&world, cluster_key_node(&world.arena, PREFIX, STR("web1")), STR("damaged"));
    StoreCompare fence = world_lead(&world);
    NodeSweep *sweep = node_sweep_new(&world.cluster_store, &fence);
    wait_idle(&world, sweep);
    assert_true(is_there(&world, STR("web1")));
    nodes_remove(&world.cluster_store, STR("web1"), 0, world_done, &world);
    world_expect(&world, ERROR_NONE, NULL);
    wait_idle(&world, sweep);
    assert_false(is_there(&world, STR("web1")));
    assert_true(is_there(&world, STR("web10")));
    assert_false(is_marked(&world, STR("web1")));
    node_sweep_free(sweep);
    world_close(&world);
}

/* Like a server that was killed in between: the mark exists when it starts. */
static void an_interrupted_sweep_is_completed_after_a_restart(void **state)
{
    StoreWorld world = { 0 };
    world_open(&world);
    world_follow(&world);
    fill(&world, STR("web1"));
    world_put(&world, cluster_key_removed(&world.arena, PREFIX, STR("web1")), STR("{}"));
    StoreCompare fence = world_lead(&world);
    NodeSweep *left = node_sweep_new(&world.cluster_store, &fence);
    node_sweep_free(left);
    NodeSweep *sweep = node_sweep_new(&world.cluster_store, &fence);
    wait_idle(&world, sweep);
    assert_false(is_there(&world, STR("web1")));
    assert_false(is_marked(&world, STR("web1")));
    node_sweep_free(sweep);
    world_close(&world);
}

/* Paused in the middle of its work: a machine may have joined with the name since. */
static void a_former_leader_deletes_nothing(void **state)
{
    StoreWorld world = { 0 };
    world_open(&world);
    world_follow(&world);
    fill(&world, STR("web1"));
    world_put(&world, cluster_key_removed(&world.arena, PREFIX, STR("web1")), STR("{}"));
    StoreCompare former = world_lead(&world), fence = world_lead(&world);
    NodeSweep *sweep = node_sweep_new(&world.cluster_store, &former);
    loop_run_virtual_until(world.cluster_store.loop, loop_now_ms(world.cluster_store.loop) + 60000);
    assert_true(node_sweep_is_idle(sweep));
    assert_true(is_there(&world, STR("web1")));
    assert_true(is_marked(&world, STR("web1")));
    /* It has stopped: not even new marks wake it. */
    int64_t revision = store_status(world.cluster_store.store).revision;
    world_put(&world, cluster_key_removed(&world.arena, PREFIX, STR("web2")), STR("{}"));
    loop_run_virtual_until(world.cluster_store.loop, loop_now_ms(world.cluster_store.loop) + 60000);
    assert_int_equal(store_status(world.cluster_store.store).revision, revision + 1);
    node_sweep_free(sweep);
    sweep = node_sweep_new(&world.cluster_store, &fence);
    wait_idle(&world, sweep);
    assert_false(is_there(&world, STR("web1")));
    assert_false(is_marked(&world, STR("web1")));
    node_sweep_free(sweep);
    world_close(&world);
}

static void ignore_reply(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
}

/* The previous leader has freed the name, and a machine has joined with it, before this server was
 * elected: its state, which does not know that yet, must not be used to decide who is removed. */
static void a_reused_name_is_not_touched(void **state)
{
    StoreWorld world = { 0 };
    Error err;
    world_open(&world);
    world_follow(&world);
    Str mark = cluster_key_removed(&world.arena, PREFIX, STR("web1"));
    Str facts = key_make(&world.arena, PREFIX, KEY_FACTS, (Str[]){ STR("web1") }, 1);
    Str leader = cluster_key_leader(&world.arena, PREFIX);
    Store *store = world.cluster_store.store;
    world_put(&world, mark, STR("{}"));
    assert_true(store_delete(store, mark, ignore_reply, NULL, &err));
    assert_true(store_put(store, facts, STR("{}"), 0, ignore_reply, NULL, &err));
    assert_true(store_put(store, leader, STR("{}"), 0, ignore_reply, NULL, &err));
    assert_non_null(state_find(world.cluster_store.state, mark));
    StoreCompare fence = { .target = STORE_CREATE_REVISION,
                           .relation = STORE_EQUAL,
                           .key = leader,
                           .number = state_age(world.cluster_store.state).revision + 3 };
    NodeSweep *sweep = node_sweep_new(&world.cluster_store, &fence);
    wait_idle(&world, sweep);
    assert_true(world_get(&world, facts).there);
    node_sweep_free(sweep);
    world_close(&world);
}

/* The response to a deletion was lost, and it takes effect when the name is free and a machine has
 * joined with it: it must not delete the data of that machine. */
static void a_late_deletion_does_not_affect_the_next_node_of_the_name(void **state)
{
    static const Fate fates[] = { FATE_LATE };
    StoreWorld world = { 0 };
    LossyStore lossy;
    Error err;
    world_open(&world);
    Str mark = cluster_key_removed(&world.arena, PREFIX, STR("web1"));
    Str facts = cluster_key_facts(&world.arena, PREFIX, STR("web1"));
    world.cluster_store.store =
        lossy_open(&lossy, world.cluster_store.loop, world.cluster_store.store, NULL, 0);
    world_follow(&world);
    world_put(&world, facts, STR("{}"));
    world_put(&world, mark, STR("{}"));
    StoreCompare fence = world_lead(&world);
    lossy_set_fates(&lossy, fates, COUNT_OF(fates));
    NodeSweep *sweep = node_sweep_new(&world.cluster_store, &fence);
    wait_idle(&world, sweep);
    assert_true(lossy.is_late && world_get(&world, facts).there);
    lossy.is_late = false; /* it is still pending */
    loop_run_virtual_until(world.cluster_store.loop, loop_now_ms(world.cluster_store.loop) + 60000);
    assert_true(node_sweep_is_idle(sweep));
    assert_false(world_get(&world, facts).there || is_marked(&world, STR("web1")));
    world_put(&world, facts, STR("{\"os\":\"debian\"}"));
    assert_true(store_txn(lossy.real, &lossy.late, ignore_reply, NULL, &err));
    assert_true(world_get(&world, facts).there);
    node_sweep_free(sweep);
    world_close(&world);
}

typedef struct Cut {
    Loop *loop;
    LoopTask task;
    NodeSweep *sweep;
    uint32_t left;
    bool was_busy;
} Cut;

static void cut(void *context)
{
    Cut *c = context;
    if (c->left-- > 0) {
        loop_defer(c->loop, &c->task);
        return;
    }
    c->was_busy = !node_sweep_is_idle(c->sweep);
    node_sweep_free(c->sweep);
}

/* A server that stops, or is deposed, does not wait for the store. */
static void a_sweep_can_be_freed_between_any_two_steps(void **state)
{
    StoreWorld world = { 0 };
    world_open(&world);
    world_follow(&world);
    StoreCompare fence = world_lead(&world);
    Cut c = { .loop = world.cluster_store.loop, .was_busy = true };
    loop_task_init(&c.task, cut, &c);
    for (uint32_t turns = 0; c.was_busy; turns++) {
        fill(&world, STR("web1"));
        world_put(&world, cluster_key_removed(&world.arena, PREFIX, STR("web1")), STR("{}"));
        c.left = turns;
        c.sweep = node_sweep_new(&world.cluster_store, &fence);
        loop_defer(world.cluster_store.loop, &c.task);
        loop_run_virtual_until(world.cluster_store.loop,
                               loop_now_ms(world.cluster_store.loop) + 60000);
        assert_true(turns < 1000);
    }
    assert_false(is_marked(&world, STR("web1")));
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_removed_node_leaves_no_key_and_others_keep_theirs),
        cmocka_unit_test(an_interrupted_sweep_is_completed_after_a_restart),
        cmocka_unit_test(a_former_leader_deletes_nothing),
        cmocka_unit_test(a_reused_name_is_not_touched),
        cmocka_unit_test(a_late_deletion_does_not_affect_the_next_node_of_the_name),
        cmocka_unit_test(a_sweep_can_be_freed_between_any_two_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
