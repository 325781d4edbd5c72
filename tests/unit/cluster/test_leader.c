/* The store has its own loop, and so has every server: not running one simulates a server, or a
 * store, that hangs. */
#include "cluster/leader.h"

#include "cluster/change.h"
#include "store_world.h"

typedef struct Candidate {
    StoreWorld *world;
    ClusterStore cluster_store; /* on its own loop */
    Leader *leader;
    uint32_t elected, deposed, resigned;
} Candidate;

static void elected(void *context)
{
    Candidate *candidate = context;
    assert_int_equal(candidate->elected, candidate->deposed);
    candidate->elected++;
}

static void deposed(void *context)
{
    Candidate *candidate = context;
    candidate->deposed++;
    assert_int_equal(candidate->elected, candidate->deposed);
}

static void resigned(void *context)
{
    ((Candidate *)context)->resigned++;
}

static void run_until(Candidate *candidate, int64_t now_ms)
{
    if (loop_now_ms(candidate->cluster_store.loop) < now_ms) {
        loop_run_virtual_until(candidate->cluster_store.loop, now_ms);
    }
}

/* The store and both servers, concurrently; either may be NULL. */
static void run_for(StoreWorld *world, int64_t span_ms, Candidate *a, Candidate *b)
{
    int64_t end = loop_now_ms(world->cluster_store.loop) + span_ms;
    for (int64_t now = loop_now_ms(world->cluster_store.loop); now < end;) {
        now = now + 10 < end ? now + 10 : end;
        loop_run_virtual_until(world->cluster_store.loop, now);
        if (a != NULL) {
            run_until(a, now);
        }
        if (b != NULL) {
            run_until(b, now);
        }
    }
}

static void start(Candidate *candidate, const char *server)
{
    candidate->leader = leader_new(&(LeaderOptions){ .cluster_store = candidate->cluster_store,
                                                     .server = str_from_c(server),
                                                     .elected = elected,
                                                     .deposed = deposed,
                                                     .context = candidate });
    assert_false(leader_is_elected(candidate->leader));
}

static void open_candidate(StoreWorld *world, Candidate *candidate, const char *server)
{
    *candidate = (Candidate){ .world = world, .cluster_store = world->cluster_store };
    candidate->cluster_store.loop = loop_new_virtual(2);
    run_until(candidate, loop_now_ms(world->cluster_store.loop));
    candidate->cluster_store.state = new_state(&candidate->cluster_store, NULL);
    run_for(world, 10, candidate, NULL);
    assert_true(state_age(candidate->cluster_store.state).is_ready);
    start(candidate, server);
}

/* Like one that is killed. */
static void close_candidate(Candidate *candidate)
{
    leader_free(candidate->leader);
    loop_run_virtual_until(candidate->world->cluster_store.loop,
                           loop_now_ms(candidate->world->cluster_store.loop));
    state_free(candidate->cluster_store.state);
    loop_free(candidate->cluster_store.loop);
}

static Str leader_key(StoreWorld *world)
{
    return cluster_key_leader(&world->arena, PREFIX);
}

/* --- A write of a controller ----------------------------------------------------------------- */

typedef struct Write {
    bool is_done;
    uint32_t decided;
    Error err;
} Write;

static bool decide(void *context, Change *change, Error *err)
{
    Write *write = context;
    write->decided++;
    change_put(change, change_key(change, 0), STR("written"), 0);
    return true;
}

static void wrote(void *context, Change *change, const Error *err)
{
    Write *write = context;
    write->is_done = true;
    write->err = err == NULL ? (Error){ 0 } : *err;
}

static void start_write(const Candidate *candidate, Write *write)
{
    Str key = STR("/eden/probe/controller");
    Change *change;
    *write = (Write){ 0 };
    change_start(&(ChangeSpec){ .cluster_store = candidate->cluster_store,
                                .keys = &key,
                                .key_count = 1,
                                .decide = decide,
                                .done = wrote,
                                .context = write,
                                .fence = leader_fence(candidate->leader) },
                 &change);
}

