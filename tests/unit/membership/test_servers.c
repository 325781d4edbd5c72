#include "membership/servers.h"

#include "membership/rotation_nodes.h"
#include "store_world.h"

#define SERIAL "00112233445566ff0123456789abcdef"

static Pin pin_of(unsigned char byte)
{
    Pin pin;
    memset(pin.bytes, byte, sizeof pin.bytes);
    return pin;
}

/* --- Deciding -------------------------------------------------------------------------------- */

static void a_valid_node_of_a_shared_store_may_become_a_server(void **state)
{
    NodeRecord node = { .name = "s2" }, server = { .name = "s2", .is_server = true };
    static const char *const joined = "join it first", *const already = "already a server",
                             *const again = "must join again", *const file = "require a store";
    const struct {
        ServerFacts facts;
        const char *why; /* NULL: it may */
    } cases[] = {
        { { .node = &node, .is_shared = true, .count = 1 }, NULL },
        { { .is_shared = true, .count = 1 }, joined },
        { { .node = &server, .has_record = true, .is_shared = true, .count = 2 }, already },
        /* its record was lost, or comes from a backup */
        { { .node = &server, .is_shared = true, .count = 1 }, NULL },
        { { .node = &node, .has_record = true, .is_shared = true, .count = 2 }, NULL },
        { { .node = &node, .is_shared = true, .is_revoked = true }, again },
        { { .node = &node, .is_shared = true, .is_expired = true }, again },
        { { .node = &node, .count = 0 }, file },
        { { .node = &node, .is_shared = true, .count = SERVERS_MAX - 1 }, NULL },
        { { .node = &node, .is_shared = true, .count = SERVERS_MAX }, "at most 32" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Error err = { 0 };
        bool ok = server_decide_add(&cases[i].facts, &err);
        if (ok != (cases[i].why == NULL) || (!ok && strstr(err.text, cases[i].why) == NULL)) {
            fail_msg("case %zu: %s", i, err.text);
        }
    }
}

static void the_last_server_cannot_be_removed(void **state)
{
    Error err;
    assert_true(server_decide_remove(&(ServerFacts){ .has_record = true, .count = 2 }, &err));
    assert_false(server_decide_remove(&(ServerFacts){ .has_record = true, .count = 1 }, &err));
    assert_non_null(strstr(err.text, "the only server"));
    assert_false(server_decide_remove(&(ServerFacts){ .count = 3 }, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void a_removed_server_may_not_serve(void **state)
{
    NodeRecord node = { .name = "s2" }, server = { .name = "s2", .is_server = true };
    Error err;
    assert_true(server_decide_serve(&(ServerFacts){ .node = &server }, &err));
    assert_false(server_decide_serve(&(ServerFacts){ .node = &node, .has_record = true }, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_false(server_decide_serve(&(ServerFacts){ 0 }, &err));
}

/* --- Records --------------------------------------------------------------------------------- */

static void a_record_survives_a_round_trip(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const Str rpc[] = { STR("10.0.0.5:1337"), STR("[::1]:1337") }, api[] = { STR("eden1:1338") };
    ServerRecord record = { .name = "s1",
                            .added_ms = 5,
                            .started_ms = 7,
                            .rpc = rpc,
                            .rpc_count = 2,
                            .api = api,
                            .api_count = 1,
                            .cas = { pin_of(1), pin_of(2) },
                            .ca_count = 2,
                            .issuer = pin_of(2),
                            .version = STR("1.0"),
                            .unknown = value_missing() },
                 read;
    Buf text = buf_make_in(&arena, BUF_UNLIMITED);
    Error err;
    server_record_print(&record, &text);
    assert_true(server_record_read(&arena, buf_str(&text), &read, &err));
    assert_string_equal(read.name, "s1");
    assert_int_equal(read.rpc_count, 2);
    assert_str(read.rpc[1], "[::1]:1337");
    assert_str(read.api[0], "eden1:1338");
    assert_int_equal(read.started_ms, 7);
    assert_true(server_record_has_ca(&read, &record.cas[1]) &&
                pin_equal(&read.issuer, &record.cas[1]));
    Pin other = pin_of(3);
    assert_false(server_record_has_ca(&read, &other));
    assert_false(server_record_read(
        &arena,
        STR("{\"format\":\"eden.server-record/1\",\"name\":\"s1\",\"added_ms\":1,"
            "\"rpc\":[\"/run/x\"]}"),
        &read, &err));
}

/* --- Changes --------------------------------------------------------------------------------- */

typedef struct Fixture {
    StoreWorld world;
    uint32_t done; /* changes that have ended */
    Error err;     /* of the last one */
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

static void put_node(Fixture *f, const char *name, bool is_server)
{
    NodeRecord record = { .key = pin_of(9),
                          .enrollment = "00112233445566ff",
                          .is_server = is_server,
                          .joined_ms = 1,
                          .serial = SERIAL,
                          .not_after_ms = INT64_MAX >> 12,
                          .labels = value_missing() };
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    snprintf(record.name, sizeof record.name, "%s", name);
    node_record_print(&record, &text);
    world_put(&f->world, cluster_key_node(&f->world.arena, PREFIX, str_from_c(name)),
              buf_str(&text));
}

static void done(void *context, const Error *err)
{
    Fixture *f = context;
    f->done++;
    f->err = err == NULL ? (Error){ 0 } : *err;
}

/* Whether the last of the requested changes has succeeded. */
static bool finish(Fixture *f, uint32_t changes)
{
    world_pass(&f->world);
    assert_int_equal(f->done, changes);
    f->done = 0;
    return f->err.kind == ERROR_NONE;
}

static bool add(Fixture *f, const char *name)
{
    servers_add(&f->world.cluster_store, str_from_c(name), true, done, f);
    return finish(f, 1);
}

static bool remove_one(Fixture *f, const char *name)
{
    servers_remove(&f->world.cluster_store, str_from_c(name), 0, done, f);
    return finish(f, 1);
}

static bool serve(Fixture *f, const char *name, bool is_shared)
{
    ServerRecord own = { .added_ms = 100, .started_ms = 100, .unknown = value_missing() };
    snprintf(own.name, sizeof own.name, "%s", name);
    servers_register(&f->world.cluster_store, &own, is_shared, done, f);
    return finish(f, 1);
}

static uint32_t count(Fixture *f)
{
    return servers_list(&f->world.arena, &f->world.cluster_store).count;
}

static void servers_are_added_registered_and_removed(void **state)
{
    Fixture *f = *state;
    put_node(f, "s1", true);
    put_node(f, "s2", false);
    assert_true(serve(f, "s1", true));
    assert_false(serve(f, "s2", true));
    assert_int_equal(f->err.kind, ERROR_DENIED);
    assert_true(add(f, "s2"));
    assert_false(add(f, "s2"));
    assert_false(add(f, "s3"));
    assert_int_equal(f->err.kind, ERROR_NOT_FOUND);
    ServersListing listing = servers_list(&f->world.arena, &f->world.cluster_store);
    assert_int_equal(listing.count, 2);
    assert_int_equal(servers_find(&listing, STR("s2"))->record.started_ms, 0);
    int64_t added_ms = servers_find(&listing, STR("s2"))->record.added_ms;
    assert_true(serve(f, "s2", true));
    listing = servers_list(&f->world.arena, &f->world.cluster_store);
    assert_int_equal(servers_find(&listing, STR("s2"))->record.started_ms, 100);
    assert_int_equal(servers_find(&listing, STR("s2"))->record.added_ms, added_ms);
    assert_true(remove_one(f, "s1"));
    assert_false(serve(f, "s1", true));
    assert_false(remove_one(f, "s2"));
    assert_int_equal(f->err.kind, ERROR_CONFLICT);
    assert_int_equal(count(f), 1);
}

static void two_removals_at_once_leave_one_server(void **state)
{
    Fixture *f = *state;
    put_node(f, "s1", true);
    put_node(f, "s2", true);
    assert_true(serve(f, "s1", true) && serve(f, "s2", true));
    servers_remove(&f->world.cluster_store, STR("s1"), 0, done, f);
    servers_remove(&f->world.cluster_store, STR("s2"), 0, done, f);
    (void)finish(f, 2);
    assert_int_equal(count(f), 1);
}

static void the_only_server_of_a_file_needs_no_record(void **state)
{
    Fixture *f = *state;
    put_node(f, "s1", true);
    assert_true(serve(f, "s1", false));
    assert_int_equal(count(f), 0);
}

/* --- Rotation -------------------------------------------------------------------------------- */

static const RotationNode *ask(Arena *arena, RotationState at, const ServerRecord *server)
{
    Rotation rotation = { .state = at, .present = pin_of(1), .next = pin_of(2) };
    RosterNode node = { .record = { .name = "s2", .is_server = true, .not_after_ms = 100 },
                        .is_alive = true };
    NodeTrust trust = { .node = &node,
                        .has_report = true,
                        .report = { .trusted = { pin_of(1), pin_of(2) },
                                    .trusted_count = 2,
                                    .has_issuer = true,
                                    .issuer = pin_of(2) } };
    ServerEntry entry = { .record = *server };
    uint32_t nodes;
    const RotationNode *out =
        rotation_nodes(arena,
                       &(RotationView){ .rotation = &rotation,
                                        .server = STR("s1"),
                                        .now_ms = 1,
                                        .nodes = &(TrustListing){ &trust, 1 },
                                        .servers = &(ServersListing){ &entry, 1 } },
                       &nodes);
    assert_int_equal(nodes, 1);
    return out;
}

static void the_rotation_waits_until_every_server_has_the_key(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    ServerRecord server = {
        .name = "s2", .cas = { pin_of(1) }, .ca_count = 1, .issuer = pin_of(1)
    };
    assert_false(ask(&arena, ROTATION_PREPARE, &server)->trusts_next);
    assert_false(ask(&arena, ROTATION_DISTRIBUTE, &server)->trusts_next);
    server.cas[server.ca_count++] = pin_of(2);
    assert_true(ask(&arena, ROTATION_PREPARE, &server)->trusts_next);
    assert_true(ask(&arena, ROTATION_DISTRIBUTE, &server)->trusts_next);
    assert_false(ask(&arena, ROTATION_ISSUE, &server)->has_issuer);
    server.issuer = pin_of(2);
    assert_true(ask(&arena, ROTATION_ISSUE, &server)->has_issuer);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_node_of_a_shared_store_may_become_a_server),
        cmocka_unit_test(the_last_server_cannot_be_removed),
        cmocka_unit_test(a_removed_server_may_not_serve),
        cmocka_unit_test(a_record_survives_a_round_trip),
        ROW(servers_are_added_registered_and_removed),
        ROW(two_removals_at_once_leave_one_server),
        ROW(the_only_server_of_a_file_needs_no_record),
        cmocka_unit_test(the_rotation_waits_until_every_server_has_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
