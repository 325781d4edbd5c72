/* The node's side with a test owner: back-off, and servers that send what they must not. */
#include <stdlib.h>

#include "unit.h"

#include "rpc/session_node.h"

typedef struct Owner {
    Loop *loop;
    Outbox *outbox;
    SessionNode *session;
    Arena arena;
    NodeMessage last;
    uint32_t connects, disconnects, sent, server, batches, skews, restarts, refused;
    uint64_t ticket;
    WatchPosition position;
    bool full; /* nothing can be sent */
} Owner;

static void connect_to(void *context, uint32_t server)
{
    Owner *owner = context;
    owner->connects++;
    owner->server = server;
}

static void disconnect(void *context)
{
    ((Owner *)context)->disconnects++;
}

static bool can_send(void *context)
{
    return !((Owner *)context)->full;
}

static void send_message(void *context, Str message)
{
    Owner *owner = context;
    Error err;
    owner->sent++;
    assert_true(node_message_decode(&owner->arena, message, &owner->last, &err));
}

static WatchPosition position(void *context, uint32_t watch)
{
    return ((Owner *)context)->position;
}

static void changes(void *context, const Changes *batch, Str store, uint64_t ticket)
{
    Owner *owner = context;
    assert_str(store, "s1");
    owner->batches++;
    owner->ticket = ticket;
}

static void skewed(void *context, int64_t server_ms, int64_t node_ms)
{
    ((Owner *)context)->skews++;
}

static void watch_refused(void *context, uint32_t watch, Str reason)
{
    assert_int_equal(watch, 0);
    assert_str(reason, "unknown");
    ((Owner *)context)->refused++;
}

static const SessionNodeOps ops = {
    .watch_rejected = watch_refused,
    .connect = connect_to,
    .disconnect = disconnect,
    .can_send = can_send,
    .send = send_message,
    .position = position,
    .changes = changes,
    .clock_skewed = skewed,
};

static void disk_append(void *context, const Record *record)
{
}

static void disk_forget(void *context, uint64_t sequence)
{
}

static void disk_restart(void *context, uint64_t epoch, const Record *const *records,
                         uint32_t count)
{
    ((Owner *)context)->restarts++;
}

static const char *const watches[] = { "w" };

static int set_up(void **state)
{
    Owner *owner = calloc(1, sizeof *owner);
    *state = owner;
    arena_init(&owner->arena, ARENA_UNLIMITED);
    owner->loop = loop_new_virtual(3);
    owner->position = (WatchPosition){ STR("s1"), 10 };
    owner->outbox = outbox_new(&(OutboxOptions){
        .epoch = 5, .storage = { disk_append, disk_forget, disk_forget, disk_restart, owner } });
    owner->session = session_node_new(&(SessionNodeOptions){ .loop = owner->loop,
                                                             .ops = &ops,
                                                             .context = owner,
                                                             .outbox = owner->outbox,
                                                             .node = STR("web1"),
                                                             .version = STR("0.1.0"),
                                                             .watches = watches,
                                                             .watch_count = 1,
                                                             .server_count = 3 });
    for (uint64_t i = 1, sequence; i <= 3; i++) {
        Error err;
        assert_true(outbox_add(owner->outbox, RECORD_FACTS, STR("k"), STR("v"), &sequence, &err));
    }
    outbox_stored(owner->outbox, 3);
    session_node_start(owner->session);
    return 0;
}

static int tear_down(void **state)
{
    Owner *owner = *state;
    session_node_free(owner->session);
    outbox_free(owner->outbox);
    loop_free(owner->loop);
    arena_clear(&owner->arena);
    free(owner);
    return 0;
}

static void say(Owner *owner, const ServerMessage *message)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    server_message_encode(message, &out);
    session_node_message(owner->session, buf_str(&out));
}

static void hello(Owner *owner, uint32_t protocol, uint64_t sequence, Str store)
{
    session_node_connected(owner->session);
    assert_int_equal(owner->last.kind, NODE_HELLO);
    say(owner, &(ServerMessage){ .kind = SERVER_HELLO,
                                 .hello = { protocol, STR("srv"), 0, sequence, store } });
}

static SessionNodeState state_of(const Owner *owner)
{
    return session_node_status(owner->session).state;
}

static void assert_failed(const Owner *owner, const char *text)
{
    SessionNodeStatus status = session_node_status(owner->session);
    assert_int_equal(status.state, SESSION_WAITING);
    assert_non_null(strstr(status.why->text, text));
    assert_int_equal(owner->disconnects, 1);
}

