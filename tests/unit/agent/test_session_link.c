/* A node and its servers on one loop: spool, link, gRPC over Unix sockets, service, memory store.
 * Connections are cut and both sides restarted; every record arrives once. */
#include "agent/session_link.h"

#include "agent/spool.h"
#include "base/log.h"
#include "net/certificates.h"
#include "net/world.h"
#include "service/session_service.h"

enum {
    SERVERS = 2,
    RECORDS = 300,
};

typedef struct Fixture Fixture;

typedef struct Server {
    SessionService *service;
    const GrpcHandler *blocking_run; /* the service's own */
    GrpcHandler handler;
    char protocol[16]; /* from the header of the last call */
    Dispatch *dispatch;
    GrpcServer *grpc;
    LinkServer place;
} Server;

struct Fixture {
    World world;
    Scratch *scratch;
    Arena arena;
    Directory directory;
    Store *store;
    Server servers[SERVERS];
    uint32_t server_count; /* known to the node */
    TlsContext *tls;       /* of the node; NULL: over Unix sockets */
    Spool *spool;
    SessionLink *link;
    uint64_t random_state;
    NodeLimits limits; /* of servers started from now on */
    uint32_t ends;     /* of connections and of attempts */
    uint32_t refused;
    /* The node's view of the watch "node". */
    char store_id[32];
    int64_t revision;
    char value[64];
    uint32_t resets;
    /* The last record in the store. */
    StoreWatch *watch;
    uint64_t last;
};

static const char *const watches[] = { "node" };

static bool identify(void *context, const Peer *peer, Identity *out, Error *err)
{
    return identity_make(STR("blue"), STR("web1"), out, err);
}

static void describe(void *context, const Peer *peer, Caller *out)
{
    Error err;
    out->has_identity = identify(NULL, peer, &out->identity, &err);
    out->is_member = out->is_approved = true;
}

/* --- Servers --------------------------------------------------------------------------------- */

static void call_started(GrpcCall *call)
{
    const MethodBinding *binding = grpc_call_method(call)->data;
    Server *server = (Server *)((char *)(uintptr_t)binding->handler - offsetof(Server, handler));
    snprintf(server->protocol, sizeof server->protocol, "%" STR_FMT,
             STR_ARG(grpc_call_header(call, PROTOCOL_HEADER)));
    if (server->blocking_run->started != NULL) {
        server->blocking_run->started(call);
    }
}

typedef bool Identify(void *context, const Peer *peer, Identity *out, Error *err);

static void server_start_as(Fixture *f, Server *server, Identify *who, DispatchDescribe *what,
                            TlsContext *tls)
{
    server->service = session_service_new(&(SessionServiceOptions){
        .loop = f->world.loop,
        .store = f->store,
        .prefix = STR("/eden"),
        .server = STR("s"),
        .store_id = STR("store-1"),
        .limits = f->limits,
        .identify = who,
    });
    MethodBinding binding = session_service_binding(server->service);
    server->blocking_run = binding.handler;
    server->handler = *binding.handler;
    server->handler.started = call_started;
    binding.handler = &server->handler;
    server->dispatch = dispatch_new(&binding, 1, what, f);
    GrpcServerOptions options = grpc_server_defaults();
    options.loop = f->world.loop;
    dispatch_serve(server->dispatch, &options);
    server->grpc = grpc_server_new(&options);
    ListenerOptions listener = listener_defaults();
    listener.tls = tls;
    const Listener *open;
    Error err;
    assert_true(grpc_server_listen(server->grpc, &listener, &server->place.address, &open, &err));
    if (tls != NULL) {
        server->place.address.port = listener_port(open);
    }
}

static void server_start(Fixture *f, Server *server)
{
    server_start_as(f, server, identify, describe, NULL);
}

static void server_stop(Fixture *f, Server *server)
{
    if (server->grpc == NULL) {
        return;
    }
    grpc_server_free(server->grpc);
    world_pass(&f->world, 0);
    dispatch_free(server->dispatch);
    session_service_free(server->service);
    server->grpc = NULL;
}

static bool matches_all(void *context, const Peer *peer)
{
    return true;
}

/* --- The node -------------------------------------------------------------------------------- */

static WatchPosition position(void *context, uint32_t watch)
{
    Fixture *f = context;
    return (WatchPosition){ str_from_c(f->store_id), f->revision };
}

static void changes_came(void *context, const Changes *changes, Str store, uint64_t ticket)
{
    Fixture *f = context;
    assert_true(changes->complete); /* of one key */
    f->resets += changes->reset;
    f->revision = changes->revision;
    snprintf(f->store_id, sizeof f->store_id, "%" STR_FMT, STR_ARG(store));
    for (uint32_t i = 0; i < changes->change_count; i++) {
        snprintf(f->value, sizeof f->value, "%" STR_FMT, STR_ARG(changes->changes[i].value));
    }
    session_link_processed(f->link, changes->watch, ticket);
    loop_stop(f->world.loop);
}

