/* The service over a Unix socket, with the memory store behind it and a node that is only a
 * client. */
#include "service/session_service.h"

#include "net/grpc_client.h"
#include "net/world.h"
#include "rpc/session_server.h"
#include "service/session_records.h"

typedef struct Fixture Fixture;

/* A node's stream; a test specifies what it sends, and sees what arrived last. */
typedef struct Node {
    Fixture *f;
    GrpcClient *client;
    GrpcCall *call;
    Arena arena;
    bool has_hello, ended;
    ServerHello hello;
    uint64_t acked;
    uint32_t refusals;
    uint64_t delay_ms;
    Changes changes;
    uint32_t change_messages, change_total;
    uint64_t ping; /* the last one; 0: none received */
    GrpcStatus status;
} Node;

struct Fixture {
    World world;
    Scratch *scratch;
    Arena arena;
    Store *store;
    SessionService *service;
    Dispatch *dispatch;
    GrpcServer *server;
    Address address;
    bool is_approved;
    const char *name; /* of the node that connects next */
    StoreReply reply;
    bool answered;
};

/* --- The store ------------------------------------------------------------------------------- */

static void op_done(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    StoreOpReply *op = ARENA_NEW(&f->arena, StoreOpReply);
    *op = reply->ops[0];
    StoreKv *kvs = ARENA_ARRAY(&f->arena, StoreKv, op->kv_count + 1);
    for (uint32_t i = 0; i < op->kv_count; i++) {
        kvs[i] = op->kvs[i];
        kvs[i].key = arena_copy(&f->arena, kvs[i].key);
        kvs[i].value = arena_copy(&f->arena, kvs[i].value);
    }
    op->kvs = kvs;
    f->reply = *reply;
    f->reply.ops = op;
    f->answered = true;
    loop_stop(f->world.loop);
}

static StoreOpReply ask(Fixture *f, StoreOp op)
{
    Error err;
    f->answered = false;
    assert_true(store_op(f->store, &op, op_done, f, &err));
    while (!f->answered) {
        world_run(&f->world);
    }
    return f->reply.ops[0];
}

static int64_t put(Fixture *f, const char *key, const char *value)
{
    ask(f, (StoreOp){ .kind = STORE_PUT, .key = str_from_c(key), .value = str_from_c(value) });
    return f->reply.revision;
}

static void check_value(Fixture *f, const char *key, const char *value)
{
    StoreOpReply reply = ask(f, (StoreOp){ .kind = STORE_RANGE, .key = str_from_c(key) });
    if (value == NULL) {
        assert_int_equal(reply.kv_count, 0);
    } else {
        assert_int_equal(reply.kv_count, 1);
        assert_str(reply.kvs[0].value, value);
    }
}

static StoreKv get(Fixture *f, const char *key)
{
    StoreOpReply reply = ask(f, (StoreOp){ .kind = STORE_RANGE, .key = str_from_c(key) });
    assert_int_equal(reply.kv_count, 1);
    return reply.kvs[0];
}

/* --- The service ----------------------------------------------------------------------------- */

static const Http2Header protocol[] = { { { PROTOCOL_HEADER, 13 }, { "1", 1 } } };

static bool identify(void *context, const Peer *peer, Identity *out, Error *err)
{
    const Fixture *f = context;
    return identity_make(STR("blue"), str_from_c(f->name), out, err);
}

static void describe(void *context, const Peer *peer, Caller *out)
{
    Fixture *f = context;
    Error err;
    out->has_identity = identify(f, peer, &out->identity, &err);
    out->is_member = true;
    out->is_approved = f->is_approved;
}

