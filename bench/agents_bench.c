/* Many agents on one server, each with a separate identity, TLS connection and live session, in the
 * code of the agent itself. Started by bench/cluster:
 *
 *     agents_bench PORT COUNT STATE CERT KEY CA
 *
 * STATE is the server's directory, whose CA issues the nodes' certificates; CERT is the identity of
 * the server, with which they are written to the store. Each agent sends 2 KB of facts once and
 * watches its record, its orders and the current version. Prints a line for each step, and waits
 * for a line of input before the next one:
 *
 *     made              the nodes are in the store
 *     live SECONDS      all have a session, have sent their facts and received what they watch
 *     told MS MEDIAN    time until the last agent received a new version, and the median; repeated
 *                       for each line of input
 *
 * Orders are executed as described in simulated_run.h. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/session_link.h"
#include "cluster/cluster_keys.h"
#include "membership/node_record.h"
#include "net/watch.h"
#include "pki/ca.h"
#include "rpc/access.h"
#include "server/create_cluster.h"
#include "service/store_message.h"
#include "simulated_run.h"
#include "sys/clock.h"
#include "sys/file.h"

enum {
    AT_ONCE = 64, /* maximum number of sessions being established */
    PUTS = 32,    /* nodes per transaction */
    FACTS = 2000, /* size in bytes */
    WATCHES = 3,
    WATCH_ORDERS = 1,
    PEM_MAX = 1 << 20,
};

static const char *const watches[WATCHES] = { "node", "orders", "version" };

typedef struct Bench Bench;

typedef struct Agent {
    Bench *bench;
    char name[32];
    char enrollment[ENROLLMENT_TEXT + 1];
    TlsContext *tls;
    Outbox *outbox;
    SessionLink *link;
    SimulatedNode simulated;
    bool is_live, facts_stored;
    uint32_t known; /* a bit for each watch that is up to date */
    int64_t versions;
} Agent;

struct Bench {
    Loop *loop;
    Arena arena;
    Credential ca;
    P256Private *key;
    uint16_t port;
    TlsContext *server_tls;
    GrpcClient *server; /* connection over which keys are written */
    Agent *agents;
    uint32_t count, made, started, live;
    Watch *input;
    int64_t version, since_us;
    uint32_t notified;
    uint32_t *delays; /* in microseconds */
};

_Noreturn static void die(const char *what, const char *text)
{
    fprintf(stderr, "agents_bench: %s: %s\n", what, text);
    exit(1);
}

static void say(const char *line)
{
    puts(line);
    fflush(stdout);
}

/* --- Nodes ----------------------------------------------------------------------------------- */

static void put_nodes(Bench *bench);

static void nodes_put(void *context, GrpcStatus status, Str text, Str response)
{
    Bench *bench = context;
    if (status != GRPC_OK) {
        die("put", arena_copy_c(&bench->arena, text));
    }
    put_nodes(bench);
}

static void send_txn(Bench *bench, const StoreOp *ops, uint32_t count, GrpcUnaryDone *done)
{
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    Error err;
    txn_request_encode(&(StoreTxn){ .success = ops, .success_count = count }, &request);
    if (!grpc_client_unary(bench->server, method_rows[METHOD_STORE_TXN].path, buf_str(&request),
                           60000, done, bench, &err)) {
        die("put", err.text);
    }
}

static void put_nodes(Bench *bench)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StoreOp ops[PUTS];
    uint32_t count = 0;
    Error err;
    while (count < PUTS && bench->made < bench->count) {
        Agent *agent = &bench->agents[bench->made];
        NodeRecord record = { .labels = value_missing() };
        Buf text = buf_make_in(&arena, BUF_UNLIMITED);
        agent->bench = bench;
        snprintf(agent->name, sizeof agent->name, "agent%u", bench->made++);
        if (!enrollment_make(agent->enrollment, &err)) {
            die("enrolment", err.text);
        }
        snprintf(record.name, sizeof record.name, "%s", agent->name);
        memcpy(record.enrollment, agent->enrollment, sizeof record.enrollment);
        node_record_print(&record, &text);
        ops[count++] =
            (StoreOp){ .kind = STORE_PUT,
                       .key = cluster_key_node(&arena, KEYS_PREFIX, str_from_c(agent->name)),
                       .value = buf_str(&text) };
    }
    if (count > 0) {
        send_txn(bench, ops, count, nodes_put);
    } else {
        say("made");
    }
}

/* --- Sessions -------------------------------------------------------------------------------- */

static void start_next(Bench *bench);

/* Stores nothing on disk. */
static void keep(void *context, const Record *record)
{
}

static void forget(void *context, uint64_t sequence)
{
}