static bool is_written(StoreWorld *world)
{
    return world_get(world, STR("/eden/probe/controller")).there;
}

/* --- Tests ----------------------------------------------------------------------------------- */

static void a_single_server_leads_at_once_and_keeps_the_lead(void **state)
{
    StoreWorld world = { 0 };
    Candidate a;
    Write write;
    world_open(&world);
    open_candidate(&world, &a, "s1");
    run_for(&world, 50, &a, NULL);
    assert_true(leader_is_elected(a.leader));
    WorldValue key = world_get(&world, leader_key(&world));
    assert_true(key.there && key.lease != 0);
    LeaderRecord record;
    assert_true(leader_find(&world.arena, a.cluster_store.state, PREFIX, &record));
    assert_string_equal(record.server, "s1");
    run_for(&world, 60000, &a, NULL);
    assert_true(leader_is_elected(a.leader));
    assert_int_equal(a.elected, 1);
    start_write(&a, &write);
    run_for(&world, 50, &a, NULL);
    assert_true(write.is_done && write.err.kind == ERROR_NONE && is_written(&world));
    close_candidate(&a);
    world_close(&world);
}

static void a_leader_that_resigns_is_replaced_at_once(void **state)
{
    StoreWorld world = { 0 };
    Candidate a, b;
    world_open(&world);
    open_candidate(&world, &a, "s1");
    run_for(&world, 50, &a, NULL);
    open_candidate(&world, &b, "s2");
    run_for(&world, 30000, &a, &b);
    assert_true(leader_is_elected(a.leader) && !leader_is_elected(b.leader));
    leader_resign(a.leader, resigned, &a);
    assert_int_equal(a.deposed, 1);
    run_for(&world, 50, &a, &b);
    assert_int_equal(a.resigned, 1);
    assert_true(leader_is_elected(b.leader));
    assert_true(leader_fence(b.leader)->number > leader_fence(a.leader)->number);
    run_for(&world, 30000, &a, &b);
    assert_int_equal(a.resigned, 1);
    assert_int_equal(a.elected, 1);
    close_candidate(&a);
    leader_resign(b.leader, resigned, &b);
    close_candidate(&b);
    world_close(&world);
}

static void a_follower_can_resign_too(void **state)
{
    StoreWorld world = { 0 };
    Candidate a, b;
    world_open(&world);
    open_candidate(&world, &a, "s1");
    leader_resign(a.leader, resigned, &a); /* before it was elected */
    run_for(&world, 50, &a, NULL);
    assert_int_equal(a.resigned, 1);
    assert_int_equal(a.elected, 0);
    open_candidate(&world, &b, "s2");
    run_until(&b, loop_now_ms(b.cluster_store.loop) + 1); /* a lease is requested */
    leader_resign(b.leader, resigned, &b);
    run_for(&world, 50, &b, NULL);
    assert_int_equal(b.resigned, 1);
    assert_int_equal(b.elected, 0);
    assert_false(world_get(&world, leader_key(&world)).there);
    assert_int_equal(store_status(world.cluster_store.store).leases, 0);
    close_candidate(&a);
    close_candidate(&b);
    world_close(&world);
}

static void resigning_does_not_wait_for_an_unresponsive_store(void **state)
{
    StoreWorld world = { 0 };
    Candidate a;
    world_open(&world);
    open_candidate(&world, &a, "s1");
    run_for(&world, 50, &a, NULL);
    leader_resign(a.leader, resigned, &a);
    int64_t hangs_ms = loop_now_ms(world.cluster_store.loop);
    run_until(&a, hangs_ms + 1000);
    assert_int_equal(a.resigned, 0);
    run_until(&a, hangs_ms + 5000);
    assert_int_equal(a.resigned, 1);
    run_for(&world, 6000, &a, NULL); /* the response arrives */
    assert_int_equal(a.resigned, 1);
    close_candidate(&a);
    world_close(&world);
}