static int set_up_with(void **state, const NodeLimits *limits)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->name = "web1";
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    arena_init(&f->arena, ARENA_UNLIMITED);
    f->is_approved = true;
    f->store = store_open_memory(f->world.loop, NULL);
    f->service = session_service_new(&(SessionServiceOptions){
        .loop = f->world.loop,
        .store = f->store,
        .prefix = STR("/eden"),
        .server = STR("s1"),
        .store_id = STR("store-1"),
        .limits = *limits,
        .identify = identify,
        .context = f,
    });
    MethodBinding binding = session_service_binding(f->service);
    f->dispatch = dispatch_new(&binding, 1, describe, f);
    GrpcServerOptions options = grpc_server_defaults();
    options.loop = f->world.loop;
    dispatch_serve(f->dispatch, &options);
    f->server = grpc_server_new(&options);
    ListenerOptions listener = listener_defaults();
    const Listener *open;
    Error err;
    assert_true(
        address_parse(str_from_c(scratch_place(f->scratch, "socket")), 0, &f->address, &err));
    assert_true(grpc_server_listen(f->server, &listener, &f->address, &open, &err));
    put(f, "/eden/nodes/web1", "{}");
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, &(NodeLimits){ 0 });
}

/* A used-up budget does not recover during the test. */
static int set_up_limited(void **state)
{
    return set_up_with(state, &(NodeLimits){ .bytes = { .per_second = 1, .burst = 40000 },
                                             .results_bytes = 2000 });
}

/* One that recovers soon. */
static int set_up_throttled(void **state)
{
    return set_up_with(state, &(NodeLimits){ .bytes = { .per_second = 20000, .burst = 40000 } });
}

static int set_up_few_sessions(void **state)
{
    return set_up_with(state, &(NodeLimits){ .sessions = { .per_second = 1, .burst = 3 } });
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    grpc_server_free(f->server);
    world_pass(&f->world, 0);
    dispatch_free(f->dispatch);
    session_service_free(f->service);
    store_close(f->store);
    world_close(&f->world);
    arena_clear(&f->arena);
    free(f);
    return scratch_tear_down(state);
}

/* --- The node -------------------------------------------------------------------------------- */

static void node_message(GrpcCall *call, Str message)
{
    Node *node = grpc_call_data(call);
    ServerMessage value;
    Error err;
    assert_true(
        server_message_decode(&node->arena, arena_copy(&node->arena, message), &value, &err));
    switch (value.kind) {
    case SERVER_HELLO:
        node->has_hello = true;
        node->hello = value.hello;
        break;
    case SERVER_ACK:
        node->acked = value.ack.sequence;
        node->refusals += value.ack.rejected_count;
        node->delay_ms = value.ack.delay_ms > 0 ? value.ack.delay_ms : node->delay_ms;
        break;
    case SERVER_CHANGES:
        node->changes = value.changes;
        node->change_messages++;
        node->change_total += value.changes.change_count;
        break;
    case SERVER_PING: node->ping = value.ping.id; break;
    }
    loop_stop(node->f->world.loop);
}

static void node_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Node *node = grpc_call_data(call);
    node->call = NULL;
    node->ended = true;
    node->status = status;
    loop_stop(node->f->world.loop);
}

static const GrpcHandler node_handler = { .message = node_message, .ended = node_ended };

static void node_open(Fixture *f, Node *node)
{
    *node = (Node){ .f = f };
    arena_init(&node->arena, ARENA_UNLIMITED);
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = f->world.loop;
    options.address = f->address;
    options.metadata = protocol;
    options.metadata_count = 1;
    node->client = grpc_client_new(&options);
    Error err;
    assert_true(grpc_client_start(node->client, method_rows[METHOD_SESSION].path, GRPC_BIDI_STREAM,
                                  &node_handler, node, 0, &node->call, &err));
}

static void node_close(Node *node)
{
    if (node->call != NULL) {
        grpc_call_cancel(node->call);
    }
    grpc_client_free(node->client);
    arena_clear(&node->arena);
}

static void say(Node *node, const NodeMessage *message)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    node_message_encode(message, &out);
    Error err;
    assert_true(grpc_call_send(node->call, buf_str(&out), &err));
}

