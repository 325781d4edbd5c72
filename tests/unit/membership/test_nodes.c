#include "membership/nodes.h"

#include "pki/ca.h"
#include "pki/revocation.h"
#include "store_world.h"

#define ENROLLMENT "00112233445566ff"

/* For a key whose bytes are all the same: half of its pin, and all of it. */
#define HALF(byte)  byte byte byte byte byte byte byte byte byte byte byte byte byte byte byte byte
#define WHOLE(byte) HALF(byte) HALF(byte)

typedef struct Fixture {
    StoreWorld world;
    NodesListing listing;
    NodeView view;
    PendingEntry pending; /* of that */
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    world_follow(&f->world);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    world_close(&f->world);
    free(f);
    return 0;
}

static Pin pin_of(unsigned char byte)
{
    Pin pin;
    memset(pin.bytes, byte, sizeof pin.bytes);
    return pin;
}

static void put_node_at(Fixture *f, const char *place, const char *name, unsigned char key)
{
    NodeRecord record = { .key = pin_of(key),
                          .enrollment = ENROLLMENT,
                          .address = "10.0.0.1:99",
                          .joined_ms = 1700000000000,
                          .serial = ENROLLMENT "0123456789abcdef",
                          .not_after_ms = 1900000000000,
                          .labels = value_missing() };
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    snprintf(record.name, sizeof record.name, "%s", name);
    node_record_print(&record, &text);
    world_put(&f->world, cluster_key_node(&f->world.arena, PREFIX, str_from_c(place)),
              buf_str(&text));
}

static void put_node(Fixture *f, const char *name, unsigned char key)
{
    put_node_at(f, name, name, key);
}

static void put_joining_until(Fixture *f, const char *place, const char *name, unsigned char key,
                              int64_t until_ms)
{
    PendingRecord record = { .count = 1,
                             .machines = { { .key = pin_of(key),
                                             .address = "10.0.0.2:99",
                                             .requested_ms = 1700000000000,
                                             .until_ms = until_ms } } };
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    snprintf(record.name, sizeof record.name, "%s", name);
    pending_record_print(&record, &text);
    world_put(&f->world, cluster_key_joining(&f->world.arena, PREFIX, str_from_c(place)),
              buf_str(&text));
}

static void put_joining_at(Fixture *f, const char *place, const char *name, unsigned char key)
{
    put_joining_until(f, place, name, key, INT64_MAX);
}

static void put_joining(Fixture *f, const char *name, unsigned char key)
{
    put_joining_at(f, name, name, key);
}

static void put_alive(Fixture *f, const char *name)
{
    world_put(&f->world, cluster_key_alive(&f->world.arena, PREFIX, str_from_c(name)), STR("1"));
}

/* Its current value, because what was read is borrowed. */
static NodeEntry copy_entry(Arena *arena, const NodeEntry *from)
{
    NodeEntry entry = *from;
    RosterNode *node = ARENA_NEW(arena, RosterNode);
    *node = *from->node;
    node->record.labels = value_copy(arena, node->record.labels);
    node->error = arena_copy(arena, node->error);
    entry.node = node;
    return entry;
}

static void list(Fixture *f, const char *after, uint32_t limit)
{
    Arena *arena = &f->world.arena;
    NodesPage page = { .after = str_from_c(after), .limit = limit };
    Error err;
    if (!nodes_list(arena, &f->world.cluster_store, &page, &f->listing, &err)) {
        fail_msg("%s", err.text);
    }
    NodeEntry *nodes = ARENA_ARRAY(arena, NodeEntry, f->listing.node_count);
    for (uint32_t i = 0; i < f->listing.node_count; i++) {
        nodes[i] = copy_entry(arena, &f->listing.nodes[i]);
    }
    f->listing.nodes = nodes;
}

static bool try_show(Fixture *f, const char *name, Error *err)
{
    if (!nodes_show(&f->world.arena, &f->world.cluster_store, str_from_c(name), &f->view, err)) {
        return false;
    }
    f->pending = f->view.node.pending == NULL ? (PendingEntry){ 0 } : *f->view.node.pending;
    if (f->view.is_member) {
        f->view.node = copy_entry(&f->world.arena, &f->view.node);
    }
    return true;
}