static void moved(void *context, SessionNodeState state)
{
    Fixture *f = context;
    f->ends += state == SESSION_WAITING;
    loop_stop(f->world.loop);
}

static void refused(void *context, const RejectedRecord *refusal)
{
    Fixture *f = context;
    f->refused++;
}

static const SessionLinkOps link_ops = { position, changes_came, moved, refused };

static void stored(void *context)
{
    Fixture *f = context;
    session_link_wake(f->link);
}

static void node_start(Fixture *f)
{
    Error err;
    assert_true(spool_open(
        &(SpoolOptions){
            .loop = f->world.loop, .directory = &f->directory, .stored = stored, .context = f },
        &f->spool, &err));
    LinkServer places[SERVERS];
    for (int i = 0; i < SERVERS; i++) {
        places[i] = f->servers[i].place;
    }
    f->link = session_link_new(&(SessionLinkOptions){
        .loop = f->world.loop,
        .ops = &link_ops,
        .context = f,
        .outbox = spool_outbox(f->spool),
        .tls = f->tls,
        .node = STR("web1"),
        .boot_id = STR("boot"),
        .version = STR("1"),
        .watches = watches,
        .watch_count = 1,
        .servers = places,
        .server_count = f->server_count,
    });
    session_link_start(f->link);
}

static void node_stop(Fixture *f)
{
    session_link_free(f->link);
    spool_close(f->spool);
    f->link = NULL;
    f->spool = NULL;
}

static void add(Fixture *f, uint64_t number)
{
    char run[24];
    snprintf(run, sizeof run, "r%06llu/s", (unsigned long long)number);
    uint64_t sequence;
    Error err;
    assert_true(outbox_add(spool_outbox(f->spool), RECORD_RESULT, str_from_c(run), STR("{}"),
                           &sequence, &err));
}

/* --- What arrives ---------------------------------------------------------------------------- */

/* Each record is the result of a separate run: all are written once, and in order. */
static void reported(void *context, const StoreBatch *batch)
{
    Fixture *f = context;
    assert_false(batch->resync);
    for (uint32_t i = 0; i < batch->count; i++) {
        const StoreKv *kv = &batch->events[i].kv;
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        f->last++;
        Str key =
            arena_format(&arena, "/eden/runs/r%06llu/steps/s/web1", (unsigned long long)f->last);
        assert_true(str_eq(kv->key, key));
        assert_int_equal(kv->version, 1);
    }
    if (batch->count > 0) {
        store_watch_ack(f->watch);
        loop_stop(f->world.loop);
    }
}

static void put_ignored(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
}

static void put_node(Fixture *f, const char *value)
{
    Error err;
    assert_true(store_put(f->store, STR("/eden/nodes/web1"), str_from_c(value), 0, put_ignored,
                          NULL, &err));
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    f->random_state = 88172645463325252u;
    f->server_count = SERVERS;
    world_open(&f->world);
    arena_init(&f->arena, ARENA_UNLIMITED);
    Error err;
    assert_true(directory_make(scratch_place(f->scratch, "spool"), &f->directory, &err));
    f->store = store_open_memory(f->world.loop, NULL);
    StoreWatchSpec spec = {
        .key = STR("/eden/runs/"), .end = STR("/eden/runs0"), .done = reported, .context = f
    };
    assert_true(store_watch(f->store, &spec, &f->watch, &err));
    put_node(f, "0");
    for (int i = 0; i < SERVERS; i++) {
        Str path = arena_format(&f->arena, "%s/socket%d", f->scratch->path, i);
        assert_true(address_parse(path, 0, &f->servers[i].place.address, &err));
        server_start(f, &f->servers[i]);
    }
    node_start(f);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    node_stop(f);
    for (int i = 0; i < SERVERS; i++) {
        server_stop(f, &f->servers[i]);
    }
    store_watch_cancel(f->watch);
    world_pass(&f->world, 0);
    store_close(f->store);
    directory_close(&f->directory);
    world_close(&f->world);
    arena_clear(&f->arena);
    free(f);
    return scratch_tear_down(state);
}

static void wait_number(Fixture *f, uint64_t number)
{
    while (f->last < number) {
        world_run(&f->world);
    }
}

static void wait_live(Fixture *f)
{
    while (session_link_status(f->link).state != SESSION_LIVE) {
        world_run(&f->world);
    }
}

