#include "cluster/state.h"

#include <stdlib.h>

#include "base/buf.h"
#include "cluster/cluster_keys.h"
#include "unit.h"

#define PREFIX STR("/eden")

enum {
    NOISE = 5 * STORE_BATCH_EVENTS
};

typedef struct Fixture {
    Arena arena;
    Loop *loop;
    Store *store;
    State *state;
    uint32_t ready, stale, current, settled, seen;
    Buf reported; /* "+web1=1 *web1=2 -web1 " */
    StateView view;
} Fixture;

static void ready(void *context)
{
    ((Fixture *)context)->ready++;
}

static void stale(void *context, const Error *err)
{
    ((Fixture *)context)->stale++;
}

static void current(void *context)
{
    ((Fixture *)context)->current++;
}

static void changed(void *context, const StateEntry *now, const StateEntry *before)
{
    Fixture *f = context;
    const StateEntry *one = now != NULL ? now : before;
    buf_put_char(&f->reported, now == NULL ? '-' : before == NULL ? '+' : '*');
    buf_put(&f->reported, one->parts[0]);
    if (now != NULL) {
        buf_put_char(&f->reported, '=');
        buf_put(&f->reported, now->value);
    }
    buf_put_char(&f->reported, ' ');
}

static void settled(void *context)
{
    ((Fixture *)context)->settled++;
}

static void seen(void *context)
{
    ((Fixture *)context)->seen++;
}

static void pass(Fixture *f)
{
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 10);
}

static bool stores_values(Str kind)
{
    return str_eq_c(kind, "config");
}

static void open_state(Fixture *f)
{
    ClusterStore cluster_store = { f->loop, f->store, PREFIX };
    StateEvents events = { ready, stale, current, f, stores_values };
    f->state = state_new(&cluster_store, &events);
    f->view = (StateView){ .kinds = STATE_KIND(KEY_NODE) | STATE_KIND(KEY_FACTS),
                           .changed = changed,
                           .settled = settled,
                           .context = f };
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    arena_init(&f->arena, ARENA_UNLIMITED);
    f->loop = loop_new_virtual(1);
    f->store = store_open_memory(f->loop, &(StoreSettings){ .keep_revisions = -1 });
    f->reported = buf_make(BUF_UNLIMITED);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    state_free(f->state);
    store_close(f->store);
    loop_free(f->loop);
    arena_clear(&f->arena);
    buf_clear(&f->reported);
    free(f);
    return 0;
}

static void done(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
    if (context != NULL) {
        *(int64_t *)context = reply->revision;
    }
}

static Str node_key(Fixture *f, const char *name)
{
    return cluster_key_node(&f->arena, PREFIX, str_from_c(name));
}

static void put(Fixture *f, Str key, const char *value)
{
    Error err;
    assert_true(store_put(f->store, key, str_from_c(value), 0, done, NULL, &err));
}

static void drop(Fixture *f, Str key)
{
    Error err;
    assert_true(store_delete(f->store, key, done, NULL, &err));
}

static void assert_reported(Fixture *f, const char *expected)
{
    assert_str(buf_str(&f->reported), expected);
    f->reported.len = 0;
}

static uint32_t count_nodes(const Fixture *f, Str after)
{
    uint32_t count = 0;
    StateRange range = state_range(f->state, STR("/eden/nodes/"), after);
    while (state_next(&range) != NULL) {
        count++;
    }
    return count;
}

static void all_pages_are_read_as_of_one_revision(void **state)
{
    Fixture *f = *state;
    char name[16];
    for (int i = 0; i < 2500; i++) {
        snprintf(name, sizeof name, "n%04d", i);
        put(f, node_key(f, name), "1");
    }
    pass(f);
    open_state(f);
    put(f, node_key(f, "later"), "1");
    drop(f, node_key(f, "n0000"));
    pass(f);
    assert_int_equal(f->ready, 1);
    assert_int_equal(count_nodes(f, STR_EMPTY), 2500);
    assert_int_equal(count_nodes(f, node_key(f, "n2490")), 9);
    assert_int_equal(count_nodes(f, node_key(f, "n2490x")), 9);
    assert_null(state_find(f->state, node_key(f, "n0000")));
    assert_str(state_find(f->state, node_key(f, "later"))->parts[0], "later");
    assert_int_equal(state_age(f->state).revision, store_status(f->store).revision);
    assert_int_equal(state_age(f->state).stale_since_ms, 0);
}