static void show(Fixture *f, const char *name)
{
    Error err;
    if (!try_show(f, name, &err)) {
        fail_msg("%s", err.text);
    }
}

/* Then it has only one label, or none. */
static void set(Fixture *f, const char *node, const char *label, const char *value,
                int64_t revision)
{
    Arena *arena = &f->world.arena;
    Map *labels = map_new(arena, 1);
    if (label != NULL) {
        map_set_str(arena, labels, str_from_c(label), value_string(str_from_c(value)));
    }
    NodeUpdate request = { .labels = value_map(labels),
                           .annotations = value_map(map_new(arena, 0)),
                           .revision = revision };
    nodes_set(&f->world.cluster_store, str_from_c(node), &request, world_done, &f->world);
}

/* --- Reading --------------------------------------------------------------------------------- */

static void members_and_pending_machines_are_listed(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", 1);
    put_node(f, "web1-old", 2); /* between web1 and the record of web1's liveness */
    put_node(f, "web2", 3);
    put_joining(f, "db1", 4);
    put_alive(f, "web1");
    put_alive(f, "nobody");
    list(f, "", 100);
    assert_str(f->listing.next, "");
    assert_int_equal(f->listing.node_count, 3);
    assert_string_equal(f->listing.nodes[0].node->record.name, "web1");
    assert_true(f->listing.nodes[0].node->is_alive);
    assert_false(f->listing.nodes[1].node->is_alive);
    assert_false(f->listing.nodes[2].node->is_alive);
    assert_int_equal(f->listing.waiting_count, 1);
    assert_string_equal(f->listing.waiting[0].record.name, "db1");
}