static void restart(void *context, uint64_t epoch, const Record *const *records, uint32_t count)
{
    die("session", "the server knows more than was told");
}

static void see_whether_live(Agent *agent)
{
    Bench *bench = agent->bench;
    if (agent->is_live || agent->known != (1U << WATCHES) - 1 || !agent->facts_stored) {
        return;
    }
    agent->is_live = true;
    if (++bench->live == bench->count) {
        printf("live %.2f\n", (double)(clock_monotonic_us() - bench->since_us) / 1e6);
        fflush(stdout);
    }
    start_next(bench);
}

/* The server has stored the facts. */
static void trim(void *context, uint64_t sequence)
{
    Agent *agent = context;
    agent->facts_stored = true;
    see_whether_live(agent);
}

static WatchPosition position(void *context, uint32_t watch)
{
    return (WatchPosition){ 0 };
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void version_arrived(Agent *agent)
{
    Bench *bench = agent->bench;
    if (!agent->is_live || agent->versions == bench->version) {
        return;
    }
    agent->versions = bench->version;
    bench->delays[bench->notified++] = (uint32_t)(clock_monotonic_us() - bench->since_us);
    if (bench->notified == bench->count) {
        qsort(bench->delays, bench->count, sizeof(uint32_t), by_size);
        uint32_t last = bench->delays[bench->count - 1], half = bench->count / 2;
        printf("told %.1f %.1f\n", last / 1000.0, bench->delays[half] / 1000.0);
        fflush(stdout);
    }
}

static void changes_arrived(void *context, const Changes *changes, Str store, uint64_t ticket)
{
    Agent *agent = context;
    if (changes->complete) {
        agent->known |= 1U << changes->watch;
    }
    if (changes->watch == WATCHES - 1 && changes->change_count > 0) {
        version_arrived(agent);
    }
    for (uint32_t i = 0; changes->watch == WATCH_ORDERS && i < changes->change_count; i++) {
        simulated_order(&agent->simulated, &changes->changes[i]);
    }
    session_link_processed(agent->link, changes->watch, ticket);
    see_whether_live(agent);
}

static void moved(void *context, SessionNodeState state)
{
    const Agent *agent = context;
    if (state == SESSION_WAITING) {
        die(agent->name, session_link_status(agent->link).why->text);
    }
}

static const SessionLinkOps link_ops = { position, changes_arrived, moved, NULL };

static void make_tls(Bench *bench, Agent *agent)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(KeyText) text = { 0 };
    NodeCertificateSpec grant = { .enrollment = str_from_c(agent->enrollment),
                                  .now_ms = clock_now_ms() };
    Certificate certificate;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!p256_public_of(bench->key, &grant.key, &err) ||
        !p256_private_text(bench->key, &text, &err) ||
        !identity_make(STR("blue"), str_from_c(agent->name), &grant.identity, &err) ||
        !ca_issue_node(&arena, &bench->ca, &grant, &certificate, &err) ||
        !tls_context_new(bench->loop, &(TlsOptions){ .role = TLS_CLIENT, .protocol = "h2" },
                         &(TlsMaterial){ .certificate = certificate_pem(&arena, &certificate),
                                         .key = str_from(text.text, text.len),
                                         .ca = certificate_pem(&arena, &bench->ca.chain.items[0]) },
                         &agent->tls, &err)) {
        die("certificate", err.text);
    }
}

static void add_facts(Agent *agent)
{
    char facts[FACTS + 1];
    uint64_t sequence;
    Error err;
    int len = snprintf(facts, sizeof facts, "{\"format\":\"eden.facts/1\",\"facts\":{\"text\":\"");
    memset(facts + len, 'x', sizeof facts - (size_t)len);
    memcpy(facts + FACTS - 3, "\"}}", 3);
    if (!outbox_add(agent->outbox, RECORD_FACTS, STR(""), str_from(facts, FACTS), &sequence,
                    &err)) {
        die("facts", err.text);
    }
    outbox_stored(agent->outbox, sequence);
}

static void start_next(Bench *bench)
{
    if (bench->started == bench->count) {
        return;
    }
    Agent *agent = &bench->agents[bench->started++];
    LinkServer server = { .address = {
                              .kind = ADDRESS_IP, .host = "127.0.0.1", .port = bench->port } };
    make_tls(bench, agent);
    agent->outbox = outbox_new(&(OutboxOptions){
        .epoch = loop_random(bench->loop) | 1, .storage = { keep, forget, trim, restart, agent } });
    agent->link = session_link_new(&(SessionLinkOptions){ .loop = bench->loop,
                                                          .ops = &link_ops,
                                                          .context = agent,
                                                          .outbox = agent->outbox,
                                                          .tls = agent->tls,
                                                          .node = str_from_c(agent->name),
                                                          .boot_id = STR("boot"),
                                                          .version = STR("bench"),
                                                          .watches = watches,
                                                          .watch_count = WATCHES,
                                                          .servers = &server,
                                                          .server_count = 1 });
    agent->simulated = (SimulatedNode){
        .loop = bench->loop,
        .outbox = agent->outbox,
        .link = agent->link,
        .name = str_from_c(agent->name),
    };
    add_facts(agent);
    session_link_start(agent->link);
}