static void report(Owner *owner, int64_t first, int64_t revision, bool reset, bool complete)
{
    Change items[] = { { false, STR("k"), STR("v"), first } };
    say(owner, &(ServerMessage){ .kind = SERVER_CHANGES,
                                 .changes = { .changes = items,
                                              .change_count = 1,
                                              .revision = revision,
                                              .reset = reset,
                                              .complete = complete } });
}

static void test_sends_records_the_server_lacks(void **state)
{
    Owner *owner = *state;
    hello(owner, 1, 1, STR("s1"));
    assert_int_equal(state_of(owner), SESSION_LIVE);
    assert_int_equal(owner->last.record_count, 2);
    assert_int_equal(owner->last.records[0].sequence, 2);
    say(owner, &(ServerMessage){ .kind = SERVER_ACK, .ack = { 3, NULL, 0 } });
    assert_int_equal(outbox_counts(owner->outbox).records, 0);
    assert_int_equal(owner->skews, loop_wall_ms(owner->loop) > SESSION_SKEW_MS ? 1 : 0);
}

static void greet_refusing(Owner *owner, uint32_t watch)
{
    session_node_connected(owner->session);
    assert_int_equal(owner->last.hello.protocol, SESSION_PROTOCOL_OLDEST);
    assert_int_equal(owner->last.hello.protocol_newest, SESSION_PROTOCOL);
    say(owner, &(ServerMessage){
                   .kind = SERVER_HELLO,
                   .hello = { 1, STR("srv"), 0, 0, STR("s1"), { { watch, STR("unknown") } }, 1 } });
}

static void test_a_rejected_watch_keeps_the_session(void **state)
{
    Owner *owner = *state;
    greet_refusing(owner, 0);
    assert_int_equal(owner->refused, 1);
    assert_int_equal(state_of(owner), SESSION_LIVE);
    assert_int_equal(owner->last.kind, NODE_RECORDS);
    assert_int_equal(owner->last.record_count, 3);
    report(owner, 11, 11, false, true);
    assert_failed(owner, "changes for a rejected watch");
}

static void test_only_a_watch_can_be_rejected(void **state)
{
    Owner *owner = *state;
    greet_refusing(owner, 1);
    assert_failed(owner, "the server rejected a watch that was not requested");
}

static void test_a_ping_is_answered_when_there_is_capacity(void **state)
{
    Owner *owner = *state;
    hello(owner, 1, 3, STR("s1"));
    say(owner, &(ServerMessage){ .kind = SERVER_PING, .ping = { 7 } });
    assert_int_equal(owner->last.kind, NODE_PONG);
    assert_int_equal(owner->last.pong.id, 7);
    assert_int_equal(owner->last.pong.wall_ms, loop_wall_ms(owner->loop));
    owner->full = true;
    say(owner, &(ServerMessage){ .kind = SERVER_PING, .ping = { 8 } });
    assert_int_equal(owner->last.pong.id, 7);
    owner->full = false;
    session_node_writable(owner->session);
    assert_int_equal(owner->last.pong.id, 8);
    owner->full = true;
    say(owner, &(ServerMessage){ .kind = SERVER_PING, .ping = { 9 } });
    say(owner, &(ServerMessage){ .kind = SERVER_PING, .ping = { 10 } });
    assert_failed(owner, "a ping before the response to the last one");
}

static void test_backs_off_and_tries_the_next_server(void **state)
{
    Owner *owner = *state;
    uint32_t seen = 0;
    for (uint32_t i = 1; i <= 12; i++) {
        assert_int_equal(owner->connects, i);
        seen |= 1u << owner->server;
        Error why;
        error_set(&why, ERROR_UNAVAILABLE, "refused");
        session_node_closed(owner->session, &why);
        SessionNodeStatus status = session_node_status(owner->session);
        int64_t wait = status.until_ms - loop_now_ms(owner->loop);
        assert_true(wait >= 0 && wait <= 30000 && (i > 8 || wait <= 200 << (i - 1)));
        loop_run_virtual_until(owner->loop, status.until_ms);
    }
    assert_int_equal(seen, 7);
    assert_int_equal(owner->disconnects, 0);
}