static void send_hello(Node *node, const char *name, const char *watch, int64_t revision)
{
    NodeMessage message = { .kind = NODE_HELLO,
                            .hello = { .protocol = 1,
                                       .node = str_from_c(name),
                                       .boot_id = STR("boot"),
                                       .version = STR("1"),
                                       .epoch = 5,
                                       .wall_ms = loop_wall_ms(node->f->world.loop) } };
    if (watch != NULL) {
        message.hello.watch_count = 1;
        message.hello.watches[0] =
            (WatchRequest){ str_from_c(watch),
                            { revision > 0 ? STR("store-1") : STR_EMPTY, revision } };
    }
    say(node, &message);
}

static void wait_hello(Node *node)
{
    while (!node->has_hello) {
        assert_false(node->ended);
        world_run(&node->f->world);
    }
}

static void wait_end(Node *node)
{
    while (!node->ended) {
        world_run(&node->f->world);
    }
}

static void open_live(Fixture *f, Node *node)
{
    node_open(f, node);
    send_hello(node, "web1", NULL, 0);
    wait_hello(node);
}

static void send_records(Node *node, const Record *records, uint32_t count)
{
    say(node, &(NodeMessage){ .kind = NODE_RECORDS, .records = records, .record_count = count });
}

static void send_record(Node *node, uint64_t sequence, RecordKind kind, const char *key,
                        const char *body)
{
    send_records(node, &(Record){ sequence, kind, str_from_c(key), str_from_c(body), 0 }, 1);
    while (node->acked < sequence) {
        assert_false(node->ended);
        world_run(&node->f->world);
    }
}

/* --- Tests ----------------------------------------------------------------------------------- */

static void test_records_and_mark_are_one_transaction(void **state)
{
    Fixture *f = *state;
    Node node;
    open_live(f, &node);
    assert_int_equal(node.hello.sequence, 0);
    assert_str(node.hello.server, "s1");
    assert_str(node.hello.store, "store-1");
    send_record(&node, 1, RECORD_FACTS, "", "{\"os\":1}");
    StoreKv facts = get(f, "/eden/facts/web1"), mark = get(f, "/eden/sessions/web1");
    assert_str(facts.value, "{\"os\":1}");
    assert_int_equal(facts.mod_revision, mark.mod_revision);
    send_record(&node, 2, RECORD_STATUS, "configured/running", "{}");
    send_record(&node, 3, RECORD_STATUS, "configured/success", "{}");
    check_value(f, "/eden/status/configured/running/web1", NULL);
    check_value(f, "/eden/status/configured/success/web1", "{}");
    send_record(&node, 4, RECORD_RESULT, "r1/s", "[1]");
    check_value(f, "/eden/runs/r1/steps/s/web1", "[1]");
    assert_int_equal(node.refusals, 0);
    assert_int_equal(session_service_counts(f->service).records, 4);
    node_close(&node);
}

static void test_a_repeated_record_is_not_applied_again(void **state)
{
    Fixture *f = *state;
    Node node;
    open_live(f, &node);
    send_record(&node, 1, RECORD_RESULT, "r1/s", "1");
    node_close(&node);
    int64_t revision = get(f, "/eden/runs/r1/steps/s/web1").mod_revision;
    open_live(f, &node);
    assert_int_equal(node.hello.sequence, 1);
    const Record records[] = { { 1, RECORD_RESULT, STR("r1/s"), STR("1"), 0 },
                               { 2, RECORD_RESULT, STR("r2/s"), STR("2"), 0 } };
    send_records(&node, records, 2);
    while (node.acked < 2) {
        world_run(&f->world);
    }
    assert_int_equal(get(f, "/eden/runs/r1/steps/s/web1").mod_revision, revision);
    check_value(f, "/eden/runs/r2/steps/s/web1", "2");
    node_close(&node);
}

