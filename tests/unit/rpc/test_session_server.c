/* The server's side with a test owner: invalid messages, a failing store, and a node that sends
 * faster than records are stored. */
#include <stdlib.h>

#include "unit.h"

#include "rpc/session_server.h"

typedef struct Owner {
    Loop *loop;
    SessionServer *session;
    Arena arena;
    ServerMessage last;
    uint32_t sent, loads, applies, beats, finished, pauses, resumes, watches, takens, unwatches;
    bool full, skewed;
    Error why;
    SessionCursor from, to;
    uint32_t count;
    int64_t watch_from;
    bool watch_reset;
    SessionPing ping;
    uint32_t pongs;
} Owner;

static bool can_send(void *context)
{
    Owner *owner = context;
    return !owner->full;
}

static void send_message(void *context, Str message)
{
    Owner *owner = context;
    Error err;
    owner->sent++;
    assert_true(server_message_decode(&owner->arena, message, &owner->last, &err));
}

static void pause_stream(void *context)
{
    ((Owner *)context)->pauses++;
}

static void resume_stream(void *context)
{
    ((Owner *)context)->resumes++;
}

static void finish(void *context, const Error *why)
{
    Owner *owner = context;
    owner->finished++;
    owner->why = *why;
}

static void hello_received(void *context, const NodeHello *hello, bool skewed)
{
    ((Owner *)context)->skewed = skewed;
}

static void load(void *context)
{
    ((Owner *)context)->loads++;
}

static void apply(void *context, SessionCursor from, SessionCursor to, const Record *records,
                  uint32_t count)
{
    Owner *owner = context;
    owner->applies++;
    owner->from = from;
    owner->to = to;
    owner->count = count;
}

static void keep_alive(void *context)
{
    ((Owner *)context)->beats++;
}

static bool watch(void *context, uint32_t number, Str name, bool reset, int64_t revision,
                  Error *err)
{
    Owner *owner = context;
    if (str_eq_c(name, "secrets")) {
        return error_set(err, ERROR_DENIED, "not for you");
    }
    owner->watches++;
    owner->watch_reset = reset;
    owner->watch_from = revision;
    return true;
}

static void taken(void *context, uint32_t number, int64_t revision)
{
    ((Owner *)context)->takens++;
}

static void unwatch(void *context, uint32_t number)
{
    ((Owner *)context)->unwatches++;
}

static void ping_answered(void *context, const SessionPing *ping)
{
    Owner *owner = context;
    owner->pongs++;
    owner->ping = *ping;
}

static const SessionServerOps ops = { can_send,     send_message,   pause_stream, resume_stream,
                                      finish,       hello_received, load,         apply,
                                      keep_alive,   watch,          taken,        unwatch,
                                      ping_answered };

static int set_up(void **state)
{
    Owner *owner = calloc(1, sizeof *owner);
    *state = owner;
    arena_init(&owner->arena, ARENA_UNLIMITED);
    owner->loop = loop_new_virtual(1);
    owner->session = session_server_new(&(SessionServerOptions){ .loop = owner->loop,
                                                                 .ops = &ops,
                                                                 .context = owner,
                                                                 .node = STR("web1"),
                                                                 .server = STR("srv"),
                                                                 .store = STR("s1") });
    return 0;
}

static int tear_down(void **state)
{
    Owner *owner = *state;
    session_server_free(owner->session);
    loop_free(owner->loop);
    arena_clear(&owner->arena);
    free(owner);
    return 0;
}

static void say(Owner *owner, const NodeMessage *message)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    node_message_encode(message, &out);
    session_server_message(owner->session, buf_str(&out));
}

static void hello(Owner *owner, uint32_t protocol, Str node, Str watched)
{
    say(owner, &(NodeMessage){ .kind = NODE_HELLO,
                               .hello = { .protocol = protocol,
                                          .node = node,
                                          .wall_ms = loop_wall_ms(owner->loop) + 31000,
                                          .epoch = 5,
                                          .watches = { { watched, { STR("s1"), 8 } } },
                                          .watch_count = 1 } });
}

static void go_live(Owner *owner, SessionCursor cursor)
{
    hello(owner, 1, STR("web1"), STR("w"));
    session_server_loaded(owner->session, cursor, NULL);
    assert_true(session_server_is_live(owner->session));
}