static void a_leader_with_an_unresponsive_store_is_deposed_before_its_lease_expires(void **state)
{
    StoreWorld world = { 0 };
    Candidate a;
    world_open(&world);
    open_candidate(&world, &a, "s1");
    run_for(&world, 50, &a, NULL);
    assert_true(leader_is_elected(a.leader));
    int64_t hangs_ms = loop_now_ms(world.cluster_store.loop);
    int64_t lease_ms = LEADER_LEASE_S * 1000;
    run_until(&a, hangs_ms + 4000);
    assert_true(leader_is_elected(a.leader));
    run_until(&a, hangs_ms + lease_ms - LEADER_MARGIN_MS - 100);
    assert_int_equal(a.deposed, 1); /* as soon as the state is stale */
    assert_false(leader_is_elected(a.leader));
    run_for(&world, lease_ms + 5000, &a, NULL);
    assert_true(leader_is_elected(a.leader)); /* again */
    assert_int_equal(a.elected, 2);
    close_candidate(&a);
    world_close(&world);
}

static void an_isolated_leader_is_deposed_before_its_lease_expires(void **state)
{
    StoreWorld world = { 0 };
    Candidate a;
    world_open(&world);
    open_candidate(&world, &a, "s1");
    run_for(&world, 50, &a, NULL);
    state_stop(a.cluster_store.state);
    int64_t ends_ms =
        loop_now_ms(world.cluster_store.loop) + LEADER_LEASE_S * 1000 - LEADER_MARGIN_MS;
    run_until(&a, ends_ms - 100);
    assert_true(leader_is_elected(a.leader));
    run_until(&a, ends_ms);
    assert_int_equal(a.deposed, 1);
    assert_false(leader_is_elected(a.leader));
    close_candidate(&a);
    world_close(&world);
}

static void a_paused_leader_writes_nothing_under_a_new_leader(void **state)
{
    StoreWorld world = { 0 };
    Candidate a, b;
    Write write, other;
    world_open(&world);
    open_candidate(&world, &a, "s1");
    run_for(&world, 50, &a, NULL);
    open_candidate(&world, &b, "s2");
    run_for(&world, 50, &a, &b);
    assert_true(leader_is_elected(a.leader));
    state_stop(a.cluster_store.state); /* it receives nothing, and its clock does not run */
    run_for(&world, LEADER_LEASE_S * 1000 + 1000, &b, NULL);
    assert_true(leader_is_elected(b.leader));
    assert_true(leader_is_elected(a.leader)); /* as far as it knows */
    start_write(&a, &write);
    run_for(&world, 50, &b, NULL);
    assert_true(write.is_done);
    assert_int_equal(write.err.kind, ERROR_CONFLICT);
    assert_non_null(strstr(write.err.text, "no longer the leader"));
    assert_int_equal(write.decided, 1); /* and not retried */
    assert_false(is_written(&world));
    start_write(&b, &other);
    run_for(&world, 50, &b, NULL);
    assert_true(other.is_done && other.err.kind == ERROR_NONE && is_written(&world));
    run_for(&world, 1000, &a, &b);
    assert_int_equal(a.deposed, 1);
    close_candidate(&a);
    close_candidate(&b);
    world_close(&world);
}

/* Concurrent writes between reading and writing are no reason to step down. */
static void a_fenced_change_is_tried_again_when_its_key_was_changed(void **state)
{
    StoreWorld world = { 0 };
    Candidate a;
    Write first, second;
    world_open(&world);
    open_candidate(&world, &a, "s1");
    run_for(&world, 50, &a, NULL);
    start_write(&a, &first);
    start_write(&a, &second);
    run_for(&world, 50, &a, NULL);
    assert_true(first.is_done && first.err.kind == ERROR_NONE);
    assert_true(second.is_done && second.err.kind == ERROR_NONE);
    assert_int_equal(second.decided, 2);
    close_candidate(&a);
    world_close(&world);
}