static void test_rejections_are_reported_and_skipped(void **state)
{
    Fixture *f = *state;
    Node node;
    open_live(f, &node);
    send_record(&node, 1, RECORD_FACTS, "", "no json");
    assert_int_equal(node.refusals, 1);
    check_value(f, "/eden/facts/web1", NULL);
    send_record(&node, 2, RECORD_FACTS, "", "1");
    check_value(f, "/eden/facts/web1", "1");
    node_close(&node);
}

/* More than is buffered: the sender waits, and all of it arrives. */
static void test_large_batches_arrive_in_parts(void **state)
{
    Fixture *f = *state;
    enum {
        COUNT = 60
    };
    static char body[200 * 1000];
    memset(body, ' ', sizeof body);
    body[0] = '1';
    Node node;
    open_live(f, &node);
    uint32_t waits = 0;
    for (uint64_t i = 1; i <= COUNT; i++) {
        while (!grpc_call_is_writable(node.call)) {
            waits++;
            world_run(&f->world);
        }
        send_records(&node,
                     &(Record){ i, RECORD_RESULT, STR("r1/s"), str_from(body, sizeof body), 0 }, 1);
    }
    while (node.acked < COUNT) {
        assert_false(node.ended);
        world_run(&f->world);
    }
    assert_true(waits > 0);
    assert_int_equal(get(f, "/eden/runs/r1/steps/s/web1").version, COUNT);
    node_close(&node);
}

static void test_a_newer_session_ends_the_older(void **state)
{
    Fixture *f = *state;
    Node old, new;
    open_live(f, &old);
    open_live(f, &new);
    wait_end(&old);
    assert_int_equal(old.status, GRPC_FAILED_PRECONDITION);
    send_record(&new, 1, RECORD_FACTS, "", "1");
    StoreKv alive = get(f, "/eden/nodes/web1/alive");
    assert_true(alive.lease != 0);
    assert_int_equal(store_status(f->store).leases, 1);
    node_close(&old);
    node_close(&new);
}

static void test_watches_send_everything_then_changes(void **state)
{
    Fixture *f = *state;
    char key[64];
    for (int i = 0; i < 150; i++) {
        snprintf(key, sizeof key, "/eden/orders/web1/%03d", i);
        put(f, key, "{}");
    }
    put(f, "/eden/orders/web10/1", "{}");
    Node node;
    node_open(f, &node);
    send_hello(&node, "web1", "orders", 0);
    uint32_t seen = 0;
    for (;;) {
        while (node.change_messages == seen) {
            world_run(&f->world);
        }
        seen = node.change_messages;
        assert_int_equal(node.changes.reset, seen == 1);
        if (node.changes.complete) {
            break;
        }
        say(&node,
            &(NodeMessage){ .kind = NODE_WATCH_ACK, .watch_ack = { 0, node.changes.revision } });
    }
    assert_int_equal(node.change_total, 150);
    assert_true(seen > 2);
    int64_t revision = node.changes.revision;
    say(&node, &(NodeMessage){ .kind = NODE_WATCH_ACK, .watch_ack = { 0, revision } });
    put(f, "/eden/orders/web10/1", "{\"not\":\"ours\"}");
    int64_t changed = put(f, "/eden/orders/web1/new", "{\"do\":1}");
    while (node.change_messages == seen) {
        world_run(&f->world);
    }
    assert_int_equal(node.changes.change_count, 1);
    assert_true(node.changes.complete && !node.changes.reset);
    assert_str(node.changes.changes[0].key, "/eden/orders/web1/new");
    assert_int_equal(node.changes.changes[0].revision, changed);
    assert_true(node.changes.revision >= changed);
    node_close(&node);
}

static void compacted(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->answered = true;
    loop_stop(f->world.loop);
}