static uint64_t pick(Fixture *f, uint64_t below)
{
    f->random_state ^= f->random_state << 13;
    f->random_state ^= f->random_state >> 7;
    f->random_state ^= f->random_state << 17;
    return f->random_state % below;
}

/* --- Tests ----------------------------------------------------------------------------------- */

static uint64_t total_acknowledged(const Fixture *f)
{
    uint64_t taken = 0;
    for (int i = 0; i < SERVERS; i++) {
        taken += session_service_counts(f->servers[i].service).records;
    }
    return taken;
}

static void test_records_arrive_in_order(void **state)
{
    Fixture *f = *state;
    for (uint64_t i = 1; i <= RECORDS; i++) {
        add(f, i);
    }
    wait_number(f, RECORDS);
    while (outbox_counts(spool_outbox(f->spool)).records > 0) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(total_acknowledged(f), RECORDS);
    assert_int_equal(f->refused, 0);
}

static void test_calls_announce_the_oldest_supported_protocol(void **state)
{
    Fixture *f = *state;
    wait_live(f);
    char oldest[16];
    snprintf(oldest, sizeof oldest, "%d", SESSION_PROTOCOL_OLDEST);
    /* Which server is tried first is random. */
    const char *first = f->servers[0].protocol, *second = f->servers[1].protocol;
    assert_string_equal(first[0] != '\0' ? first : second, oldest);
}

static void test_cut_connections_lose_and_duplicate_nothing(void **state)
{
    Fixture *f = *state;
    uint64_t number = 0;
    for (int round = 0; round < 12; round++) {
        wait_live(f);
        uint32_t ends = f->ends;
        for (int i = 0; i < 20; i++) {
            add(f, ++number);
        }
        /* At some point between storing, sending, receiving and acknowledging. */
        world_pass(&f->world, (int64_t)pick(f, 16));
        for (int i = 0; i < SERVERS; i++) {
            grpc_server_drop(f->servers[i].grpc, matches_all, NULL);
        }
        while (f->ends == ends) {
            world_run(&f->world);
        }
        /* Not as late as it would reconnect by itself. */
        session_link_stop(f->link);
        session_link_start(f->link);
    }
    wait_number(f, number);
    while (outbox_counts(spool_outbox(f->spool)).records > 0) {
        world_pass(&f->world, 1);
    }
    /* Some sessions were cut before they were notified of what they had written. */
    assert_true(total_acknowledged(f) <= number);
}

static void test_restarts_lose_and_duplicate_nothing(void **state)
{
    Fixture *f = *state;
    uint64_t number = 0;
    for (uint32_t round = 0; round < 8; round++) {
        for (int i = 0; i < 20; i++) {
            add(f, ++number);
        }
        world_pass(&f->world, (int64_t)pick(f, 30));
        if (pick(f, 2) == 0) {
            node_stop(f);
            node_start(f);
        } else {
            Server *server = &f->servers[pick(f, SERVERS)];
            server_stop(f, server);
            server_start(f, server);
        }
    }
    wait_number(f, number);
    assert_int_equal(f->last, number);
}

static void wait_value(Fixture *f, const char *value)
{
    while (strcmp(f->value, value) != 0) {
        world_run(&f->world);
    }
}

static void test_a_watch_continues_across_restarts(void **state)
{
    Fixture *f = *state;
    put_node(f, "1");
    wait_value(f, "1");
    assert_int_equal(f->resets, 1);
    node_stop(f);
    put_node(f, "2");
    node_start(f);
    wait_value(f, "2");
    server_stop(f, &f->servers[0]);
    put_node(f, "3");
    wait_value(f, "3");
    assert_int_equal(f->resets, 1);
    server_start(f, &f->servers[0]);
}

static void test_the_other_server_is_tried(void **state)
{
    Fixture *f = *state;
    server_stop(f, &f->servers[0]);
    add(f, 1);
    wait_number(f, 1);
    assert_int_equal(session_link_status(f->link).server, 1);
    server_start(f, &f->servers[0]);
    server_stop(f, &f->servers[1]);
    add(f, 2);
    wait_number(f, 2);
    assert_int_equal(session_link_status(f->link).server, 0);
    server_start(f, &f->servers[1]);
}

typedef struct LogCount {
    const char *part;
    int lines;
} LogCount;

static void count_line(void *context, Str line)
{
    LogCount *count = context;
    count->lines += str_find(line, str_from_c(count->part), 0) != STR_NOT_FOUND;
}

static void log_to(LogCount *count)
{
    log_set_sink((LogSink){ .level = LOG_LEVEL_INFO, .context = count, .write = count_line });
}

