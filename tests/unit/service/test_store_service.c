/* The service over a Unix socket, with the memory store behind it. */
#include "net/grpc_client.h"
#include "net/world.h"
#include "ready_state.h"
#include "service/store_message.h"
#include "service/store_service.h"
#include "store/backend.h"

/* The store as seen by a state whose watch is late. */
typedef struct LateStore {
    Store base;
    Store *real;
    StoreWatchSpec spec;
    StoreWatch watch;
    LoopTimer timer;
} LateStore;

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Arena arena;
    Store *store;
    LateStore late;
    ClusterStore cluster_store; /* with a state behind it */
    StoreService *service;
    Dispatch *dispatch;
    GrpcServer *server;
    GrpcClient *client;
    Address address;
    bool is_operator;
    /* Of the last response: */
    GrpcStatus status;
    Str text, response;
    /* Of a watch: */
    GrpcCall *watch;
    StoreBatch batch;
    StoreEvent last;
    uint32_t events;
} Fixture;

static const Http2Header protocol[] = { { { PROTOCOL_HEADER, 13 }, { "1", 1 } } };

static void describe(void *context, const Peer *peer, Caller *out)
{
    Fixture *f = context;
    out->is_local = peer->is_local;
    out->is_operator = f->is_operator;
}

static void connect_client(Fixture *f, const Http2Header *metadata, uint32_t count)
{
    grpc_client_free(f->client);
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = f->world.loop;
    options.address = f->address;
    options.metadata = metadata;
    options.metadata_count = count;
    f->client = grpc_client_new(&options);
}

static bool late_txn(Store *base, const StoreTxn *txn, size_t bytes, StoreDone *done, void *context,
                     Error *err)
{
    return store_txn(((LateStore *)base)->real, txn, done, context, err);
}

static bool late_watch(Store *base, const StoreWatchSpec *spec, StoreWatch **out, Error *err)
{
    LateStore *late = (LateStore *)base;
    late->spec = *spec;
    *out = &late->watch;
    return true;
}

static void late_nothing(StoreWatch *watch)
{
}

static bool late_revision(Store *base, StoreDone *done, void *context, Error *err)
{
    return store_revision(((LateStore *)base)->real, done, context, err);
}

/* Does not know changes made by others. */
static StoreStatus late_status(const Store *base, bool looks)
{
    StoreStatus status = store_status(((const LateStore *)base)->real);
    status.revision = 0;
    return status;
}

static const StoreBackend late_backend = { .txn = late_txn,
                                           .revision = late_revision,
                                           .watch = late_watch,
                                           .watch_ack = late_nothing,
                                           .watch_cancel = late_nothing,
                                           .status = late_status };

/* Requests the state of "/eden/nodes/web1", which is put meanwhile. */
static void late_state(void *context)
{
    LateStore *late = context;
    int64_t revision = store_status(late->real).revision;
    StoreEvent event = { .kv = { .key = STR("/eden/nodes/web1"),
                                 .value = STR("1"),
                                 .create_revision = revision,
                                 .mod_revision = revision,
                                 .version = 1 } };
    StoreBatch batch = { .events = &event, .count = 1, .revision = revision };
    late->spec.done(late->spec.context, &batch);
}

static void late_open(Fixture *f)
{
    LateStore *late = &f->late;
    late->base = (Store){ .backend = &late_backend, .loop = f->world.loop };
    late->real = f->store;
    late->watch.store = &late->base;
    loop_timer_init(&late->timer, f->world.loop, late_state, late);
    f->cluster_store = (ClusterStore){ f->world.loop, &late->base, STR("/eden") };
    f->cluster_store.state = new_state(&f->cluster_store, NULL);
    while (late->spec.done == NULL) {
        world_pass(&f->world, 1);
    }
}

static int set_up_as(void **state, bool is_late)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    arena_init(&f->arena, ARENA_UNLIMITED);
    f->is_operator = true;
    f->store = store_open_memory(f->world.loop, NULL);
    if (is_late) {
        late_open(f);
    }
    f->service = store_service_new(is_late ? &f->late.base : f->store, f->cluster_store.state);
    MethodBinding bindings[STORE_SERVICE_METHODS];
    store_service_bind(f->service, bindings);
    f->dispatch = dispatch_new(bindings, COUNT_OF(bindings), describe, f);
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
    connect_client(f, protocol, 1);
    return 0;
}

static int set_up(void **state)
{
    return set_up_as(state, false);
}

