#include "unit.h"

#include "rpc/session_message.h"

static bool node_round(Arena *arena, const NodeMessage *message, NodeMessage *out, Error *err)
{
    Buf bytes = buf_make_in(arena, SESSION_NODE_MESSAGE_MAX * 2);
    node_message_encode(message, &bytes);
    assert_false(bytes.overflow);
    return node_message_decode(arena, buf_str(&bytes), out, err);
}

static bool server_round(Arena *arena, const ServerMessage *message, ServerMessage *out, Error *err)
{
    Buf bytes = buf_make_in(arena, SESSION_SERVER_MESSAGE_MAX * 2);
    server_message_encode(message, &bytes);
    assert_false(bytes.overflow);
    return server_message_decode(arena, buf_str(&bytes), out, err);
}

static NodeMessage hello(void)
{
    return (NodeMessage){ .kind = NODE_HELLO,
                          .hello = { .protocol = SESSION_PROTOCOL,
                                     .node = STR("web1"),
                                     .boot_id = STR("b"),
                                     .version = STR("0.1.0"),
                                     .wall_ms = -5,
                                     .epoch = UINT64_MAX,
                                     .watches = { { STR("objects"), { STR("s1"), 42 } } },
                                     .watch_count = 1 } };
}

static void test_hello_survives_a_round_trip(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    NodeMessage out, in = hello();
    assert_true(node_round(&arena, &in, &out, &err));
    assert_int_equal(out.kind, NODE_HELLO);
    assert_str(out.hello.node, "web1");
    assert_true(out.hello.epoch == UINT64_MAX);
    assert_int_equal(out.hello.wall_ms, -5);
    assert_int_equal(out.hello.watch_count, 1);
    assert_str(out.hello.watches[0].name, "objects");
    assert_str(out.hello.watches[0].position.store, "s1");
    assert_int_equal(out.hello.watches[0].position.revision, 42);
}

