#include "etcd_cluster.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/net/certificates.h"
#include "etcd/etcd_store.h"
#include "net/grpc_client.h"

enum {
    CLIENT_PORT = 2379,
    PEER_PORT = 2380,
    /* Generous: a busy machine must not cause elections that no test asked for. */
    HEARTBEAT_MS = 200,
    ELECTION_MS = 2000,
    WAIT_S = 60,
};

typedef struct Member {
    char address[40];
    pid_t pid; /* 0: not running */
    uint64_t id;
    GrpcClient *client;
    bool is_closed;
} Member;

struct EtcdCluster {
    Arena arena;
    char directory[64];
    TestCertificate certificate;
    Str ca;
    Loop *loop; /* for questions to members */
    TlsContext *tls;
    Member members[ETCD_MEMBERS_MAX];
    uint32_t count;
};

/* --- Processes ------------------------------------------------------------------------------- */

static void write_file(const EtcdCluster *cluster, const char *name, Str text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", cluster->directory, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(file >= 0 && write(file, text.data, text.len) == (ssize_t)text.len);
    close(file);
}

static void run_etcd(const EtcdCluster *cluster, uint32_t at)
{
    const Member *member = &cluster->members[at];
    char name[8], data[16], client[64], peer[64], all[400] = "", log[16];
    snprintf(name, sizeof name, "m%u", at);
    snprintf(data, sizeof data, "data%u", at);
    snprintf(log, sizeof log, "log%u", at);
    snprintf(client, sizeof client, "https://%s:%d", member->address, CLIENT_PORT);
    snprintf(peer, sizeof peer, "https://%s:%d", member->address, PEER_PORT);
    for (uint32_t i = 0; i < cluster->count; i++) {
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%sm%u=https://%s:%d", i == 0 ? "" : ",", i,
                 cluster->members[i].address, PEER_PORT);
    }
    char heartbeat[12], election[12];
    snprintf(heartbeat, sizeof heartbeat, "%d", HEARTBEAT_MS);
    snprintf(election, sizeof election, "%d", ELECTION_MS);
    const char *const args[] = {
        "etcd",
        "--name",
        name,
        "--data-dir",
        data,
        "--listen-client-urls",
        client,
        "--advertise-client-urls",
        client,
        "--listen-peer-urls",
        peer,
        "--initial-advertise-peer-urls",
        peer,
        "--initial-cluster",
        all,
        "--initial-cluster-token",
        cluster->directory,
        "--cert-file",
        "node.crt",
        "--key-file",
        "node.key",
        "--trusted-ca-file",
        "ca.crt",
        "--client-cert-auth",
        "--peer-cert-file",
        "node.crt",
        "--peer-key-file",
        "node.key",
        "--peer-trusted-ca-file",
        "ca.crt",
        "--peer-client-cert-auth",
        "--heartbeat-interval",
        heartbeat,
        "--election-timeout",
        election,
        "--max-request-bytes",
        "4194304",
        "--max-txn-ops",
        "512",
        NULL,
    };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(out, 1);
    dup2(out, 2);
    execv(getenv("EDEN_ETCD"), (char *const *)args);
    _exit(127);
}

static void start_member(EtcdCluster *cluster, uint32_t at)
{
    pid_t parent = getpid();
    Member *member = &cluster->members[at];
    member->pid = fork();
    assert_true(member->pid >= 0);
    if (member->pid == 0) {
        if (chdir(cluster->directory) == 0 && getppid() == parent) {
            run_etcd(cluster, at);
        }
        _exit(127);
    }
}

/* --- Questions to members -------------------------------------------------------------------- */

typedef struct Question {
    EtcdCluster *cluster;
    bool done;
    GrpcStatus status;
    Buf response;
} Question;

static void answered(void *context, GrpcStatus status, Str text, Str response)
{
    Question *question = context;
    question->done = true;
    question->status = status;
    buf_put(&question->response, response);
    loop_stop(question->cluster->loop);
}