static int set_up_late(void **state)
{
    return set_up_as(state, true);
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    grpc_client_free(f->client);
    grpc_server_free(f->server);
    world_pass(&f->world, 0);
    dispatch_free(f->dispatch);
    store_service_free(f->service);
    if (f->cluster_store.state != NULL) {
        loop_timer_stop(&f->late.timer);
        state_stop(f->cluster_store.state);
    }
    store_close(f->store);
    state_free(f->cluster_store.state);
    world_close(&f->world);
    arena_clear(&f->arena);
    free(f);
    return scratch_tear_down(state);
}

static void answered(void *context, GrpcStatus status, Str text, Str response)
{
    Fixture *f = context;
    f->status = status;
    f->text = arena_copy(&f->arena, text);
    f->response = arena_copy(&f->arena, response);
    loop_stop(f->world.loop);
}

static void call(Fixture *f, Method method, const Buf *request)
{
    Error err;
    assert_true(grpc_client_unary(f->client, method_rows[method].path, buf_str(request), 0,
                                  answered, f, &err));
    world_run(&f->world);
}

static StoreReply txn(Fixture *f, const StoreTxn *request)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    txn_request_encode(request, &out);
    call(f, METHOD_STORE_TXN, &out);
    StoreReply reply = { 0 };
    Error err;
    if (f->status == GRPC_OK) {
        assert_true(txn_reply_decode(&f->arena, f->response, &reply, &err));
    }
    return reply;
}

static StoreReply one(Fixture *f, StoreOp op)
{
    return txn(f, &(StoreTxn){ .success = &op, .success_count = 1 });
}

static StoreReply put(Fixture *f, Str key, Str value)
{
    return one(f, (StoreOp){ .kind = STORE_PUT, .key = key, .value = value });
}

static void test_transactions(void **state)
{
    Fixture *f = *state;
    int64_t revision = put(f, STR("a"), STR("1")).revision;
    assert_int_equal(f->status, GRPC_OK);
    put(f, STR("b"), STR("2"));
    StoreReply reply =
        one(f, (StoreOp){ .kind = STORE_RANGE, .key = STR("a"), .end = STORE_ALL, .limit = 1 });
    assert_int_equal(reply.op_count, 1);
    assert_true(reply.ops[0].more);
    assert_str(reply.ops[0].kvs[0].value, "1");
    assert_int_equal(reply.ops[0].kvs[0].mod_revision, revision);

    StoreCompare compare = { STORE_VALUE, STORE_EQUAL, STR("a"), 0, STR("other") };
    StoreOp success = { .kind = STORE_DELETE, .key = STR("a") };
    StoreOp failure = { .kind = STORE_PUT, .key = STR("a"), .value = STR("3"), .previous = true };
    reply = txn(f, &(StoreTxn){ .compares = &compare,
                                .compare_count = 1,
                                .success = &success,
                                .success_count = 1,
                                .failure = &failure,
                                .failure_count = 1 });
    assert_false(reply.succeeded);
    assert_str(reply.ops[0].kvs[0].value, "1");

    put(f, STR(""), STR("x"));
    assert_int_equal(f->status, GRPC_INVALID_ARGUMENT);
    AUTO_CLEAR(Buf) bytes = buf_make(BUF_UNLIMITED);
    buf_put(&bytes, STR("\xff\xff"));
    call(f, METHOD_STORE_TXN, &bytes);
    assert_int_equal(f->status, GRPC_INVALID_ARGUMENT);
}

/* A client that puts a key and then requests what the server knows sees it. */
static void test_writes_complete_when_the_state_has_them(void **state)
{
    Fixture *f = *state;
    loop_timer_start(&f->late.timer, 50);
    put(f, STR("/eden/nodes/web1"), STR("1"));
    assert_int_equal(f->status, GRPC_OK);
    assert_non_null(state_find(f->cluster_store.state, STR("/eden/nodes/web1")));
    /* Reads do not wait, nor do rejected calls. */
    StoreReply reply = one(f, (StoreOp){ .kind = STORE_RANGE, .key = STR("/eden/nodes/web1") });
    assert_int_equal(reply.ops[0].kv_count, 1);
    put(f, STR(""), STR("x"));
    assert_int_equal(f->status, GRPC_INVALID_ARGUMENT);
}

