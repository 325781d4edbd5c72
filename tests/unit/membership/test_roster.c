#include "membership/roster.h"

#include <stdlib.h>

#include "cluster/cluster_keys.h"
#include "cluster/object_selector.h"
#include "membership/node_record.h"
#include "ready_state.h"
#include "unit.h"

#define PREFIX STR("/eden")

typedef struct Fixture {
    Arena arena;
    Loop *loop;
    Store *store;
    State *state;
    Roster *roster;
    uint32_t changed, stale, silent;
} Fixture;

static void changed(void *context)
{
    ((Fixture *)context)->changed++;
}

static void silent(void *context, const RosterNode *node)
{
    Fixture *f = context;
    f->silent++;
    assert_string_equal(node->record.name, "web1");
}

static void pass(Fixture *f)
{
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 10);
}

static void open_roster(Fixture *f)
{
    f->state = ready_state(&(ClusterStore){ f->loop, f->store, PREFIX }, &f->stale);
    f->roster = roster_new(f->state, PREFIX,
                           &(RosterEvents){ .changed = changed, .context = f, .silent = silent });
}

static void close_roster(Fixture *f)
{
    roster_free(TAKE(f->roster));
    state_free(TAKE(f->state));
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    arena_init(&f->arena, ARENA_UNLIMITED);
    f->loop = loop_new_virtual(1);
    f->store = store_open_memory(f->loop, NULL);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    close_roster(f);
    store_close(f->store);
    loop_free(f->loop);
    arena_clear(&f->arena);
    free(f);
    return 0;
}

static void done(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
}

static void put(Fixture *f, Str key, Str value)
{
    Error err;
    assert_true(store_put(f->store, key, value, 0, done, NULL, &err));
    pass(f);
}

static void put_serial(Fixture *f, const char *name, const char *enrollment, bool is_server,
                       const char *serial)
{
    NodeRecord record = { .is_server = is_server, .labels = value_missing() };
    snprintf(record.serial, sizeof record.serial, "%s", serial);
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    snprintf(record.name, sizeof record.name, "%s", name);
    snprintf(record.enrollment, sizeof record.enrollment, "%s", enrollment);
    node_record_print(&record, &text);
    put(f, cluster_key_node(&f->arena, PREFIX, str_from_c(name)), buf_str(&text));
}

static void put_node(Fixture *f, const char *name, const char *enrollment, bool is_server)
{
    put_serial(f, name, enrollment, is_server, "");
}

static void remove_node(Fixture *f, const char *name)
{
    Error err;
    assert_true(store_delete(f->store, cluster_key_node(&f->arena, PREFIX, str_from_c(name)), done,
                             NULL, &err));
    pass(f);
}

static void it_reports_nodes_that_are_no_longer_alive(void **state)
{
    Fixture *f = *state;
    Str alive = cluster_key_alive(&f->arena, PREFIX, STR("web1"));
    Str nobody = cluster_key_alive(&f->arena, PREFIX, STR("nobody"));
    Error err;
    put_node(f, "web1", "0000000000000001", false);
    open_roster(f);
    pass(f);
    for (int i = 1; i <= 2; i++) {
        put(f, alive, STR("{\"format\":\"eden.alive/1\",\"since_ms\":7,\"version\":\"1.2\"}"));
        put(f, nobody, STR("1"));
        pass(f);
        assert_int_equal(f->silent, i - 1);
        assert_int_equal(roster_alive(f->roster), 1);
        assert_int_equal(roster_find(f->roster, STR("web1"))->since_ms, 7);
        assert_true(store_delete(f->store, alive, done, NULL, &err));
        assert_true(store_delete(f->store, nobody, done, NULL, &err));
        pass(f);
        assert_int_equal(f->silent, i);
        assert_int_equal(roster_alive(f->roster), 0);
        assert_int_equal(roster_find(f->roster, STR("web1"))->since_ms, 0);
        assert_string_equal(roster_find(f->roster, STR("web1"))->version, "");
    }
    assert_int_equal(f->changed, 0);
}