static void large_values_and_logs_are_left_in_the_store(void **state)
{
    Fixture *f = *state;
    Str facts = cluster_key_facts(&f->arena, PREFIX, STR("web1"));
    Str audit = cluster_key_audit(&f->arena, PREFIX, 7);
    put(f, facts, "{\"os\":\"debian\",\"disks\":{\"vda\":{\"size\":1}}}");
    put(f, audit, "{}");
    put(f, STR("/eden/nothing/of/ours"), "1");
    put(f, STR("/other"), "1");
    open_state(f);
    pass(f);
    put(f, cluster_key_audit(&f->arena, PREFIX, 8), "{}");
    pass(f);
    assert_false(state_find(f->state, facts)->has_value);
    assert_str(state_find(f->state, facts)->value, "{\"os\":\"debian\"}");
    assert_true(state_find(f->state, facts)->mod_revision > 0);
    assert_null(state_find(f->state, audit));
    StateRange all = state_range(f->state, STR("/"), STR_EMPTY);
    assert_non_null(state_next(&all));
    assert_null(state_next(&all));
}

/* Whatever a client writes there: it costs no more memory than its key. */
static void unused_values_cost_no_memory(void **state)
{
    Fixture *f = *state;
    static const struct {
        const char *key;
        size_t size, kept;
    } rows[] = {
        { "/eden/objects/made-up/a", 10, 0 },
        { "/eden/objects/made-up/b", 1 << 20, 0 },
        { "/eden/objects/config/cluster", 10, 10 },
        { "/eden/objects/config/large", 1 << 20, 0 },
        { "/eden/objects/role/web", 256 << 10, 256 << 10 },
        { "/eden/objects/role/large", (256 << 10) + 1, 0 },
        { "/eden/nodes/web1", 10, 10 },
        { "/eden/nodes/web2", 1 << 20, 0 },
        { "/eden/leader/a", 1 << 20, 0 },
        { "/eden/internal/pki/revocations", 1 << 20, 1 << 20 },
        { "/eden/objects/pki/revocations", 10, 0 },
        { "/eden/internal/role/web", 10, 0 },
        { "/eden/internal/join-nonce/a", 10, 0 },
        { "/eden/internal/joining/db1", 10, 10 },
    };
    char *text = arena_alloc(&f->arena, (1 << 20) + 1);
    for (int round = 0; round < 2; round++) { /* listed, then watched */
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            memset(text, 'x', rows[i].size);
            text[rows[i].size] = '\0';
            put(f, str_from_c(rows[i].key), text);
            pass(f);
        }
        if (round == 0) {
            open_state(f);
            pass(f);
        }
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            const StateEntry *entry = state_find(f->state, str_from_c(rows[i].key));
            assert_non_null(entry);
            assert_int_equal(entry->version, round + 1);
            assert_int_equal(entry->value.len, rows[i].kept);
            assert_int_equal(entry->has_value, rows[i].kept > 0);
        }
    }
}

static void views_receive_existing_entries_and_changes(void **state)
{
    Fixture *f = *state;
    put(f, node_key(f, "b"), "1");
    put(f, node_key(f, "a"), "1");
    put(f, cluster_key_silent(&f->arena, PREFIX, STR("a")), "1");
    open_state(f);
    pass(f);
    state_attach(f->state, &f->view);
    assert_reported(f, "+a=1 +b=1 "); /* not for kinds that it does not request */
    assert_int_equal(f->settled, 1);
    put(f, node_key(f, "b"), "2");
    drop(f, node_key(f, "a"));
    put(f, cluster_key_alive(&f->arena, PREFIX, STR("b")), "1");
    pass(f);
    assert_reported(f, "*b=2 -a ");
    drop(f, node_key(f, "b"));
    put(f, node_key(f, "b"), "3");
    pass(f);
    assert_reported(f, "-b +b=3 ");
    state_detach(f->state, &f->view);
    put(f, node_key(f, "c"), "1");
    pass(f);
    assert_reported(f, "");
    state_detach(f->state, &f->view);
}