static void test_leases(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    lease_grant_encode(&(StoreLease){ .ttl_s = 60, .id = 7 }, &out);
    call(f, METHOD_STORE_LEASE_GRANT, &out);
    assert_int_equal(f->status, GRPC_OK);
    one(f, (StoreOp){ .kind = STORE_PUT, .key = STR("k"), .value = STR("v"), .lease = 7 });
    assert_int_equal(f->status, GRPC_OK);

    buf_reset(&out);
    lease_request_encode(7, &out);
    call(f, METHOD_STORE_LEASE_KEEP_ALIVE, &out);
    StoreLease lease;
    Error err;
    assert_true(lease_reply_decode(&f->arena, f->response, &lease, &err));
    assert_int_equal(lease.remaining_s, 60);

    AUTO_CLEAR(Buf) nothing = buf_make(BUF_UNLIMITED);
    call(f, METHOD_STORE_LEASE_LIST, &nothing);
    const int64_t *ids;
    uint32_t count;
    assert_true(lease_list_reply_decode(&f->arena, f->response, &ids, &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(ids[0], 7);

    call(f, METHOD_STORE_LEASE_REVOKE, &out);
    assert_int_equal(f->status, GRPC_OK);
    StoreReply reply = one(f, (StoreOp){ .kind = STORE_RANGE, .key = STR("k") });
    assert_int_equal(reply.ops[0].kv_count, 0);
    call(f, METHOD_STORE_LEASE_KEEP_ALIVE, &out);
    assert_int_equal(f->status, GRPC_NOT_FOUND);
}

static void watch_message(GrpcCall *watch, Str message)
{
    Fixture *f = grpc_call_data(watch);
    Error err;
    assert_true(watch_reply_decode(&f->arena, arena_copy(&f->arena, message), &f->batch, &err));
    if (f->batch.count > 0) {
        f->last = f->batch.events[f->batch.count - 1];
    }
    f->events += f->batch.count;
    loop_stop(f->world.loop);
}

static void watch_ended(GrpcCall *watch, GrpcStatus status, Str text)
{
    Fixture *f = grpc_call_data(watch);
    f->watch = NULL;
    f->status = status;
    loop_stop(f->world.loop);
}

static const GrpcHandler watch_handler = { .message = watch_message, .ended = watch_ended };

static void start_watch(Fixture *f, int64_t from)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    watch_request_encode(
        &(StoreWatchSpec){ .key = STR("a"), .end = STORE_ALL, .from = from, .previous = true },
        &out);
    Error err;
    assert_true(grpc_client_start(f->client, method_rows[METHOD_STORE_WATCH].path,
                                  GRPC_SERVER_STREAM, &watch_handler, f, 0, &f->watch, &err));
    assert_true(grpc_call_send(f->watch, buf_str(&out), &err));
    grpc_call_end_sending(f->watch);
}

static void wait_events(Fixture *f, uint32_t count)
{
    while (f->events < count) {
        assert_non_null(f->watch);
        world_run(&f->world);
    }
}

static void test_watch_delivers_all_changes(void **state)
{
    Fixture *f = *state;
    int64_t first = put(f, STR("a"), STR("1")).revision;
    put(f, STR("a"), STR("2"));
    start_watch(f, first);
    wait_events(f, 2);
    assert_true(f->last.has_previous);
    assert_str(f->last.previous.value, "1");
    put(f, STR("b"), STR("3"));
    wait_events(f, 3);
    one(f, (StoreOp){ .kind = STORE_DELETE, .key = STR("b") });
    wait_events(f, 4);
    assert_true(f->last.deleted);
    grpc_call_cancel(f->watch);
    put(f, STR("b"), STR("4"));
    assert_int_equal(store_status(f->store).watches, 0);
}

/* A client that does not read blocks no one else, and misses nothing. */
static void test_slow_watch_continues_where_it_stopped(void **state)
{
    Fixture *f = *state;
    static char large[100 * 1000];
    memset(large, 'x', sizeof large);
    int64_t first = put(f, STR("a"), STR("1")).revision;
    start_watch(f, first);
    wait_events(f, 1);
    grpc_call_pause(f->watch);
    for (int i = 0; i < 60; i++) {
        put(f, STR("a"), str_from(large, sizeof large));
        assert_int_equal(f->status, GRPC_OK);
    }
    assert_int_equal(f->events, 1);
    grpc_call_resume(f->watch);
    wait_events(f, 61);
    assert_int_equal(f->events, 61);
    grpc_call_cancel(f->watch);
}

/* A full call queue is followed by the message that nothing is left, which has to wait; then
 * something changes. */
static void test_changes_follow_a_pending_message(void **state)
{
    Fixture *f = *state;
    static char large[100 * 1000];
    memset(large, 'x', sizeof large);
    int64_t first = put(f, STR("a"), STR("1")).revision;
    for (int i = 0; i < 5; i++) {
        put(f, STR("a"), str_from(large, sizeof large));
    }
    start_watch(f, first);
    grpc_call_pause(f->watch);
    put(f, STR("x"), STR("y")); /* not in vain: the watch exists when it is answered */
    put(f, STR("a"), STR("2"));
    put(f, STR("a"), STR("3"));
    assert_int_equal(f->events, 0);
    grpc_call_resume(f->watch);
    wait_events(f, 9);
    assert_str(f->last.kv.value, "3");
    grpc_call_cancel(f->watch);
}

static void test_compacted_watch_must_resync(void **state)
{
    Fixture *f = *state;
    int64_t first = put(f, STR("a"), STR("1")).revision, last = 0;
    for (int i = 0; i < 5; i++) {
        last = put(f, STR("a"), STR("2")).revision;
    }
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    compact_request_encode(last, &out);
    call(f, METHOD_STORE_COMPACT, &out);
    assert_int_equal(f->status, GRPC_OK);
    start_watch(f, first);
    while (f->watch != NULL) {
        world_run(&f->world);
    }
    assert_true(f->batch.resync);
    assert_int_equal(f->batch.compacted, last);
    assert_int_equal(f->status, GRPC_OK);
}

static void test_status(void **state)
{
    Fixture *f = *state;
    int64_t revision = put(f, STR("a"), STR("1")).revision;
    AUTO_CLEAR(Buf) nothing = buf_make(BUF_UNLIMITED);
    call(f, METHOD_STORE_STATUS, &nothing);
    StoreStatus status;
    Error err;
    assert_true(status_reply_decode(&f->arena, f->response, &status, &err));
    assert_int_equal(status.revision, revision);
    assert_true(status.writable);
}

static void put_by_another(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->batch.revision = reply->revision;
    loop_stop(f->world.loop);
}

static void test_status_returns_the_revision(void **state)
{
    Fixture *f = *state;
    Error err;
    assert_true(store_put(f->store, STR("a"), STR("1"), 0, put_by_another, f, &err));
    world_run(&f->world);
    AUTO_CLEAR(Buf) nothing = buf_make(BUF_UNLIMITED);
    call(f, METHOD_STORE_STATUS, &nothing);
    StoreStatus status;
    assert_true(status_reply_decode(&f->arena, f->response, &status, &err));
    assert_int_equal(status.revision, f->batch.revision);
}

static void test_unauthorized_callers_are_rejected(void **state)
{
    Fixture *f = *state;
    f->is_operator = false;
    for (unsigned method = 0; method < METHOD_COUNT; method++) {
        AUTO_CLEAR(Buf) nothing = buf_make(BUF_UNLIMITED);
        call(f, (Method)method, &nothing);
        assert_int_equal(f->status, GRPC_PERMISSION_DENIED);
    }
    f->is_operator = true;
    AUTO_CLEAR(Buf) nothing = buf_make(BUF_UNLIMITED);
    call(f, METHOD_SESSION, &nothing); /* there is no binding for it here */
    assert_int_equal(f->status, GRPC_UNIMPLEMENTED);
}

static void test_other_protocols_are_rejected(void **state)
{
    Fixture *f = *state;
    connect_client(f, NULL, 0);
    put(f, STR("a"), STR("1"));
    assert_int_equal(f->status, GRPC_FAILED_PRECONDITION);
    const Http2Header old[] = { { STR(PROTOCOL_HEADER), STR("0") } };
    connect_client(f, old, 1);
    put(f, STR("a"), STR("1"));
    assert_int_equal(f->status, GRPC_FAILED_PRECONDITION);
    assert_str(f->text, "the caller uses protocol 0, but this version supports 1");
    assert_int_equal(store_status(f->store).writes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_transactions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_writes_complete_when_the_state_has_them, set_up_late,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_leases, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_watch_delivers_all_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slow_watch_continues_where_it_stopped, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_changes_follow_a_pending_message, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_compacted_watch_must_resync, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_status_returns_the_revision, set_up_late, tear_down),
        cmocka_unit_test_setup_teardown(test_status, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unauthorized_callers_are_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_protocols_are_rejected, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