static void member_closed(void *context, const Error *why)
{
    ((Member *)context)->is_closed = true;
}

static void disconnect(Member *member)
{
    grpc_client_free(member->client);
    member->client = NULL;
}

/* Returns false if the member does not respond. */
static bool revision_request(EtcdCluster *cluster, Member *member, const char *path, Str request,
                             Arena *arena, Str *response)
{
    Question question = { .cluster = cluster, .response = buf_make(BUF_UNLIMITED) };
    Error err;
    if (member->client != NULL && member->is_closed) {
        disconnect(member);
    }
    if (member->client == NULL) {
        GrpcClientOptions options = grpc_client_defaults();
        options.loop = cluster->loop;
        options.address = (Address){ .kind = ADDRESS_IP, .port = CLIENT_PORT };
        strcpy(options.address.host, member->address);
        options.tls = cluster->tls;
        options.tls_host = member->address;
        options.closed = member_closed;
        options.context = member;
        member->is_closed = false;
        member->client = grpc_client_new(&options);
    }
    if (!grpc_client_unary(member->client, path, request, 5000, answered, &question, &err)) {
        return false;
    }
    while (!question.done) {
        loop_run(cluster->loop);
    }
    *response = arena_copy(arena, buf_str(&question.response));
    buf_clear(&question.response);
    return question.status == GRPC_OK;
}

/* The member's leader; 0: unknown. */
static uint64_t ask_leader(EtcdCluster *cluster, Member *member)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str response;
    EtcdHeader header;
    EtcdMemberStatus status;
    Error err;
    if (!revision_request(cluster, member, "/etcdserverpb.Maintenance/Status", STR_EMPTY, &arena,
                          &response) ||
        !etcd_status_decode(&arena, response, &header, &status, &err)) {
        return 0;
    }
    member->id = header.member_id;
    return status.leader;
}

/* The leader on which all running members agree, if there is one. */
static bool find_leader(EtcdCluster *cluster, uint32_t *out)
{
    uint64_t leader = 0;
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->members[i].pid != 0) {
            uint64_t its = ask_leader(cluster, &cluster->members[i]);
            if (its == 0 || (leader != 0 && its != leader)) {
                return false;
            }
            leader = its;
        }
    }
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->members[i].id == leader && cluster->members[i].pid != 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static int64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

uint32_t etcd_cluster_leader(EtcdCluster *cluster)
{
    const struct timespec moment = { .tv_nsec = 20 * 1000 * 1000 };
    uint32_t leader = 0;
    for (int64_t end_s = now_s() + WAIT_S; !find_leader(cluster, &leader);) {
        if (now_s() > end_s) {
            fail_msg("etcd has no leader; see its logs in %s", cluster->directory);
        }
        nanosleep(&moment, NULL);
    }
    return leader;
}

void etcd_cluster_move_leader(EtcdCluster *cluster)
{
    uint32_t leader = etcd_cluster_leader(cluster), next = (leader + 1) % cluster->count;
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str response;
    etcd_move_leader_encode(cluster->members[next].id, &request);
    assert_true(revision_request(cluster, &cluster->members[leader],
                                 "/etcdserverpb.Maintenance/MoveLeader", buf_str(&request), &arena,
                                 &response));
    etcd_cluster_leader(cluster);
}

void etcd_cluster_kill(EtcdCluster *cluster, uint32_t at)
{
    Member *member = &cluster->members[at];
    assert_int_equal(kill(member->pid, SIGKILL), 0);
    assert_int_equal(waitpid(member->pid, NULL, 0), member->pid);
    member->pid = 0;
    disconnect(member);
}

void etcd_cluster_restart(EtcdCluster *cluster, uint32_t member)
{
    start_member(cluster, member);
}

void etcd_cluster_settle(EtcdCluster *cluster)
{
    etcd_cluster_leader(cluster);
}