/* A view attached before anything is known is notified when it is. */
static void views_can_attach_early(void **state)
{
    Fixture *f = *state;
    put(f, node_key(f, "a"), "1");
    open_state(f);
    state_attach(f->state, &f->view);
    assert_reported(f, "");
    pass(f);
    assert_reported(f, "+a=1 ");
    assert_int_equal(f->settled, 1);
}

static void compacted_history_is_delivered_as_differences(void **state)
{
    Fixture *f = *state;
    Error err;
    put(f, node_key(f, "same"), "1");
    put(f, node_key(f, "goes"), "1");
    put(f, node_key(f, "turns"), "1");
    put(f, node_key(f, "again"), "1");
    open_state(f);
    state_attach(f->state, &f->view);
    pass(f);
    f->reported.len = 0;
    /* All in one turn, and more than a batch: compacted before the watch could report it. */
    for (int i = 0; i < NOISE; i++) {
        put(f, cluster_key_probe(&f->arena, PREFIX, STR("s1")), "1");
    }
    drop(f, node_key(f, "goes"));
    put(f, node_key(f, "turns"), "2");
    put(f, node_key(f, "comes"), "1");
    drop(f, node_key(f, "again"));
    put(f, node_key(f, "again"), "1");
    assert_true(
        store_compact(f->store, store_status(f->store).revision + 5 + NOISE, done, NULL, &err));
    pass(f);
    pass(f);
    assert_reported(f, "-goes *again=1 +comes=1 *turns=2 ");
    assert_int_equal(f->stale, 0);
    put(f, node_key(f, "same"), "2");
    pass(f);
    assert_reported(f, "*same=2 ");
}

static void writers_can_wait_until_their_write_is_visible(void **state)
{
    Fixture *f = *state;
    Error err;
    int64_t revision = 0;
    open_state(f);
    pass(f);
    assert_true(store_put(f->store, node_key(f, "a"), STR("1"), 0, done, &revision, &err));
    state_wait(f->state, state_age(f->state).revision + 1, seen, f);
    assert_int_equal(f->seen, 0);
    pass(f);
    assert_int_equal(f->seen, 1);
    state_wait(f->state, revision, seen, f);
    assert_int_equal(f->seen, 2);
    /* Including foreign keys. */
    assert_true(store_put(f->store, STR("/elsewhere"), STR("1"), 0, done, &revision, &err));
    state_wait(f->state, state_age(f->state).revision + 1, seen, f);
    pass(f);
    assert_int_equal(f->seen, 3);
    /* A caller that waits for something that never comes gets an error when nothing is left to
     * notify it. */
    state_wait(f->state, revision + 100, seen, f);
    state_free(TAKE(f->state));
    assert_int_equal(f->seen, 4);
}

static void it_can_be_freed_while_reading(void **state)
{
    Fixture *f = *state;
    open_state(f);
    state_wait(f->state, 5, seen, f);
    state_free(TAKE(f->state));
    pass(f);
    assert_int_equal(f->ready, 0);
    assert_int_equal(f->seen, 1);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* As if a view finds that watching is no longer possible, and whatever followed the state for it is
 * closed. */
static void detach_first(void *context)
{
    Fixture *f = context;
    state_detach(f->state, &f->view);
    memset(&f->view, 0xa5, sizeof f->view);
}

static void a_view_can_detach_the_next_one(void **state)
{
    Fixture *f = *state;
    open_state(f);
    pass(f);
    StateView late = {
        .kinds = STATE_KIND(KEY_NODE), .changed = changed, .settled = detach_first, .context = f
    };
    state_attach(f->state, &f->view);
    state_attach(f->state, &late); /* notified before it */
    put(f, node_key(f, "web1"), "1");
    pass(f);
    assert_int_equal(f->settled, 0);
    state_detach(f->state, &late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(all_pages_are_read_as_of_one_revision),
        ROW(large_values_and_logs_are_left_in_the_store),
        ROW(unused_values_cost_no_memory),
        ROW(views_receive_existing_entries_and_changes),
        ROW(views_can_attach_early),
        ROW(a_view_can_detach_the_next_one),
        ROW(compacted_history_is_delivered_as_differences),
        ROW(writers_can_wait_until_their_write_is_visible),
        ROW(it_can_be_freed_while_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