static void records(Owner *owner, uint64_t first, uint64_t last, size_t size)
{
    Record items[SESSION_RECORDS_MAX];
    char *body = arena_alloc_zero(&owner->arena, size + 1);
    uint32_t count = 0;
    for (uint64_t i = first; i <= last; i++) {
        items[count++] = (Record){ i, RECORD_STATUS, STR("k"), str_from(body, size), 0 };
    }
    say(owner, &(NodeMessage){ .kind = NODE_RECORDS, .records = items, .record_count = count });
}

static void test_hello_and_lease(void **state)
{
    Owner *owner = *state;
    go_live(owner, (SessionCursor){ 5, 7 });
    assert_true(owner->skewed);
    assert_int_equal(owner->last.kind, SERVER_HELLO);
    assert_int_equal(owner->last.hello.sequence, 7);
    assert_int_equal(owner->watches, 1);
    assert_false(owner->watch_reset);
    assert_int_equal(owner->watch_from, 8);
    assert_int_equal(owner->beats, 1);
    loop_run_virtual_until(owner->loop, 3 * SESSION_RENEW_MS);
    assert_int_equal(owner->beats, 4);
    session_server_closed(owner->session);
    assert_int_equal(owner->unwatches, 1);
    assert_int_equal(owner->finished, 0);
    loop_run_virtual_until(owner->loop, 9 * SESSION_RENEW_MS);
    assert_int_equal(owner->beats, 4);
}

static void test_without_hello(void **state)
{
    Owner *owner = *state;
    loop_run_virtual_until(owner->loop, SESSION_HELLO_MS);
    assert_int_equal(owner->why.kind, ERROR_TIMEOUT);
}

static void test_other_name(void **state)
{
    Owner *owner = *state;
    hello(owner, 1, STR("web2"), STR("w"));
    assert_int_equal(owner->why.kind, ERROR_DENIED);
    assert_int_equal(owner->loads, 0);
}

static void test_other_protocol(void **state)
{
    Owner *owner = *state;
    hello(owner, 2, STR("web1"), STR("w"));
    assert_string_equal(owner->why.text, "the node uses protocol 2, but this version supports 1");
}

static void test_a_rejected_watch_keeps_the_session(void **state)
{
    Owner *owner = *state;
    say(owner, &(NodeMessage){ .kind = NODE_HELLO,
                               .hello = { .protocol = 1,
                                          .protocol_newest = 9,
                                          .node = STR("web1"),
                                          .epoch = 5,
                                          .watches = { { STR("secrets"), { STR("s1"), 8 } },
                                                       { STR("w"), { STR("s1"), 8 } } },
                                          .watch_count = 2 } });
    session_server_loaded(owner->session, (SessionCursor){ 0 }, NULL);
    assert_true(session_server_is_live(owner->session));
    assert_int_equal(owner->last.kind, SERVER_HELLO);
    assert_int_equal(owner->last.hello.protocol, 1);
    assert_int_equal(owner->last.hello.rejected_count, 1);
    assert_int_equal(owner->last.hello.rejected[0].watch, 0);
    assert_str(owner->last.hello.rejected[0].reason, "not for you");
    assert_int_equal(owner->watches, 1);
    records(owner, 1, 1, 1);
    assert_int_equal(owner->applies, 1);
    session_server_applied(owner->session, NULL, 0, NULL);
    /* Nothing was sent about it, so nothing can be acknowledged. */
    say(owner, &(NodeMessage){ .kind = NODE_WATCH_ACK, .watch_ack = { 0, 8 } });
    assert_int_equal(owner->why.kind, ERROR_INVALID);
    assert_int_equal(owner->unwatches, 1);
}

static void test_records_before_the_response(void **state)
{
    Owner *owner = *state;
    hello(owner, 1, STR("web1"), STR("w"));
    records(owner, 1, 1, 1);
    assert_int_equal(owner->why.kind, ERROR_INVALID);
    session_server_loaded(owner->session, (SessionCursor){ 0 }, NULL);
    assert_int_equal(owner->sent, 0);
}

static void test_garbage(void **state)
{
    Owner *owner = *state;
    go_live(owner, (SessionCursor){ 0 });
    session_server_message(owner->session, STR("\xff\xff\xff"));
    assert_int_equal(owner->why.kind, ERROR_INVALID);
    session_server_message(owner->session, STR("\xff\xff\xff"));
    assert_int_equal(owner->finished, 1);
}