static void test_a_watch_continues_or_starts_over(void **state)
{
    Fixture *f = *state;
    int64_t first = put(f, "/eden/nodes/web1", "1");
    put(f, "/eden/nodes/web1", "2");
    Node node;
    node_open(f, &node);
    send_hello(&node, "web1", "node", first);
    while (node.change_messages == 0) {
        world_run(&f->world);
    }
    assert_false(node.changes.reset);
    assert_str(node.changes.changes[0].value, "2");
    node_close(&node);

    int64_t last = put(f, "/eden/nodes/web1", "3");
    Error err;
    f->answered = false;
    assert_true(store_compact(f->store, last, compacted, f, &err));
    while (!f->answered) {
        world_run(&f->world);
    }
    node_open(f, &node);
    send_hello(&node, "web1", "node", first);
    while (node.change_messages == 0) {
        world_run(&f->world);
    }
    assert_true(node.changes.reset && node.changes.complete);
    assert_str(node.changes.changes[0].value, "3");
    node_close(&node);
}

static void test_forbidden_requests_are_rejected(void **state)
{
    Fixture *f = *state;
    Node node;
    node_open(f, &node);
    send_hello(&node, "web2", NULL, 0);
    wait_end(&node);
    assert_int_equal(node.status, GRPC_PERMISSION_DENIED);
    node_close(&node);
    f->is_approved = false;
    node_open(f, &node);
    wait_end(&node);
    assert_int_equal(node.status, GRPC_PERMISSION_DENIED);
    node_close(&node);
    check_value(f, "/eden/sessions/web1", NULL);
}

/* Requests and records of a newer node that are unknown here are rejected, and nothing else. */
static void test_a_newer_node_keeps_its_session(void **state)
{
    Fixture *f = *state;
    Node node;
    node_open(f, &node);
    send_hello(&node, "web1", "facts", 0);
    wait_hello(&node);
    assert_int_equal(node.hello.rejected_count, 1);
    assert_str(node.hello.rejected[0].reason,
               "this server does not offer the range 'facts' to nodes");
    send_record(&node, 1, (RecordKind)9, "later", "1");
    assert_int_equal(node.refusals, 1);
    assert_int_equal(node.acked, 1);
    send_record(&node, 2, RECORD_FACTS, "", "2");
    check_value(f, "/eden/facts/web1", "2");
    assert_false(node.ended);
    assert_int_equal(store_status(f->store).watches, 0);
    node_close(&node);
}

static void test_fields_of_a_newer_server_are_preserved_in_the_mark(void **state)
{
    Fixture *f = *state;
    put(f, "/eden/sessions/web1",
        "{\"format\":\"eden.session/1\",\"epoch\":\"0000000000000001\",\"sequence\":0,\"lost\":0,"
        "\"zone\":{\"name\":\"north\"}}");
    Node node;
    open_live(f, &node);
    send_record(&node, 1, RECORD_FACTS, "", "1");
    send_record(&node, 2, RECORD_FACTS, "", "2");
    Str mark = get(f, "/eden/sessions/web1").value;
    assert_true(str_find(mark, STR("\"sequence\":2"), 0) != STR_NOT_FOUND);
    assert_true(str_find(mark, STR(",\"zone\":{\"name\":\"north\"}}"), 0) != STR_NOT_FOUND);
    node_close(&node);
}

/* Parts of a record unknown to this server are for those that know them. */
static void test_fields_of_a_newer_node_are_stored_verbatim(void **state)
{
    static const char facts[] = "{\"os\":\"debian\",\"later\":{\"deep\":[1,null]}}";
    static const char status[] = "{\"at_ms\":7,\"later\":true}";
    static const char trust[] =
        "{\"format\":\"eden.trust-report/1\",\"issuer\":\"\",\"serial\":\"0a\",\"not_after_ms\":7,"
        "\"time_ms\":8,\"trusted\":[],\"later\":\"field\"}";
    Fixture *f = *state;
    Node node;
    open_live(f, &node);
    send_record(&node, 1, RECORD_FACTS, "", facts);
    send_record(&node, 2, RECORD_STATUS, "configured/success", status);
    send_record(&node, 3, RECORD_STATUS, "trust", trust);
    assert_int_equal(node.refusals, 0);
    check_value(f, "/eden/facts/web1", facts);
    check_value(f, "/eden/status/configured/success/web1", status);
    check_value(f, "/eden/trust/web1", trust);
    node_close(&node);
}