static void a_repaired_record_has_its_session(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", "0000000000000001", false);
    open_roster(f);
    put(f, cluster_key_alive(&f->arena, PREFIX, STR("web1")), STR("1"));
    put(f, cluster_key_node(&f->arena, PREFIX, STR("web1")), STR("nonsense"));
    assert_int_equal(roster_alive(f->roster), 0);
    put_node(f, "web1", "0000000000000001", false);
    assert_true(roster_find(f->roster, STR("web1"))->is_alive);
    assert_int_equal(roster_alive(f->roster), 1);
}

static const char *name_of(const Fixture *f, const char *serial)
{
    const RosterNode *node = roster_find_serial(f->roster, str_from_c(serial));
    return node == NULL ? "" : node->record.name;
}

/* Once for existing nodes, which are read together, and once for nodes added individually. */
static void nodes_are_found_by_their_serials(void **state)
{
    static const char *const serials[] = { "77777777777777770000000000000001",
                                           "33333333333333330000000000000001",
                                           "55555555555555550000000000000001",
                                           "55555555555555550000000000000002" };
    Fixture *f = *state;
    put_serial(f, "a", "7777777777777777", false, serials[0]);
    put_serial(f, "b", "3333333333333333", false, serials[1]);
    put_node(f, "c", "1111111111111111", false);
    open_roster(f);
    pass(f);
    put_serial(f, "d", "5555555555555555", false, serials[2]);
    assert_string_equal(name_of(f, serials[0]), "a");
    assert_string_equal(name_of(f, serials[1]), "b");
    assert_string_equal(name_of(f, serials[2]), "d");
    put_serial(f, "d", "5555555555555555", false, serials[3]);
    assert_string_equal(name_of(f, serials[2]), "");
    assert_string_equal(name_of(f, serials[3]), "d");
    /* Two that claim the same: when one is removed, the other keeps what it has. */
    put_serial(f, "b", "7777777777777777", false, serials[0]);
    assert_string_equal(name_of(f, serials[1]), "");
    remove_node(f, "a");
    assert_string_equal(name_of(f, serials[0]), "b");
    remove_node(f, "b");
    assert_string_equal(name_of(f, serials[0]), "");
    assert_string_equal(name_of(f, ""), "");
    put(f, cluster_key_node(&f->arena, PREFIX, STR("d")), STR("{}"));
    assert_string_equal(name_of(f, serials[3]), "");
}

static void it_starts_with_existing_nodes(void **state)
{
    Fixture *f = *state;
    put_node(f, "web2", "0000000000000002", false);
    put_node(f, "web1", "0000000000000001", true);
    put_node(f, "web3", "0000000000000003", false);
    open_roster(f);
    pass(f);
    assert_int_equal(roster_count(f->roster), 3);
    assert_true(roster_find(f->roster, STR("web1"))->record.is_server);
    assert_false(roster_find(f->roster, STR("web2"))->record.is_server);
    assert_string_equal(roster_find(f->roster, STR("web3"))->record.enrollment, "0000000000000003");
    assert_null(roster_find(f->roster, STR("web4")));
    assert_null(roster_find(f->roster, STR("")));
}

static void it_follows_nodes_that_join_and_leave(void **state)
{
    Fixture *f = *state;
    open_roster(f);
    pass(f);
    put_node(f, "web1", "0000000000000001", false);
    assert_non_null(roster_find(f->roster, STR("web1")));
    put_node(f, "web1", "0000000000000009", true);
    assert_true(roster_find(f->roster, STR("web1"))->record.is_server);
    assert_string_equal(roster_find(f->roster, STR("web1"))->record.enrollment, "0000000000000009");
    remove_node(f, "web1");
    assert_null(roster_find(f->roster, STR("web1")));
    assert_int_equal(f->changed, 3);
    assert_int_equal(f->stale, 0);
}