/* Ends the session and lets `tries` attempts fail. Returns the number of log lines. */
static int lines_of_failures(Fixture *f, uint32_t tries)
{
    LogCount news = { "no session", 0 };
    log_to(&news);
    uint32_t ends = f->ends;
    server_stop(f, &f->servers[0]);
    for (uint32_t i = 1; i <= tries; i++) {
        while (f->ends < ends + i) {
            world_run(&f->world);
        }
        session_link_stop(f->link);
        session_link_start(f->link);
    }
    log_set_sink((LogSink){ .level = LOG_LEVEL_WARNING });
    return news.lines;
}

static void test_a_repeated_failure_is_logged_once(void **state)
{
    Fixture *f = *state;
    node_stop(f);
    f->server_count = 1;
    node_start(f);
    for (int i = 0; i < 2; i++) {
        wait_live(f);
        assert_int_equal(lines_of_failures(f, 5), 2); /* disconnected, cannot connect */
        server_start(f, &f->servers[0]);
    }
}

static void test_throttling_is_logged_once(void **state)
{
    Fixture *f = *state;
    LogCount throttled = { "server is throttling this node", 0 };
    f->limits.records = (RateLimit){ .per_second = 10, .burst = 1 };
    for (int i = 0; i < SERVERS; i++) {
        server_stop(f, &f->servers[i]);
        server_start(f, &f->servers[i]);
    }
    log_to(&throttled);
    for (uint64_t i = 1; i <= 5; i++) {
        add(f, i);
        wait_number(f, i);
    }
    log_set_sink((LogSink){ .level = LOG_LEVEL_WARNING });
    assert_int_equal(throttled.lines, 1); /* not one for each record */
}

/* The spool is older than what the server knows: sequence numbers restart, and pending records
 * arrive. */
static void test_an_old_copy_of_the_spool_continues(void **state)
{
    Fixture *f = *state;
    Str old;
    Error err;
    assert_true(directory_read(&f->directory, &f->arena, "spool", 1 << 20, &old, &err));
    add(f, 1);
    add(f, 2);
    wait_number(f, 2);
    node_stop(f);
    assert_true(directory_write(&f->directory, "spool", old, true, &err));
    node_start(f);
    uint64_t epoch = outbox_epoch(spool_outbox(f->spool));
    add(f, 3);
    wait_number(f, 3);
    assert_true(outbox_epoch(spool_outbox(f->spool)) != epoch);
}

/* --- Over TLS --------------------------------------------------------------------------------- */

static void describe_tls(void *context, const Peer *peer, Caller *out)
{
    out->has_identity = peer->tls.has_identity;
    out->identity = peer->tls.identity;
    out->is_member = out->is_approved = true;
}

static TlsContext *make_tls(Fixture *f, const TestCa *ca, TlsRole role, const char *names)
{
    TestCertificate made = test_certificate_make(
        &f->arena, ca, &(TestCertificateOptions){ .names = names, .serial = role + 2 });
    TlsContext *tls;
    Error err;
    assert_true(tls_context_new(f->world.loop, &(TlsOptions){ .role = role, .protocol = "h2" },
                                &(TlsMaterial){ made.pem, made.key, ca->pem, STR_EMPTY }, &tls,
                                &err));
    return tls;
}

/* The node's identity comes from its certificate. */
static void test_over_tls(void **state)
{
    Fixture *f = *state;
    node_stop(f);
    Server *server = &f->servers[0];
    server_stop(f, server);
    TestCa ca = test_ca_make(&f->arena, "ca");
    TlsContext *ours = make_tls(f, &ca, TLS_SERVER, "DNS:server.test");
    f->tls = make_tls(f, &ca, TLS_CLIENT, "URI:eden://blue/node/web1");
    Error err;
    assert_true(address_parse(STR("127.0.0.1:0"), 0, &server->place.address, &err));
    server_start_as(f, server, NULL, describe_tls, ours);
    strcpy(server->place.name, "server.test");
    f->server_count = 1;
    node_start(f);
    add(f, 1);
    wait_number(f, 1);
    node_stop(f);
    /* A server with another name is sent nothing. */
    strcpy(server->place.name, "other.test");
    node_start(f);
    add(f, 2);
    while (session_link_status(f->link).state != SESSION_WAITING) {
        world_run(&f->world);
    }
    assert_int_equal(f->last, 1);
    server_stop(f, server);
    node_stop(f);
    tls_context_free(ours);
    tls_context_free(f->tls);
    f->tls = NULL;
    test_ca_clear(&ca);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_records_arrive_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_calls_announce_the_oldest_supported_protocol, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_cut_connections_lose_and_duplicate_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_restarts_lose_and_duplicate_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_watch_continues_across_restarts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_other_server_is_tried, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_old_copy_of_the_spool_continues, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_repeated_failure_is_logged_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_throttling_is_logged_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_over_tls, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