static void test_fields_of_a_newer_server_reach_the_node(void **state)
{
    static const char record[] = "{\"format\":\"eden.node/1\",\"name\":\"web1\",\"later\":[1,{}]}";
    Fixture *f = *state;
    Node node;
    put(f, "/eden/nodes/web1", record);
    node_open(f, &node);
    send_hello(&node, "web1", "node", 0);
    while (node.change_messages == 0) {
        assert_false(node.ended);
        world_run(&f->world);
    }
    assert_int_equal(node.changes.change_count, 1);
    assert_str(node.changes.changes[0].value, record);
    node_close(&node);
}

static void test_a_removed_node_writes_nothing(void **state)
{
    Fixture *f = *state;
    Node node;
    open_live(f, &node);
    send_record(&node, 1, RECORD_FACTS, "", "1");
    ask(f, (StoreOp){ .kind = STORE_DELETE, .key = STR("/eden/nodes/web1") });
    send_records(&node, &(Record){ 2, RECORD_FACTS, STR_EMPTY, STR("2"), 0 }, 1);
    wait_end(&node);
    assert_int_equal(node.status, GRPC_PERMISSION_DENIED);
    check_value(f, "/eden/facts/web1", "1");
    node_close(&node);
}

static bool matches_all(void *context, const Peer *peer)
{
    return true;
}

static void test_a_dropped_node_leaves_nothing_behind(void **state)
{
    Fixture *f = *state;
    Node node;
    node_open(f, &node);
    send_hello(&node, "web1", "node", 0);
    wait_hello(&node);
    for (uint64_t i = 1; i <= 20; i++) {
        send_records(&node, &(Record){ i, RECORD_RESULT, STR("r1/s"), STR("1"), 0 }, 1);
    }
    while (node.acked < 1) {
        world_run(&f->world);
    }
    grpc_server_drop(f->server, matches_all, NULL);
    wait_end(&node);
    world_pass(&f->world, 0);
    assert_int_equal(session_service_counts(f->service).sessions, 0);
    assert_int_equal(store_status(f->store).watches, 0);
    node_close(&node);
    /* Records accepted earlier are known when the node may reconnect. */
    open_live(f, &node);
    assert_true(node.hello.sequence >= 1);
    node_close(&node);
}

static void test_a_damaged_mark_is_an_error(void **state)
{
    Fixture *f = *state;
    put(f, "/eden/sessions/web1", "{}");
    Node node;
    node_open(f, &node);
    send_hello(&node, "web1", NULL, 0);
    wait_end(&node);
    assert_int_equal(node.status, GRPC_INVALID_ARGUMENT);
    node_close(&node);
}

typedef struct Requester {
    Fixture *f;
    uint32_t answers;
    SessionPing ping;
    ErrorKind kind;
} Requester;

static void pinged(void *context, const SessionPing *ping, const Error *err)
{
    Requester *requester = context;
    requester->answers++;
    requester->kind = err == NULL ? ERROR_NONE : err->kind;
    if (err == NULL) {
        requester->ping = *ping;
    }
    loop_stop(requester->f->world.loop);
}

static void ask_node(Requester *requester, const char *node)
{
    session_service_ping(requester->f->service, str_from_c(node), pinged, requester);
}

static void test_a_ping_is_answered_for_all_callers(void **state)
{
    Fixture *f = *state;
    Requester first = { f }, second = { f }, outsider = { f };
    Node node;
    open_live(f, &node);
    ask_node(&outsider, "web9");
    assert_int_equal(outsider.kind, ERROR_UNAVAILABLE);
    ask_node(&first, "web1");
    ask_node(&second, "web1");
    while (node.ping == 0) {
        world_run(&f->world);
    }
    assert_int_equal(first.answers + second.answers, 0);
    say(&node, &(NodeMessage){ .kind = NODE_PONG, .pong = { node.ping, 99 } });
    while (first.answers == 0 || second.answers == 0) {
        world_run(&f->world);
    }
    assert_int_equal(first.kind, ERROR_NONE);
    assert_int_equal(first.ping.node_ms, 99);
    assert_int_equal(second.ping.node_ms, 99);
    node_close(&node);
}