/* A rejection does not change soon: from the first one on the node waits for the maximum time. */
/* Of four failures of that kind; ordinary ones wait 200 to 1600 ms at most. */
static int64_t longest_wait(Owner *owner, ErrorKind kind)
{
    int64_t longest = 0;
    for (uint32_t i = 1; i <= 4; i++) {
        Error why;
        error_set(&why, kind, "no");
        session_node_closed(owner->session, &why);
        SessionNodeStatus status = session_node_status(owner->session);
        int64_t wait = status.until_ms - loop_now_ms(owner->loop);
        longest = wait > longest ? wait : longest;
        loop_run_virtual_until(owner->loop, status.until_ms);
    }
    return longest;
}

static void test_a_denied_node_backs_off(void **state)
{
    assert_true(longest_wait(*state, ERROR_DENIED) > 1600);
}

static void test_a_protocol_mismatch_backs_off(void **state)
{
    assert_true(longest_wait(*state, ERROR_INVALID) > 1600);
}

static void test_no_response(void **state)
{
    Owner *owner = *state;
    loop_run_virtual_until(owner->loop, SESSION_OPEN_MS);
    assert_failed(owner, "no connection within 15 s");
}

static void test_no_hello(void **state)
{
    Owner *owner = *state;
    session_node_connected(owner->session);
    loop_run_virtual_until(owner->loop, SESSION_OPEN_MS);
    assert_failed(owner, "no response to the hello");
}

static void test_other_protocol(void **state)
{
    Owner *owner = *state;
    hello(owner, 2, 0, STR("s1"));
    assert_failed(owner, "the server uses protocol 2, but this version supports 1");
}

static void test_server_is_ahead(void **state)
{
    Owner *owner = *state;
    hello(owner, 1, 4, STR("s1"));
    assert_failed(owner, "renumbered");
    assert_int_equal(owner->restarts, 1);
    assert_true(outbox_epoch(owner->outbox) != 5);
}

static void test_ack_of_nothing(void **state)
{
    Owner *owner = *state;
    hello(owner, 1, 0, STR("s1"));
    say(owner, &(ServerMessage){ .kind = SERVER_ACK, .ack = { 4, NULL, 0 } });
    assert_failed(owner, "was not sent");
    assert_int_equal(outbox_counts(owner->outbox).records, 3);
}

static void test_changes_must_be_contiguous(void **state)
{
    Owner *owner = *state;
    hello(owner, 1, 3, STR("s1"));
    report(owner, 11, 12, false, true);
    assert_int_equal(owner->batches, 1);
    session_node_processed(owner->session, 0, owner->ticket + 1); /* from another time */
    assert_int_equal(owner->last.kind, NODE_HELLO);
    session_node_processed(owner->session, 0, owner->ticket);
    assert_int_equal(owner->last.watch_ack.revision, 12);
    report(owner, 12, 13, false, true);
    assert_failed(owner, "watch 'w': a change with revision 12 after 12");
    assert_int_equal(owner->batches, 1);
}

static void test_changes_before_a_reset_are_rejected(void **state)
{
    Owner *owner = *state;
    hello(owner, 1, 3, STR("s1"));
    report(owner, 11, 12, false, true);
    report(owner, 13, 13, false, true);
    assert_failed(owner, "before the previous ones were acknowledged");
}

static void test_unknown_store_requires_a_reset(void **state)
{
    Owner *owner = *state;
    owner->position = (WatchPosition){ STR("s0"), 10 };
    hello(owner, 1, 3, STR("s1"));
    report(owner, 4, 5, true, true);
    assert_int_equal(owner->batches, 1);
    session_node_processed(owner->session, 0, owner->ticket);
    report(owner, 6, 6, false, true);
    assert_int_equal(owner->batches, 2);
    session_node_stop(owner->session);
    session_node_start(owner->session);
    owner->disconnects = 0;
    hello(owner, 1, 3, STR("s1"));
    report(owner, 11, 12, false, true);
    assert_failed(owner, "an unknown store");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sends_records_the_server_lacks),
        TEST(test_backs_off_and_tries_the_next_server),
        TEST(test_a_denied_node_backs_off),
        TEST(test_a_protocol_mismatch_backs_off),
        TEST(test_no_response),
        TEST(test_no_hello),
        TEST(test_other_protocol),
        TEST(test_server_is_ahead),
        TEST(test_ack_of_nothing),
        TEST(test_changes_must_be_contiguous),
        TEST(test_changes_before_a_reset_are_rejected),
        TEST(test_unknown_store_requires_a_reset),
        TEST(test_a_rejected_watch_keeps_the_session),
        TEST(test_only_a_watch_can_be_rejected),
        TEST(test_a_ping_is_answered_when_there_is_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