static void liveness_alone_is_not_a_change(void **state)
{
    Fixture *f = *state;
    open_roster(f);
    pass(f);
    put_node(f, "web1", "0000000000000001", false);
    put(f, cluster_key_alive(&f->arena, PREFIX, STR("web1")), STR("1"));
    assert_int_equal(f->changed, 1);
    assert_int_equal(roster_count(f->roster), 1);
}

static void an_unreadable_record_admits_no_node(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", "0000000000000001", false);
    open_roster(f);
    pass(f);
    put(f, cluster_key_node(&f->arena, PREFIX, STR("web1")), STR("{}"));
    assert_null(roster_find(f->roster, STR("web1")));
    /* Nor one stored under another name. */
    put_node(f, "web1", "0000000000000001", true);
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    node_record_print(&(NodeRecord){ .name = "web1", .labels = value_missing() }, &text);
    put(f, cluster_key_node(&f->arena, PREFIX, STR("web2")), buf_str(&text));
    assert_null(roster_find(f->roster, STR("web2")));
    assert_true(roster_find(f->roster, STR("web1"))->record.is_server);
}

static void it_contains_revocations(void **state)
{
    Fixture *f = *state;
    RevocationList list = { 0 };
    Error err;
    Str key = cluster_key_revocations(&f->arena, PREFIX);
    const char *serial = "00000000000000010000000000000001";
    open_roster(f);
    pass(f);
    assert_true(revocation_check(roster_revoked(f->roster), STR("web1"), str_from_c(serial), &err));
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    assert_true(revocation_add_serial(&f->arena, &list, str_from_c(serial), 2000000000000, &err));
    revocation_print(&list, &text);
    put(f, key, buf_str(&text));
    assert_false(
        revocation_check(roster_revoked(f->roster), STR("web1"), str_from_c(serial), &err));
    assert_int_equal(f->changed, 1);
    /* Without a list no node is. */
    assert_true(store_delete(f->store, key, done, NULL, &err));
    pass(f);
    assert_true(revocation_check(roster_revoked(f->roster), STR("web1"), str_from_c(serial), &err));
}