static void test_pings_of_a_disconnecting_node_fail(void **state)
{
    Fixture *f = *state;
    Requester requester = { f };
    Node node;
    open_live(f, &node);
    ask_node(&requester, "web1");
    node_close(&node);
    while (requester.answers == 0) {
        world_run(&f->world);
    }
    assert_int_equal(requester.kind, ERROR_UNAVAILABLE);
}

/* --- Budgets --------------------------------------------------------------------------------- */

static Str large(Fixture *f, size_t size)
{
    char *text = arena_alloc(&f->arena, size);
    memset(text, ' ', size);
    memcpy(text, "{}", 2);
    return str_from(text, size);
}

static void test_only_the_excessive_sender_is_throttled(void **state)
{
    Fixture *f = *state;
    Node node, other;
    open_live(f, &node);
    Str body = large(f, 30000);
    for (uint64_t i = 1; i <= 3; i++) {
        send_records(&node, &(Record){ i, RECORD_FACTS, STR_EMPTY, body, 0 }, 1);
    }
    while (node.delay_ms == 0) {
        assert_false(node.ended);
        world_run(&f->world);
    }
    /* The first one fits, the second waits for hours, and the session stays open. */
    assert_int_equal(node.acked, 1);
    assert_true(node.delay_ms > 10000 * 1000);
    assert_int_equal(session_service_counts(f->service).records, 1);
    assert_int_equal(session_service_counts(f->service).live, 1);
    f->name = "web2";
    put(f, "/eden/nodes/web2", "{}");
    node_open(f, &other);
    send_hello(&other, "web2", NULL, 0);
    wait_hello(&other);
    send_record(&other, 1, RECORD_FACTS, "", "{\"os\":2}");
    check_value(f, "/eden/facts/web2", "{\"os\":2}");
    assert_int_equal(other.delay_ms, 0);
    assert_false(node.ended);
    /* Nor does another session help: the budget belongs to the name. */
    Node again;
    f->name = "web1";
    open_live(f, &again);
    send_records(&again, &(Record){ 2, RECORD_FACTS, STR_EMPTY, body, 0 }, 1);
    while (again.delay_ms == 0) {
        assert_false(again.ended);
        world_run(&f->world);
    }
    node_close(&again);
    node_close(&other);
    node_close(&node);
}

static SessionMark mark_of(Fixture *f)
{
    SessionMark mark;
    Error err;
    StoreKv kv = get(f, "/eden/sessions/web1");
    assert_true(session_mark_read(&f->arena, kv.value, &mark, &err));
    return mark;
}

static void test_delayed_records_are_stored_and_the_delay_is_recorded(void **state)
{
    Fixture *f = *state;
    Node node;
    open_live(f, &node);
    Str body = large(f, 30000);
    for (uint64_t i = 1; i <= 2; i++) {
        send_records(&node, &(Record){ i, RECORD_FACTS, STR_EMPTY, body, 0 }, 1);
    }
    while (node.acked < 2) {
        world_run(&f->world);
    }
    assert_true(node.delay_ms > 0);
    SessionMark delayed = mark_of(f);
    assert_string_equal(delayed.limit, SESSION_LIMIT_RATE);
    assert_true(delayed.limited_ms > 0);
    world_pass(&f->world, 200);
    send_record(&node, 3, RECORD_FACTS, "", "{}"); /* in time: it was limited before, not now */
    assert_int_equal(mark_of(f).cursor.sequence, 3);
    assert_int_equal(mark_of(f).limited_ms, delayed.limited_ms);
    node_close(&node);
}