static void test_invalid_hellos(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    NodeMessage out, in = hello();
    in.hello.node = STR("../web1");
    assert_false(node_round(&arena, &in, &out, &err));
    in = hello();
    in.hello.epoch = 0;
    assert_false(node_round(&arena, &in, &out, &err));
    in = hello();
    in.hello.version = STR("a\nb");
    assert_false(node_round(&arena, &in, &out, &err));
    in = hello();
    in.hello.watches[0].position.revision = -1;
    assert_false(node_round(&arena, &in, &out, &err));
    in.hello.watches[0].position.revision = SESSION_REVISION_MAX + 1;
    assert_false(node_round(&arena, &in, &out, &err));
    in = hello();
    in.hello.watches[0].position.store = STR_EMPTY;
    assert_false(node_round(&arena, &in, &out, &err));
    char longer[SESSION_TEXT_MAX + 1];
    memset(longer, 'x', sizeof longer);
    in = hello();
    in.hello.boot_id = str_from(longer, sizeof longer);
    assert_false(node_round(&arena, &in, &out, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
}

static void test_other_protocols_are_reported_with_both_versions(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    NodeMessage out, in = hello();
    in.hello.protocol = 7;
    in.hello.node = STR("whatever that means there");
    assert_true(node_round(&arena, &in, &out, &err));
    assert_int_equal(out.hello.protocol, 7);
    assert_false(session_protocol_check(7, "the node", &err));
    assert_string_equal(err.text, "the node uses protocol 7, but this version supports 1");
    assert_false(session_protocol_check(0, "the node", &err));
    assert_true(session_protocol_check(SESSION_PROTOCOL, "the node", &err));
}

static void test_the_newest_protocol_of_both_is_chosen(void **state)
{
    static const struct {
        uint32_t oldest, newest, chosen; /* 0: none */
    } rows[] = {
        { 1, 0, 1 }, /* from before there was a range */
        { 1, 1, 1 }, { 1, 7, 1 }, { 2, 7, 0 }, { 2, 0, 0 }, { 0, 0, 0 }, { 0, 7, 1 }, { 3, 1, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        NodeHello offer = { .protocol = rows[i].oldest, .protocol_newest = rows[i].newest };
        uint32_t chosen = 0;
        Error err;
        bool ok = session_protocol_choose(&offer, &chosen, &err);
        assert_int_equal(ok, rows[i].chosen != 0);
        assert_true(!ok || chosen == rows[i].chosen);
    }
}

static void test_records(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    Record records[SESSION_RECORDS_MAX + 1];
    for (uint32_t i = 0; i < COUNT_OF(records); i++) {
        records[i] = (Record){ i + 1, RECORD_LOG, STR("k"), STR("a\0b"), i };
    }
    NodeMessage out, in = { .kind = NODE_RECORDS, .records = records, .record_count = 2 };
    assert_true(node_round(&arena, &in, &out, &err));
    assert_int_equal(out.record_count, 2);
    assert_int_equal(out.records[1].sequence, 2);
    assert_int_equal(out.records[1].lost, 1);
    assert_int_equal(out.records[1].body.len, 3);
    assert_int_equal(out.records[1].kind, RECORD_LOG);

    in.record_count = COUNT_OF(records);
    assert_false(node_round(&arena, &in, &out, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    in.record_count = 2;
    records[1].sequence = 1;
    assert_false(node_round(&arena, &in, &out, &err));
    records[0].sequence = 0;
    assert_false(node_round(&arena, &in, &out, &err));
    records[0].sequence = (uint64_t)INT64_MAX + 1;
    in.record_count = 1;
    assert_false(node_round(&arena, &in, &out, &err));
    /* The kind of a newer node is accepted here, and rejected later. */
    records[0] = (Record){ 1, (RecordKind)77, STR("k"), STR("x"), 0 };
    assert_true(node_round(&arena, &in, &out, &err));
    assert_int_equal(out.records[0].kind, 77);
}

static void test_server_messages(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    ServerMessage out, in = { .kind = SERVER_HELLO, .hello = { 1, STR("a"), 5, 6, STR("store") } };
    assert_true(server_round(&arena, &in, &out, &err));
    assert_int_equal(out.hello.sequence, 6);
    in.hello.store = STR_EMPTY;
    assert_false(server_round(&arena, &in, &out, &err));
    in.hello.store = STR("store");
    in.hello.rejected[0] = (RejectedWatch){ 3, STR("no range 'x'") };
    in.hello.rejected_count = 1;
    assert_true(server_round(&arena, &in, &out, &err));
    assert_int_equal(out.hello.rejected_count, 1);
    assert_int_equal(out.hello.rejected[0].watch, 3);
    assert_str(out.hello.rejected[0].reason, "no range 'x'");
    in.hello.rejected[0].reason = STR("a\nb");
    assert_false(server_round(&arena, &in, &out, &err));

    in = (ServerMessage){ .kind = SERVER_PING, .ping = { UINT64_MAX } };
    assert_true(server_round(&arena, &in, &out, &err));
    assert_int_equal(out.kind, SERVER_PING);
    assert_true(out.ping.id == UINT64_MAX);
    NodeMessage answer, pong = { .kind = NODE_PONG, .pong = { 7, -1 } };
    assert_true(node_round(&arena, &pong, &answer, &err));
    assert_int_equal(answer.kind, NODE_PONG);
    assert_true(answer.pong.id == 7 && answer.pong.wall_ms == -1);

    RejectedRecord refusal = { 4, STR("no") };
    in = (ServerMessage){ .kind = SERVER_ACK, .ack = { 4, &refusal, 1 } };
    assert_true(server_round(&arena, &in, &out, &err));
    assert_str(out.ack.rejected[0].reason, "no");

    Change changes[] = { { false, STR("k"), STR("v"), 3 }, { true, STR("l"), STR_EMPTY, 3 } };
    in = (ServerMessage){ .kind = SERVER_CHANGES,
                          .changes = { .watch = 1,
                                       .changes = changes,
                                       .change_count = 2,
                                       .revision = 3,
                                       .reset = true,
                                       .complete = true } };
    assert_true(server_round(&arena, &in, &out, &err));
    assert_true(out.changes.reset && out.changes.complete && out.changes.changes[1].deleted);
    assert_str(out.changes.changes[0].value, "v");
    changes[0].key = STR_EMPTY;
    assert_false(server_round(&arena, &in, &out, &err));
}

/* Two bytes make a record, which needs memory. */
static void test_many_empty_parts_are_bounded(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const size_t inner = 1000 * 1000;
    Buf bytes = buf_make_in(&arena, BUF_UNLIMITED);
    buf_put_format(&bytes, "\x12%c%c%c", (int)(0x80 | (inner & 0x7f)),
                   (int)(0x80 | (inner >> 7 & 0x7f)), (int)(inner >> 14));
    for (size_t i = 0; i < inner; i += 2) {
        buf_put(&bytes, STR("\x0a\x00"));
    }
    size_t before = arena.chunk_bytes;
    NodeMessage out;
    Error err;
    assert_false(node_message_decode(&arena, buf_str(&bytes), &out, &err));
    assert_true(arena.chunk_bytes - before < 80u * 1000 * 1000);
    assert_false(node_message_decode(&arena, STR(""), &out, &err));
    assert_false(node_message_decode(&arena, STR("\xff\xff"), &out, &err));
}

static void test_skew(void **state)
{
    assert_false(session_is_skewed(SESSION_SKEW_MS, 0));
    assert_true(session_is_skewed(SESSION_SKEW_MS + 1, 0));
    assert_true(session_is_skewed(INT64_MIN, INT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello_survives_a_round_trip),
        cmocka_unit_test(test_invalid_hellos),
        cmocka_unit_test(test_other_protocols_are_reported_with_both_versions),
        cmocka_unit_test(test_the_newest_protocol_of_both_is_chosen),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_server_messages),
        cmocka_unit_test(test_many_empty_parts_are_bounded),
        cmocka_unit_test(test_skew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