static void test_known_records_are_acknowledged_and_not_applied(void **state)
{
    Owner *owner = *state;
    go_live(owner, (SessionCursor){ 5, 7 });
    records(owner, 6, 7, 1);
    assert_int_equal(owner->applies, 0);
    assert_int_equal(owner->last.ack.sequence, 7);
    records(owner, 7, 9, 1);
    assert_int_equal(owner->applies, 1);
    assert_int_equal(owner->count, 2);
    assert_int_equal(owner->from.sequence, 7);
    assert_int_equal(owner->to.sequence, 9);
    session_server_applied(owner->session, NULL, 0, NULL);
    assert_int_equal(owner->last.ack.sequence, 9);
}

static void test_conflict_reads_again(void **state)
{
    Owner *owner = *state;
    go_live(owner, (SessionCursor){ 5, 7 });
    records(owner, 8, 9, 1);
    Error err;
    error_set(&err, ERROR_CONFLICT, "moved");
    session_server_applied(owner->session, NULL, 0, &err);
    session_server_loaded(owner->session, (SessionCursor){ 5, 8 }, NULL);
    assert_int_equal(owner->applies, 2);
    assert_int_equal(owner->from.sequence, 8);
    assert_int_equal(owner->count, 1);
    session_server_applied(owner->session, NULL, 0, &err);
    session_server_loaded(owner->session, (SessionCursor){ 6, 1 }, NULL);
    assert_int_equal(owner->why.kind, ERROR_CONFLICT);
}

static void test_full_disk_is_retried(void **state)
{
    Owner *owner = *state;
    go_live(owner, (SessionCursor){ 0 });
    records(owner, 1, 3, 1);
    Error err;
    error_set(&err, ERROR_UNAVAILABLE, "the disk is full");
    for (uint32_t i = 1; i < 5; i++) {
        assert_int_equal(owner->applies, i);
        session_server_applied(owner->session, NULL, 0, &err);
        loop_run_virtual_until(owner->loop, loop_now_ms(owner->loop) + 2 * SESSION_RETRY_MS);
        session_server_loaded(owner->session, (SessionCursor){ 0 }, NULL);
    }
    session_server_applied(owner->session, NULL, 0, NULL);
    assert_int_equal(owner->last.ack.sequence, 3);
    assert_int_equal(owner->finished, 0);
}

static void test_fast_node_is_paused(void **state)
{
    Owner *owner = *state;
    go_live(owner, (SessionCursor){ 0 });
    uint64_t sequence = 0;
    while (owner->pauses == 0) {
        assert_true(sequence < 100);
        sequence++;
        records(owner, sequence, sequence, 200 * 1000);
    }
    while (owner->resumes == 0) {
        session_server_applied(owner->session, NULL, 0, NULL);
    }
    assert_true(owner->last.ack.sequence < sequence);
    session_server_closed(owner->session);
    session_server_applied(owner->session, NULL, 0, NULL);
}

/* Each takes far more memory than bytes on the wire. */
static void test_small_messages_are_paused_by_memory_use(void **state)
{
    Owner *owner = *state;
    go_live(owner, (SessionCursor){ 0 });
    uint64_t sequence = 0;
    while (owner->pauses == 0) {
        assert_true(sequence < 1000);
        sequence++;
        records(owner, sequence, sequence, 1);
    }
    assert_true(sequence > 10);
    while (owner->resumes == 0) {
        session_server_applied(owner->session, NULL, 0, NULL);
    }
    assert_true(owner->last.ack.sequence < sequence);
    session_server_closed(owner->session);
    session_server_applied(owner->session, NULL, 0, NULL);
}

static void test_slow_node_gets_acks_and_changes_later(void **state)
{
    Owner *owner = *state;
    go_live(owner, (SessionCursor){ 0 });
    owner->full = true;
    records(owner, 1, 1, 1);
    session_server_applied(owner->session, NULL, 0, NULL);
    records(owner, 2, 2, 1);
    assert_int_equal(owner->applies, 1); /* not before the ack is sent */
    session_server_changes(owner->session, &(Changes){ .revision = 9, .complete = true });
    assert_int_equal(owner->sent, 1);
    owner->full = false;
    session_server_writable(owner->session);
    assert_int_equal(owner->sent, 3);
    assert_int_equal(owner->applies, 2);
    say(owner, &(NodeMessage){ .kind = NODE_WATCH_ACK, .watch_ack = { 0, 9 } });
    assert_int_equal(owner->takens, 1);
    say(owner, &(NodeMessage){ .kind = NODE_WATCH_ACK, .watch_ack = { 0, 9 } });
    assert_int_equal(owner->why.kind, ERROR_INVALID);
    session_server_applied(owner->session, NULL, 0, NULL);
}