/* --- Steps ----------------------------------------------------------------------------------- */

static void version_put(void *context, GrpcStatus status, Str text, Str response)
{
    Bench *bench = context;
    if (status != GRPC_OK) {
        die("put", arena_copy_c(&bench->arena, text));
    }
}

static void put_version(Bench *bench)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    bench->version++;
    bench->notified = 0;
    bench->since_us = clock_monotonic_us();
    StoreOp op = { .kind = STORE_PUT,
                   .key = key_make(&arena, KEYS_PREFIX, KEY_CURRENT_VERSION, NULL, 0),
                   .value = arena_format(&arena, "\"%lld\"", (long long)bench->version) };
    send_txn(bench, &op, 1, version_put);
}

static void input_arrived(void *context, bool can_read, bool can_write)
{
    Bench *bench = context;
    char line[100];
    if (read(STDIN_FILENO, line, sizeof line) <= 0) {
        loop_stop(bench->loop);
    } else if (bench->started == 0) {
        bench->since_us = clock_monotonic_us();
        for (int i = 0; i < AT_ONCE; i++) {
            start_next(bench);
        }
    } else {
        put_version(bench);
    }
}

static void closed(void *context, const Error *why)
{
    die("connection", why->text);
}

static void connect_server(Bench *bench, char **files)
{
    static const Http2Header metadata[] = { { { PROTOCOL_HEADER, sizeof PROTOCOL_HEADER - 1 },
                                              { "1", 1 } } };
    TlsMaterial material = { 0 };
    Error err;
    if (!file_read(&bench->arena, files[0], PEM_MAX, &material.certificate, &err) ||
        !file_read(&bench->arena, files[1], PEM_MAX, &material.key, &err) ||
        !file_read(&bench->arena, files[2], PEM_MAX, &material.ca, &err) ||
        !tls_context_new(bench->loop, &(TlsOptions){ .role = TLS_CLIENT, .protocol = "h2" },
                         &material, &bench->server_tls, &err)) {
        die("certificates", err.text);
    }
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = bench->loop;
    options.address = (Address){ .kind = ADDRESS_IP, .host = "127.0.0.1", .port = bench->port };
    options.tls = bench->server_tls;
    options.metadata = metadata;
    options.metadata_count = COUNT_OF(metadata);
    options.closed = closed;
    bench->server = grpc_client_new(&options);
}

static void load_ca(Bench *bench, const char *path)
{
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    Error err;
    if (!directory_open(path, &own, &err) ||
        !credential_load(&own, SERVER_CA, &bench->arena, &bench->ca, &err) ||
        !p256_private_make(&bench->key, &err) ||
        !watch_new(bench->loop, STDIN_FILENO, input_arrived, bench, &bench->input, &err)) {
        die("start", err.text);
    }
    watch_set(bench->input, true, false);
}

static void close_agents(Bench *bench)
{
    for (uint32_t i = 0; i < bench->started; i++) {
        session_link_free(bench->agents[i].link);
        outbox_free(bench->agents[i].outbox);
        tls_context_free(bench->agents[i].tls);
    }
    free(bench->agents);
    free(bench->delays);
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fputs("see bench/cluster\n", stderr);
        return 64;
    }
    Bench bench = { .loop = loop_new() };
    arena_init(&bench.arena, ARENA_UNLIMITED);
    bench.port = (uint16_t)strtoul(argv[1], NULL, 10);
    bench.count = (uint32_t)strtoul(argv[2], NULL, 10);
    bench.agents = calloc(bench.count, sizeof(Agent));
    bench.delays = calloc(bench.count, sizeof(uint32_t));
    load_ca(&bench, argv[3]);
    connect_server(&bench, argv + 4);
    put_nodes(&bench);
    loop_run(bench.loop);
    close_agents(&bench);
    grpc_client_free(bench.server);
    tls_context_free(bench.server_tls);
    watch_free(bench.input);
    p256_private_free(bench.key);
    credential_clear(&bench.ca);
    loop_free(bench.loop);
    arena_clear(&bench.arena);
    return 0;
}