/* Regardless of their outcome: each is a log line, and most are a write to the store. */
static void test_only_the_excessive_reconnecter_is_rejected(void **state)
{
    Fixture *f = *state;
    Node node = { 0 };
    uint32_t taken = 0;
    while (node.status != GRPC_UNAVAILABLE) {
        node_open(f, &node);
        send_hello(&node, taken % 2 == 0 ? "web3" : "web1", NULL, 0);
        while (!node.ended && (taken % 2 == 0 || !node.has_hello)) {
            world_run(&f->world);
        }
        node_close(&node);
        taken++;
        assert_true(taken < 1000);
    }
    assert_true(taken > 3);
    assert_false(node.has_hello);
    f->name = "web2";
    put(f, "/eden/nodes/web2", "{}");
    node_open(f, &node);
    send_hello(&node, "web2", NULL, 0);
    wait_hello(&node);
    node_close(&node);
}

static void test_results_over_the_quota_are_rejected(void **state)
{
    Fixture *f = *state;
    Node node;
    open_live(f, &node);
    const char *body = arena_copy_c(&f->arena, large(f, 700));
    send_record(&node, 1, RECORD_RESULT, "r1/s", body);
    send_record(&node, 2, RECORD_RESULT, "r1/step", body);
    assert_int_equal(node.refusals, 0);
    send_record(&node, 3, RECORD_RESULT, "r2/s", body);
    assert_int_equal(node.refusals, 1);
    check_value(f, "/eden/runs/r2/steps/s/web1", NULL);
    /* Everything else is accepted. */
    send_record(&node, 4, RECORD_FACTS, "", "{\"os\":1}");
    check_value(f, "/eden/facts/web1", "{\"os\":1}");
    StoreKv mark = get(f, "/eden/sessions/web1");
    assert_true(str_find(mark.value, STR("\"limit\":\"results\""), 0) != STR_NOT_FOUND);
    node_close(&node);
}

/* The same result again takes no more space: counting detects that. */
static void test_results_are_counted_before_permanent_rejection(void **state)
{
    Fixture *f = *state;
    Node node;
    open_live(f, &node);
    const char *body = arena_copy_c(&f->arena, large(f, 700));
    send_record(&node, 1, RECORD_RESULT, "r1/s", body);
    send_record(&node, 2, RECORD_RESULT, "r1/s", body);
    send_record(&node, 3, RECORD_RESULT, "r1/s", body);
    assert_int_equal(node.refusals, 1);
    uint64_t sequence = 3;
    while (node.refusals == sequence - 2) {
        sequence++;
        send_record(&node, sequence, RECORD_RESULT, "r1/s", body);
        assert_true(sequence < 50);
    }
    send_record(&node, sequence + 1, RECORD_FACTS, "", "{}");
    node_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_records_and_mark_are_one_transaction, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_repeated_record_is_not_applied_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_rejections_are_reported_and_skipped, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_large_batches_arrive_in_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_newer_session_ends_the_older, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_newer_node_keeps_its_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fields_of_a_newer_server_are_preserved_in_the_mark,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fields_of_a_newer_node_are_stored_verbatim, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_fields_of_a_newer_server_reach_the_node, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_watches_send_everything_then_changes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_watch_continues_or_starts_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forbidden_requests_are_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_removed_node_writes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_dropped_node_leaves_nothing_behind, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_damaged_mark_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_ping_is_answered_for_all_callers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pings_of_a_disconnecting_node_fail, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_the_excessive_sender_is_throttled, set_up_limited,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_delayed_records_are_stored_and_the_delay_is_recorded,
                                        set_up_throttled, tear_down),
        cmocka_unit_test_setup_teardown(test_only_the_excessive_reconnecter_is_rejected,
                                        set_up_few_sessions, tear_down),
        cmocka_unit_test_setup_teardown(test_results_over_the_quota_are_rejected, set_up_limited,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_results_are_counted_before_permanent_rejection,
                                        set_up_limited, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