/* What is still queued cannot have been received, whatever the node guesses. */
static void test_acks_of_unsent_changes_are_rejected(void **state)
{
    Owner *owner = *state;
    go_live(owner, (SessionCursor){ 0 });
    owner->full = true;
    session_server_changes(owner->session, &(Changes){ .revision = 9, .complete = true });
    say(owner, &(NodeMessage){ .kind = NODE_WATCH_ACK, .watch_ack = { 0, 9 } });
    assert_int_equal(owner->takens, 0);
    assert_int_equal(owner->why.kind, ERROR_INVALID);
}

static void test_acks_of_another_revision_are_rejected(void **state)
{
    Owner *owner = *state;
    go_live(owner, (SessionCursor){ 0 });
    session_server_changes(owner->session, &(Changes){ .revision = 9, .complete = true });
    say(owner, &(NodeMessage){ .kind = NODE_WATCH_ACK, .watch_ack = { 0, 8 } });
    assert_int_equal(owner->takens, 0);
    assert_int_equal(owner->why.kind, ERROR_INVALID);
}

/* A node whose records wait is notified, and later acknowledged as usual. */
static void test_a_delay_is_announced(void **state)
{
    Owner *owner = *state;
    go_live(owner, (SessionCursor){ 0 });
    uint32_t before = owner->sent;
    records(owner, 1, 1, 1);
    session_server_delayed(owner->session, 5000);
    assert_int_equal(owner->sent, before + 1);
    session_server_applied(owner->session, NULL, 0, NULL);
    assert_int_equal(owner->sent, before + 2);
    records(owner, 2, 2, 1);
    owner->full = true;
    session_server_delayed(owner->session, 5000);
    session_server_applied(owner->session, NULL, 0, NULL);
    owner->full = false;
    session_server_writable(owner->session);
    assert_int_equal(owner->sent, before + 3);
}

static void test_node_is_pinged_and_answers(void **state)
{
    Owner *owner = *state;
    session_server_ping(owner->session); /* not before it is live */
    go_live(owner, (SessionCursor){ 0 });
    uint32_t sent = owner->sent;
    session_server_ping(owner->session);
    session_server_ping(owner->session); /* one at a time */
    assert_int_equal(owner->sent, sent + 1);
    assert_int_equal(owner->last.kind, SERVER_PING);
    loop_run_virtual_until(owner->loop, loop_now_ms(owner->loop) + 40);
    say(owner, &(NodeMessage){ .kind = NODE_PONG, .pong = { owner->last.ping.id, 1234 } });
    assert_int_equal(owner->pongs, 1);
    assert_int_equal(owner->ping.round_trip_ms, 40);
    assert_int_equal(owner->ping.node_ms, 1234);
    assert_int_equal(owner->ping.server_ms, loop_wall_ms(owner->loop));
    uint64_t first = owner->last.ping.id;
    owner->full = true;
    session_server_ping(owner->session);
    owner->full = false;
    session_server_writable(owner->session);
    assert_true(owner->last.ping.id != first);
    /* The first response does not answer the second ping. */
    say(owner, &(NodeMessage){ .kind = NODE_PONG, .pong = { first, 1234 } });
    assert_int_equal(owner->finished, 1);
    assert_int_equal(owner->why.kind, ERROR_INVALID);
    assert_int_equal(owner->pongs, 1);
}

static void test_unsolicited_response_ends_the_session(void **state)
{
    Owner *owner = *state;
    go_live(owner, (SessionCursor){ 0 });
    say(owner, &(NodeMessage){ .kind = NODE_PONG, .pong = { 0, 1234 } });
    assert_int_equal(owner->why.kind, ERROR_INVALID);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hello_and_lease),
        TEST(test_without_hello),
        TEST(test_other_name),
        TEST(test_other_protocol),
        TEST(test_a_rejected_watch_keeps_the_session),
        TEST(test_records_before_the_response),
        TEST(test_garbage),
        TEST(test_known_records_are_acknowledged_and_not_applied),
        TEST(test_conflict_reads_again),
        TEST(test_full_disk_is_retried),
        TEST(test_fast_node_is_paused),
        TEST(test_small_messages_are_paused_by_memory_use),
        TEST(test_slow_node_gets_acks_and_changes_later),
        TEST(test_acks_of_unsent_changes_are_rejected),
        TEST(test_acks_of_another_revision_are_rejected),
        TEST(test_a_delay_is_announced),
        TEST(test_node_is_pinged_and_answers),
        TEST(test_unsolicited_response_ends_the_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