void etcd_cluster_pause(EtcdCluster *cluster, uint32_t member, bool is_paused)
{
    assert_int_equal(kill(cluster->members[member].pid, is_paused ? SIGSTOP : SIGCONT), 0);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

TlsContext *etcd_cluster_tls(EtcdCluster *cluster, Loop *loop)
{
    TlsMaterial material = { .certificate = cluster->certificate.pem,
                             .key = cluster->certificate.key,
                             .ca = cluster->ca };
    TlsContext *tls;
    Error err;
    if (!tls_context_new(loop, &(TlsOptions){ .role = TLS_CLIENT, .protocol = "h2" }, &material,
                         &tls, &err)) {
        fail_msg("%s", err.text);
    }
    return tls;
}

Store *etcd_cluster_open(EtcdCluster *cluster, Loop *loop, TlsContext *tls,
                         const StoreSettings *settings, int64_t timeout_ms)
{
    Address endpoints[ETCD_MEMBERS_MAX];
    for (uint32_t i = 0; i < cluster->count; i++) {
        endpoints[i] = (Address){ .kind = ADDRESS_IP, .port = CLIENT_PORT };
        strcpy(endpoints[i].host, cluster->members[i].address);
    }
    EtcdStoreOptions options = { .endpoints = endpoints,
                                 .endpoint_count = cluster->count,
                                 .tls = tls,
                                 .timeout_ms = timeout_ms };
    if (settings != NULL) {
        options.settings = *settings;
    }
    return etcd_store_open(loop, &options);
}

/* A loopback network of its own: nothing else listens there. Members connect to each other from
 * 127.0.0.1, and check that it is in the certificate. */
static void choose_addresses(EtcdCluster *cluster, char names[static 200])
{
    uint64_t random = loop_random(cluster->loop);
    unsigned a = 1 + random % 250, b = random / 256 % 250, c = random / 65536 % 250;
    for (uint32_t i = 0; i < cluster->count; i++) {
        size_t used = strlen(names);
        snprintf(cluster->members[i].address, sizeof cluster->members[i].address, "127.%u.%u.%u", a,
                 b, c + i + 1);
        snprintf(names + used, 200 - used, ",IP:%s", cluster->members[i].address);
    }
}

EtcdCluster *etcd_cluster_start(uint32_t members)
{
    EtcdCluster *cluster = calloc(1, sizeof *cluster);
    char names[200] = "IP:127.0.0.1";
    arena_init(&cluster->arena, ARENA_UNLIMITED);
    strcpy(cluster->directory, "/tmp/eden_etcd.XXXXXX");
    assert_non_null(mkdtemp(cluster->directory));
    cluster->count = members;
    cluster->loop = loop_new();
    choose_addresses(cluster, names);
    TestCa ca = test_ca_make(&cluster->arena, "etcd");
    cluster->ca = ca.pem;
    cluster->certificate = test_certificate_make(
        &cluster->arena, &ca, &(TestCertificateOptions){ .names = names, .serial = 2 });
    test_ca_clear(&ca);
    write_file(cluster, "ca.crt", cluster->ca);
    write_file(cluster, "node.crt", cluster->certificate.pem);
    write_file(cluster, "node.key", cluster->certificate.key);
    cluster->tls = etcd_cluster_tls(cluster, cluster->loop);
    for (uint32_t i = 0; i < members; i++) {
        start_member(cluster, i);
    }
    etcd_cluster_settle(cluster);
    return cluster;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    return remove(path);
}

void etcd_cluster_stop(EtcdCluster *cluster)
{
    if (cluster == NULL) {
        return;
    }
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->members[i].pid != 0) {
            etcd_cluster_kill(cluster, i);
        }
        disconnect(&cluster->members[i]);
    }
    tls_context_free(cluster->tls);
    loop_free(cluster->loop);
    nftw(cluster->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_clear(&cluster->arena);
    free(cluster);
}