static void an_unreadable_list_admits_no_node(void **state)
{
    Fixture *f = *state;
    Str key = cluster_key_revocations(&f->arena, PREFIX);
    const char *serial = "00000000000000010000000000000001";
    Error err;
    put_node(f, "web1", "0000000000000001", false);
    open_roster(f);
    pass(f);
    put(f, key, STR("nonsense"));
    assert_int_equal(f->stale, 0); /* operators continue, and repair it */
    assert_int_equal(f->changed, 1);
    assert_false(
        revocation_check(roster_revoked(f->roster), STR("web1"), str_from_c(serial), &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_non_null(strstr(err.text, "cannot be read"));
    put(f, key, STR("{\"format\":\"eden.revocations/1\",\"serials\":[],\"names\":[]}"));
    assert_int_equal(f->changed, 2);
    assert_true(revocation_check(roster_revoked(f->roster), STR("web1"), str_from_c(serial), &err));
    put(f, key, STR_EMPTY); /* whatever has truncated it */
    assert_false(
        revocation_check(roster_revoked(f->roster), STR("web1"), str_from_c(serial), &err));
}

/* The same if it is there at the start. */
static void a_list_that_was_never_readable_admits_no_node(void **state)
{
    Fixture *f = *state;
    Error err;
    put(f, cluster_key_revocations(&f->arena, PREFIX), STR("nonsense"));
    open_roster(f);
    pass(f);
    assert_int_equal(f->stale, 0);
    assert_false(revocation_check(roster_revoked(f->roster), STR("web1"),
                                  STR("00000000000000010000000000000001"), &err));
}

static void compacted_history_is_read_again(void **state)
{
    Fixture *f = *state;
    Error err;
    close_roster(f);
    store_close(f->store);
    f->store = store_open_memory(f->loop, &(StoreSettings){ .keep_revisions = -1 });
    open_roster(f);
    pass(f);
    /* Both happen in one turn: the change is compacted before the watch could report it. */
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    node_record_print(&(NodeRecord){ .name = "web1", .labels = value_missing() }, &text);
    for (int i = 0; i < 3; i++) {
        assert_true(store_put(f->store, cluster_key_node(&f->arena, PREFIX, STR("web1")),
                              buf_str(&text), 0, done, NULL, &err));
    }
    assert_true(store_compact(f->store, store_status(f->store).revision + 3, done, NULL, &err));
    pass(f);
    pass(f);
    assert_int_equal(f->stale, 0);
    assert_non_null(roster_find(f->roster, STR("web1")));
}

static void put_labeled(Fixture *f, const char *name, const char *role, const char *rack)
{
    NodeRecord record = { 0 };
    Map *labels = map_new(&f->arena, 2);
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    map_set_str(&f->arena, labels, STR("role"), value_string(str_from_c(role)));
    map_set_str(&f->arena, labels, STR("rack"), value_string(str_from_c(rack)));
    record.labels = value_map(labels);
    snprintf(record.name, sizeof record.name, "%s", name);
    node_record_print(&record, &text);
    put(f, cluster_key_node(&f->arena, PREFIX, str_from_c(name)), buf_str(&text));
}

static const char *selected(Fixture *f, const char *text, const char *after)
{
    const Selector *selector;
    Buf names = buf_make_in(&f->arena, BUF_UNLIMITED);
    Error err;
    assert_true(object_selector_parse(&f->arena, str_from_c(text), &selector, &err));
    RosterRange range = roster_range(f->roster, &f->arena, selector, str_from_c(after));
    for (const RosterNode *node; (node = roster_next(&range)) != NULL;) {
        buf_put_format(&names, "%s ", node->record.name);
    }
    return buf_c(&names);
}

/* With the index where a label is required, and by scanning all nodes where not. */
static void nodes_are_selected_by_their_labels(void **state)
{
    Fixture *f = *state;
    put_labeled(f, "a", "web", "r1");
    put_labeled(f, "b", "web", "r2");
    put_labeled(f, "c", "db", "r1");
    open_roster(f);
    put_labeled(f, "d", "web", "r1");
    put(f, cluster_key_node(&f->arena, PREFIX, STR("e")), STR("unreadable"));
    assert_string_equal(selected(f, "role=web", ""), "a b d ");
    assert_string_equal(selected(f, "role=web", "a"), "b d ");
    assert_string_equal(selected(f, "role=web", "aa"), "b d ");
    assert_string_equal(selected(f, "role=we", ""), "");
    assert_string_equal(selected(f, "role=we*", ""), "a b d ");
    assert_string_equal(selected(f, "role=web and rack=r1", ""), "a d ");
    assert_string_equal(selected(f, "a or rack=r2", ""), "a b ");
    assert_string_equal(selected(f, "!role=web", ""), "c e ");
    put_labeled(f, "a", "db", "r1");
    remove_node(f, "b");
    assert_string_equal(selected(f, "role=web", ""), "d ");
    assert_string_equal(selected(f, "role=db", ""), "a c ");
    assert_int_equal(roster_count(f->roster), 3);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(nodes_are_selected_by_their_labels),
        ROW(nodes_are_found_by_their_serials),
        ROW(it_starts_with_existing_nodes),
        ROW(it_follows_nodes_that_join_and_leave),
        ROW(liveness_alone_is_not_a_change),
        ROW(an_unreadable_record_admits_no_node),
        ROW(it_contains_revocations),
        ROW(an_unreadable_list_admits_no_node),
        ROW(a_list_that_was_never_readable_admits_no_node),
        ROW(compacted_history_is_read_again),
        ROW(it_reports_nodes_that_are_no_longer_alive),
        ROW(a_repaired_record_has_its_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