static void machines_that_stopped_asking_are_not_listed(void **state)
{
    Fixture *f = *state;
    int64_t now_ms = loop_wall_ms(f->world.cluster_store.loop);
    Error err;
    put_joining_until(f, "db1", "db1", 4, now_ms + 3600000);
    put_joining_until(f, "db2", "db2", 5, now_ms);
    list(f, "", 100);
    assert_int_equal(f->listing.waiting_count, 1);
    assert_string_equal(f->listing.waiting[0].record.name, "db1");
    assert_true(try_show(f, "db1", &err));
    assert_false(try_show(f, "db2", &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

/* Every name once and in order, however small the pages. */
static void pages_are_contiguous(void **state)
{
    Fixture *f = *state;
    char name[32];
    for (uint32_t i = 0; i < 130; i++) {
        snprintf(name, sizeof name, i % 2 == 0 ? "node-%03u" : "node-%03u-b", i / 2);
        put_node(f, name, i + 1);
        if (i % 3 == 0) {
            put_alive(f, name);
        }
    }
    put_joining(f, "db1", 200);
    put_joining(f, "db2", 201);
    set(f, "node-064-b", "rack", "seven", 0);
    world_expect(&f->world, ERROR_NONE, NULL);
    static const uint32_t limits[] = { 1, 2, 7, 129, 130, 131, 132, 1000 };
    for (size_t k = 0; k < COUNT_OF(limits); k++) {
        uint32_t nodes = 0, waiting = 0, alive = 0;
        Str next = STR_EMPTY;
        do {
            list(f, arena_copy_c(&f->world.arena, next), limits[k]);
            for (uint32_t i = 0; i < f->listing.node_count; i++, nodes++) {
                snprintf(name, sizeof name, nodes % 2 == 0 ? "node-%03u" : "node-%03u-b",
                         nodes / 2);
                assert_string_equal(f->listing.nodes[i].node->record.name, name);
                assert_int_equal(f->listing.nodes[i].node->is_alive, nodes % 3 == 0);
                alive += f->listing.nodes[i].node->is_alive;
                if (nodes == 129) {
                    Value labels = f->listing.nodes[i].node->record.labels;
                    assert_str(value_str(*value_get(labels, STR("rack"))), "seven");
                }
            }
            assert_true(f->listing.waiting_count == 0 || nodes == 130);
            assert_true(f->listing.node_count + f->listing.waiting_count <= limits[k]);
            waiting += f->listing.waiting_count;
            next = f->listing.next;
        } while (next.len > 0);
        assert_int_equal(nodes, 130);
        assert_int_equal(alive, 44);
        assert_int_equal(waiting, 2);
    }
}

/* Whatever a client has put there: pages end, and list each node once. */
static void a_foreign_record_does_not_confuse_paging(void **state)
{
    static const char *const expected[] = { "web1", "web2", "web3", "db1", "db2", "db3" };
    Fixture *f = *state;
    uint32_t count = 0;
    Str next = STR_EMPTY;
    put_node(f, "web1", 1);
    put_node_at(f, "web2", "aaa", 2);
    put_node_at(f, "web2 no name", "web2", 2);
    put_node(f, "web3", 3);
    put_joining_at(f, "a no name", "db1", 4);
    put_joining(f, "db1", 4);
    put_joining_at(f, "db2", "aaa", 5);
    put_joining(f, "db3", 6);
    do {
        list(f, arena_copy_c(&f->world.arena, next), 1);
        assert_int_equal(f->listing.node_count + f->listing.waiting_count, 1);
        assert_true(count < COUNT_OF(expected));
        const char *name = f->listing.node_count > 0 ? f->listing.nodes[0].node->record.name
                                                     : f->listing.waiting[0].record.name;
        assert_string_equal(name, expected[count]);
        if (count == 1) {
            assert_true(f->listing.nodes[0].node->error.len > 0);
        }
        count++;
        next = f->listing.next;
    } while (next.len > 0);
    assert_int_equal(count, COUNT_OF(expected));
}

static void a_page_with_an_invalid_start_is_rejected(void **state)
{
    static const char *const places[] = { "web1", "nodes/", "nodes/a b", "waiting/..", "/" };
    Fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        NodesPage page = { .after = str_from_c(places[i]), .limit = 1 };
        Error err;
        assert_false(
            nodes_list(&f->world.arena, &f->world.cluster_store, &page, &f->listing, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_string_equal(err.text, "invalid 'continue'; start again from the first page");
    }
}

static void silence_is_recorded_until_the_node_is_removed(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", 1);
    put_node(f, "web2", 2);
    put_alive(f, "web2");
    show(f, "web1");
    assert_int_equal(f->view.node.node->since_ms, 0);
    loop_virtual_set_wall(f->world.cluster_store.loop, 100000);
    static const char *const names[] = { "web1", "web2", "nobody" };
    StoreCompare former = world_lead(&f->world), fence = world_lead(&f->world);
    nodes_record_silence(&f->world.cluster_store, &former, STR("web1"), world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    show(f, "web1");
    assert_int_equal(f->view.node.node->since_ms, 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        nodes_record_silence(&f->world.cluster_store, &fence, str_from_c(names[i]), world_done,
                             &f->world);
        world_expect(&f->world, ERROR_NONE, NULL);
    }
    show(f, "web1");
    assert_false(f->view.node.node->is_alive);
    assert_in_range(f->view.node.node->since_ms, 80000, 90000);
    list(f, "", 10);
    assert_in_range(f->listing.nodes[0].node->since_ms, 80000, 90000);
    assert_int_equal(f->listing.nodes[1].node->since_ms, 0);
    assert_false(f->listing.nodes[0].node->has_facts);
    nodes_remove(&f->world.cluster_store, STR("web1"), 0, world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        Str key = cluster_key_silent(&f->world.arena, PREFIX, str_from_c(names[i]));
        assert_false(world_get(&f->world, key).there);
    }
}

static bool is_recorded(Fixture *f, const char *name)
{
    return world_get(&f->world, cluster_key_silent(&f->world.arena, PREFIX, str_from_c(name)))
        .there;
}

/* However many: they are written in portions. */
static void nodes_that_became_silent_without_a_leader_are_recorded(void **state)
{
    enum {
        NODES = 250
    };
    Fixture *f = *state;
    char name[16];
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof name, "n%03d", i);
        put_node(f, name, 1);
        world_put(&f->world, cluster_key_session(&f->world.arena, PREFIX, str_from_c(name)),
                  STR("{}"));
    }
    put_node(f, "never", 1); /* had a session */
    put_alive(f, "n007");
    StoreCompare former = world_lead(&f->world), fence = world_lead(&f->world);
    nodes_record_all_silent(&f->world.cluster_store, &former);
    world_pass(&f->world);
    assert_false(is_recorded(f, "n000"));
    nodes_record_all_silent(&f->world.cluster_store, &fence);
    world_pass(&f->world);
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof name, "n%03d", i);
        assert_int_equal(is_recorded(f, name), i != 7);
    }
    assert_false(is_recorded(f, "never"));
    int64_t revision = store_status(f->world.cluster_store.store).revision;
    nodes_record_all_silent(&f->world.cluster_store, &fence);
    world_pass(&f->world);
    assert_int_equal(store_status(f->world.cluster_store.store).revision, revision);
}

/* And hides no other node. */
static void a_damaged_record_is_reported_as_such(void **state)
{
    Fixture *f = *state;
    Error err;
    world_put(&f->world, cluster_key_node(&f->world.arena, PREFIX, STR("web1")), STR("[]"));
    world_put(&f->world, cluster_key_joining(&f->world.arena, PREFIX, STR("db1")), STR("[]"));
    put_node(f, "web2", 2);
    put_joining(f, "db2", 3);
    list(f, "", 100);
    assert_int_equal(f->listing.node_count, 2);
    assert_string_equal(f->listing.nodes[0].node->record.name, "web1");
    assert_true(str_starts(f->listing.nodes[0].node->error, STR("/eden/nodes/web1: ")));
    assert_str(f->listing.nodes[1].node->error, "");
    assert_int_equal(f->listing.waiting_count, 2);
    assert_string_equal(f->listing.waiting[0].record.name, "db1");
    assert_true(f->listing.waiting[0].error.len > 0);
    show(f, "web1");
    assert_true(f->view.is_member);
    assert_true(str_starts(f->view.node.node->error, STR("/eden/nodes/web1: ")));
    /* Also among all, so that one does not hide the others. */
    assert_true(nodes_list_all(&f->world.arena, &f->world.cluster_store, &f->listing, &err));
    assert_int_equal(f->listing.node_count, 2);
    assert_true(str_starts(f->listing.nodes[0].node->error, STR("/eden/nodes/web1: ")));
    assert_int_equal(f->listing.waiting_count, 2);
}

static void a_member_that_requests_again_is_listed_once(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", 1);
    put_joining(f, "web1", 2);
    put_joining(f, "web2", 3);
    list(f, "", 100);
    assert_int_equal(f->listing.node_count, 1);
    assert_non_null(f->listing.nodes[0].pending);
    assert_int_equal(f->listing.waiting_count, 1);
    assert_string_equal(f->listing.waiting[0].record.name, "web2");
    assert_true(f->listing.nodes[0].node->revision > 0);
    assert_true(f->listing.revision >= f->listing.waiting[0].revision);
}

static void revoked_nodes_are_reported(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->world.arena;
    RevocationList revoked = { 0 };
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    put_node(f, "web1", 1);
    put_node(f, "web2", 2);
    assert_true(revocation_set_name(arena, &revoked, STR("web2"), STR_EMPTY, 1900000000000, &err));
    revocation_print(&revoked, &text);
    world_put(&f->world, cluster_key_revocations(arena, PREFIX), buf_str(&text));
    list(f, "", 100);
    assert_false(f->listing.nodes[0].is_revoked);
    assert_true(f->listing.nodes[1].is_revoked && f->listing.nodes[1].has_revocations);
    show(f, "web2");
    assert_true(f->view.node.is_revoked && f->view.node.has_revocations);
    world_put(&f->world, cluster_key_revocations(arena, PREFIX), STR("damaged"));
    list(f, "", 100);
    assert_false(f->listing.nodes[1].has_revocations);
}

static void one_is_shown(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", 1);
    put_joining(f, "db1", 2);
    show(f, "web1");
    assert_true(f->view.is_member);
    assert_false(f->view.node.node->is_alive);
    assert_null(f->view.node.pending);
    assert_false(f->view.node.node->has_facts);
    put_alive(f, "web1");
    world_put(&f->world, cluster_key_facts(&f->world.arena, PREFIX, STR("web1")), STR("{}"));
    show(f, "web1");
    assert_true(f->view.node.node->is_alive);
    assert_true(f->view.node.node->has_facts);
    list(f, "", 10);
    assert_true(f->listing.nodes[0].node->has_facts);
    show(f, "db1");
    assert_false(f->view.is_member);
    assert_non_null(f->view.node.pending);
    assert_string_equal(f->pending.record.machines[0].address, "10.0.0.2:99");
}

static void an_unknown_node_gets_a_suggestion(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    put_node(f, "frontend", 1);
    put_joining(f, "database", 2);
    Error err;
    assert_false(try_show(f, "frontent", &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_string_equal(err.text, "node 'frontent' not found; did you mean 'frontend'?");
    nodes_approve(&world->cluster_store, STR("databse"), STR(HALF("02")), world_done, world);
    world_expect(world, ERROR_NOT_FOUND, "did you mean 'database'?");
    set(f, "frontnd", "a", "b", 0);
    world_expect(world, ERROR_NOT_FOUND, "did you mean 'frontend'?");
    nodes_reject(&world->cluster_store, STR("databas"), world_done, world);
    world_expect(world, ERROR_NOT_FOUND, "did you mean 'database'?");
    nodes_remove(&world->cluster_store, STR("zzz"), 0, world_done, world);
    world_expect(world, ERROR_NOT_FOUND, NULL);
    assert_string_equal(world->err.text, "node 'zzz' not found");
    nodes_remove(&world->cluster_store, STR("../x"), 0, world_done, world);
    world_expect(world, ERROR_INVALID, NULL);
}

/* --- Labels ---------------------------------------------------------------------------------- */

static Str label_of(Fixture *f, const char *label)
{
    show(f, "web1");
    const Value *found = value_get(f->view.node.node->record.labels, str_from_c(label));
    return found == NULL ? STR("(none)") : value_str(*found);
}

static void labels_are_set_together(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    put_node(f, "web1", 1);
    set(f, "web1", "role", "web", 0);
    world_expect(world, ERROR_NONE, NULL);
    assert_str(label_of(f, "role"), "web");
    set(f, "web1", "rack", "7", 0);
    world_expect(world, ERROR_NONE, NULL);
    assert_str(label_of(f, "rack"), "7");
    assert_str(label_of(f, "role"), "(none)");
    /* Repeating it writes nothing. */
    int64_t revision = store_status(world->cluster_store.store).revision;
    set(f, "web1", "rack", "7", 0);
    world_expect(world, ERROR_NONE, NULL);
    assert_int_equal(store_status(world->cluster_store.store).revision, revision);
}

static void annotations_stay_in_the_record(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->world.arena;
    NodeRecord record;
    Error err;
    Map *notes = map_new(arena, 1);
    put_node(f, "web1", 1);
    map_set_str(arena, notes, STR("owner"), value_string(STR("somebody")));
    char *longest = arena_alloc_zero(arena, LABEL_NAME_MAX + 1);
    memset(longest, 'x', LABEL_NAME_MAX);
    map_set_str(arena, notes, str_from_c(longest), value_string(STR("")));
    NodeUpdate request = { .labels = value_map(map_new(arena, 0)),
                           .annotations = value_map(notes) };
    nodes_set(&f->world.cluster_store, STR("web1"), &request, world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    WorldValue got = world_get(&f->world, cluster_key_node(arena, PREFIX, STR("web1")));
    assert_true(node_record_read(arena, got.value, &record, &err));
    assert_str(value_str(*value_get(record.annotations, STR("owner"))), "somebody");
    /* Too many of them are rejected. */
    char *large = arena_alloc_zero(arena, ANNOTATION_VALUE_MAX + 1);
    memset(large, '"', ANNOTATION_VALUE_MAX);
    for (int i = 0; i < 10; i++) {
        map_set_str(arena, notes, arena_format(arena, "n%d", i), value_string(str_from_c(large)));
    }
    nodes_set(&f->world.cluster_store, STR("web1"), &request, world_done, &f->world);
    world_expect(&f->world, ERROR_LIMIT, NULL);
}

static void invalid_labels_are_rejected(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    put_node(f, "web1", 1);
    put_joining(f, "db1", 2);
    set(f, "web1", "a b", "x", 0);
    world_expect(world, ERROR_INVALID, NULL);
    assert_str(label_of(f, "a b"), "(none)");
    set(f, "db1", "fine", "x", 0);
    world_expect(world, ERROR_CONFLICT, "approve it first");
}

static void a_change_requires_its_revision(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", 1);
    show(f, "web1");
    int64_t revision = f->view.node.node->revision;
    set(f, "web1", "one", "1", revision);
    world_expect(&f->world, ERROR_NONE, NULL);
    set(f, "web1", "two", "2", revision);
    world_expect(&f->world, ERROR_CONFLICT, "read it again");
    assert_str(label_of(f, "one"), "1");
    assert_str(label_of(f, "two"), "(none)");
}

/* --- Pending machines ------------------------------------------------------------------------ */

static bool is_approved(Fixture *f, const char *name, unsigned char key)
{
    show(f, name);
    assert_non_null(f->view.node.pending);
    Pin pin = pin_of(key);
    const PendingMachine *machine = pending_record_find(&f->pending.record, &pin);
    assert_non_null(machine);
    return machine->is_approved;
}

static void only_the_shown_key_is_approved(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    put_joining(f, "web1", 0xab);
    /* Eight digits can be found by trying keys; sixteen cannot. */
    nodes_approve(&world->cluster_store, STR("web1"), STR("abababab"), world_done, world);
    world_expect(world, ERROR_INVALID, "first 16 digits");
    nodes_approve(&world->cluster_store, STR("web1"), STR("abababababababa"), world_done, world);
    world_expect(world, ERROR_INVALID, "first 16 digits");
    nodes_approve(&world->cluster_store, STR("web1"), STR("ABABABABABABABAB"), world_done, world);
    world_expect(world, ERROR_INVALID, NULL);
    nodes_approve(&world->cluster_store, STR("web1"), STR("abababababababa%"), world_done, world);
    world_expect(world, ERROR_INVALID, NULL);
    nodes_approve(&world->cluster_store, STR("web1"), STR("abababababababac"), world_done, world);
    world_expect(world, ERROR_CONFLICT, "pending: sha256:abab");
    assert_false(is_approved(f, "web1", 0xab));
    nodes_approve(&world->cluster_store, STR("web1"), STR("sha256:abababababababab"), world_done,
                  world);
    world_expect(world, ERROR_NONE, NULL);
    assert_true(is_approved(f, "web1", 0xab));
    /* It creates no lease. */
    Str key = cluster_key_joining(&world->arena, PREFIX, STR("web1"));
    assert_int_equal(world_get(world, key).lease, 0);
}

/* Of several keys that request a name one is approved, and the last approval counts. */
static void one_key_of_a_name_is_approved(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    PendingRecord record = { .name = "web1" };
    Pin first = pin_of(0xab), second = pin_of(0xab), third = pin_of(0xcd);
    second.bytes[31] = 0;
    pending_record_add(&record, &first, "10.0.0.2:99", loop_wall_ms(world->cluster_store.loop));
    pending_record_add(&record, &second, "10.0.0.3:99", loop_wall_ms(world->cluster_store.loop));
    pending_record_add(&record, &third, "10.0.0.4:99", loop_wall_ms(world->cluster_store.loop));
    Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
    pending_record_print(&record, &text);
    world_put(world, cluster_key_joining(&world->arena, PREFIX, STR("web1")), buf_str(&text));
    /* Digits shared by two keys select neither. */
    nodes_approve(&world->cluster_store, STR("web1"), STR(HALF("ab")), world_done, world);
    world_expect(world, ERROR_CONFLICT, "more than one");
    nodes_approve(&world->cluster_store, STR("web1"), STR(WHOLE("ab")), world_done, world);
    world_expect(world, ERROR_NONE, NULL);
    assert_true(is_approved(f, "web1", 0xab));
    nodes_approve(&world->cluster_store, STR("web1"), STR(HALF("cd")), world_done, world);
    world_expect(world, ERROR_NONE, NULL);
    assert_true(is_approved(f, "web1", 0xcd));
    assert_false(is_approved(f, "web1", 0xab));
    assert_int_equal(f->pending.record.count, 3);
}

/* With the full pin, other requests do not matter, nor whether the machine has sent one yet. */
static void a_full_pin_can_be_approved_in_advance(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    nodes_approve(&world->cluster_store, STR("web1"), STR(HALF("ab")), world_done, world);
    world_expect(world, ERROR_NOT_FOUND, NULL);
    nodes_approve(&world->cluster_store, STR("web1"), STR(WHOLE("ab")), world_done, world);
    world_expect(world, ERROR_NONE, NULL);
    assert_true(is_approved(f, "web1", 0xab));
    assert_string_equal(f->pending.record.machines[0].address, "");
}

static void a_full_pin_approves_only_its_key(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    Pin pin = pin_of(0xab);
    char text[PIN_TEXT + 2];
    put_joining(f, "web1", 0xab);
    pin_text(&pin, text);
    strcpy(text + PIN_TEXT, "a");
    nodes_approve(&world->cluster_store, STR("web1"), str_from_c(text), world_done, world);
    world_expect(world, ERROR_INVALID, NULL);
    nodes_approve(&world->cluster_store, STR("web1"), str_from(text, PIN_TEXT), world_done, world);
    world_expect(world, ERROR_NONE, NULL);
}

static void a_member_is_not_replaced_by_approval(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    put_node(f, "web1", 1);
    nodes_approve(&world->cluster_store, STR("web1"), STR(HALF("01")), world_done, world);
    world_expect(world, ERROR_CONFLICT, "already a node");
    put_joining(f, "web1", 2);
    nodes_approve(&world->cluster_store, STR("web1"), STR(HALF("02")), world_done, world);
    world_expect(world, ERROR_CONFLICT, "remove it first");
    /* The member itself may have lost its certificate. */
    put_joining(f, "web1", 1);
    nodes_approve(&world->cluster_store, STR("web1"), STR(HALF("01")), world_done, world);
    world_expect(world, ERROR_NONE, NULL);
}

static void a_rejected_machine_is_forgotten(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    put_joining(f, "web1", 1);
    put_node(f, "db1", 2);
    nodes_reject(&world->cluster_store, STR("web1"), world_done, world);
    world_expect(world, ERROR_NONE, NULL);
    assert_false(world_get(world, cluster_key_joining(&world->arena, PREFIX, STR("web1"))).there);
    nodes_reject(&world->cluster_store, STR("db1"), world_done, world);
    world_expect(world, ERROR_CONFLICT, "remove it");
    show(f, "db1");
}

/* --- Removing -------------------------------------------------------------------------------- */

static void a_removed_node_leaves_nothing_and_is_rejected(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    RevocationList list;
    Error err;
    put_node(f, "web1", 1);
    put_node(f, "web2", 2);
    put_joining(f, "web1", 1);
    put_alive(f, "web1");
    Str keys[] = { cluster_key_node(&world->arena, PREFIX, STR("web1")),
                   cluster_key_joining(&world->arena, PREFIX, STR("web1")),
                   cluster_key_alive(&world->arena, PREFIX, STR("web1")),
                   cluster_key_facts(&world->arena, PREFIX, STR("web1")),
                   cluster_key_session(&world->arena, PREFIX, STR("web1")),
                   arena_join(&world->arena, cluster_key_logs(&world->arena, PREFIX, STR("web1")),
                              STR("7"), STR_EMPTY),
                   arena_join(&world->arena, cluster_key_orders(&world->arena, PREFIX, STR("web1")),
                              STR("r1"), STR_EMPTY) };
    for (size_t i = 3; i < COUNT_OF(keys); i++) {
        world_put(world, keys[i], STR("{}"));
    }
    Str other = arena_join(&world->arena, cluster_key_logs(&world->arena, PREFIX, STR("web10")),
                           STR("7"), STR_EMPTY);
    world_put(world, other, STR("{}"));
    int64_t revision = store_status(world->cluster_store.store).revision;
    nodes_remove(&world->cluster_store, STR("web1"), 0, world_done, world);
    world_expect(world, ERROR_NONE, NULL);
    assert_int_equal(store_status(world->cluster_store.store).revision, revision + 1);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        assert_false(world_get(world, keys[i]).there);
    }
    assert_true(world_get(world, other).there);
    WorldValue got = world_get(world, cluster_key_revocations(&world->arena, PREFIX));
    assert_true(revocation_read(&world->arena, got.value, &list, &err));
    Str serial = STR(ENROLLMENT "0123456789abcdef");
    assert_false(revocation_check(&list, STR("web1"), serial, &err));
    assert_true(revocation_check(&list, STR("web2"), serial, &err));
    /* As long as its certificates are valid. */
    assert_int_equal(list.names[0].until_ms, 1900000000000);
    nodes_remove(&world->cluster_store, STR("web1"), 0, world_done, world);
    world_expect(world, ERROR_NOT_FOUND, NULL);
}

static void no_node_is_removed_if_it_cannot_be_recorded(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    put_node(f, "web1", 1);
    put_joining(f, "db1", 1);
    nodes_remove(&world->cluster_store, STR("db1"), 0, world_done, world);
    world_expect(world, ERROR_CONFLICT, "reject it instead");
    world_put(world, cluster_key_revocations(&world->arena, PREFIX), STR("damaged"));
    nodes_remove(&world->cluster_store, STR("web1"), 0, world_done, world);
    world_expect(world, ERROR_INVALID, NULL);
    show(f, "web1");
}

static void a_removal_based_on_an_old_state_fails(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    put_node(f, "web1", 1);
    show(f, "web1");
    int64_t seen = f->view.node.node->revision;
    put_node(f, "web1", 2);
    nodes_remove(&world->cluster_store, STR("web1"), seen, world_done, world);
    world_expect(world, ERROR_CONFLICT, "read it again");
    show(f, "web1");
    nodes_remove(&world->cluster_store, STR("web1"), f->view.node.node->revision, world_done,
                 world);
    world_expect(world, ERROR_NONE, NULL);
}

/* The expiry of its certificates is unknown: so none is accepted while any may be valid. */
static void a_damaged_record_can_be_removed(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    RevocationList list;
    Error err;
    Str key = cluster_key_node(&world->arena, PREFIX, STR("web1"));
    world_put(world, key, STR("\xff{"));
    nodes_remove(&world->cluster_store, STR("web1"), 0, world_done, world);
    world_expect(world, ERROR_NONE, NULL);
    assert_false(world_get(world, key).there);
    WorldValue got = world_get(world, cluster_key_revocations(&world->arena, PREFIX));
    assert_true(revocation_read(&world->arena, got.value, &list, &err));
    assert_false(revocation_check(&list, STR("web1"), STR(ENROLLMENT "0123456789abcdef"), &err));
    assert_true(list.names[0].until_ms >= 1800000000000 + CA_LIFETIME_MS);
}

static void closing_the_store_completes_all_calls(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", 1);
    nodes_remove(&f->world.cluster_store, STR("web1"), 0, world_done, &f->world);
    state_stop(f->world.cluster_store.state);
    store_close(f->world.cluster_store.store);
    f->world.cluster_store.store = NULL;
    world_expect(&f->world, ERROR_UNAVAILABLE, NULL);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(members_and_pending_machines_are_listed),
        ROW(machines_that_stopped_asking_are_not_listed),
        ROW(pages_are_contiguous),
        ROW(a_foreign_record_does_not_confuse_paging),
        ROW(a_page_with_an_invalid_start_is_rejected),
        ROW(silence_is_recorded_until_the_node_is_removed),
        ROW(nodes_that_became_silent_without_a_leader_are_recorded),
        ROW(a_damaged_record_is_reported_as_such),
        ROW(a_member_that_requests_again_is_listed_once),
        ROW(revoked_nodes_are_reported),
        ROW(one_is_shown),
        ROW(an_unknown_node_gets_a_suggestion),
        ROW(labels_are_set_together),
        ROW(annotations_stay_in_the_record),
        ROW(invalid_labels_are_rejected),
        ROW(a_change_requires_its_revision),
        ROW(only_the_shown_key_is_approved),
        ROW(one_key_of_a_name_is_approved),
        ROW(a_full_pin_can_be_approved_in_advance),
        ROW(a_full_pin_approves_only_its_key),
        ROW(a_member_is_not_replaced_by_approval),
        ROW(a_rejected_machine_is_forgotten),
        ROW(a_removed_node_leaves_nothing_and_is_rejected),
        ROW(no_node_is_removed_if_it_cannot_be_recorded),
        ROW(a_removal_based_on_an_old_state_fails),
        ROW(a_damaged_record_can_be_removed),
        ROW(closing_the_store_completes_all_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