static void ignore_lease(void *context, const StoreLease *lease, const Error *err)
{
    assert_null(err);
}

static void a_leader_with_a_lost_lease_is_deposed_and_tries_again(void **state)
{
    StoreWorld world = { 0 };
    Candidate a;
    Error err;
    world_open(&world);
    open_candidate(&world, &a, "s1");
    run_for(&world, 50, &a, NULL);
    int64_t before = leader_fence(a.leader)->number;
    int64_t lease = world_get(&world, leader_key(&world)).lease;
    assert_true(store_lease_revoke(world.cluster_store.store, lease, ignore_lease, NULL, &err));
    run_for(&world, 50, &a, NULL);
    assert_int_equal(a.deposed, 1);
    run_for(&world, 2000, &a, NULL);
    assert_int_equal(a.elected, 2);
    assert_true(leader_fence(a.leader)->number > before);
    close_candidate(&a);
    world_close(&world);
}

static void an_isolated_leader_learns_of_its_lost_lease_when_renewing(void **state)
{
    StoreWorld world = { 0 };
    Candidate a;
    Error err;
    world_open(&world);
    open_candidate(&world, &a, "s1");
    run_for(&world, 50, &a, NULL);
    int64_t lease = world_get(&world, leader_key(&world)).lease;
    state_stop(a.cluster_store.state);
    assert_true(store_lease_revoke(world.cluster_store.store, lease, ignore_lease, NULL, &err));
    assert_true(leader_is_elected(a.leader));
    run_for(&world, LEADER_LEASE_S * 1000 / 2, &a, NULL);
    assert_int_equal(a.deposed, 1);
    assert_false(leader_is_elected(a.leader));
    close_candidate(&a);
    world_close(&world);
}

static void a_killed_server_leads_again_at_once_and_others_wait(void **state)
{
    StoreWorld world = { 0 };
    Candidate a, again, other;
    world_open(&world);
    open_candidate(&world, &a, "s1");
    run_for(&world, 50, &a, NULL);
    open_candidate(&world, &other, "s2");
    run_for(&world, 50, &a, &other);
    int64_t before = leader_fence(a.leader)->number;
    close_candidate(&a);
    run_for(&world, 5000, &other, NULL);
    assert_int_equal(other.elected, 0);
    /* `other` hangs, otherwise it might be faster. */
    open_candidate(&world, &again, "s1");
    run_for(&world, 50, &again, NULL);
    assert_true(leader_is_elected(again.leader));
    assert_true(leader_fence(again.leader)->number > before);
    close_candidate(&again);
    run_for(&world, LEADER_LEASE_S * 1000 + 1000, &other, NULL);
    assert_true(leader_is_elected(other.leader));
    close_candidate(&other);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_server_leads_at_once_and_keeps_the_lead),
        cmocka_unit_test(a_leader_that_resigns_is_replaced_at_once),
        cmocka_unit_test(a_follower_can_resign_too),
        cmocka_unit_test(resigning_does_not_wait_for_an_unresponsive_store),
        cmocka_unit_test(a_leader_with_an_unresponsive_store_is_deposed_before_its_lease_expires),
        cmocka_unit_test(an_isolated_leader_is_deposed_before_its_lease_expires),
        cmocka_unit_test(a_paused_leader_writes_nothing_under_a_new_leader),
        cmocka_unit_test(a_fenced_change_is_tried_again_when_its_key_was_changed),
        cmocka_unit_test(a_leader_with_a_lost_lease_is_deposed_and_tries_again),
        cmocka_unit_test(an_isolated_leader_learns_of_its_lost_lease_when_renewing),
        cmocka_unit_test(a_killed_server_leads_again_at_once_and_others_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
