/* Servers that run the members of an etcd cluster, with the real etcd that EDEN_ETCD names: its
 * process, its certificates, and how its membership changes while a client writes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "datastore/certificate.h"
#include "datastore/etcd_command.h"
#include "datastore/local_member.h"
#include "datastore/member_control.h"
#include "etcd/etcd_store.h"
#include "net/grpc_client.h"
#include "scratch.h"
#include "sys/privilege.h"

enum {
    SERVERS = 4,
    WAIT_MS = 100 * 1000,
    WRITES_MAX = 100000,
    PATH_SIZE = 160,
};

typedef struct World World;

typedef struct Server {
    World *world;
    char name[8], path[PATH_SIZE], peer_url[100];
    Address client, peer;
    TlsContext *tls;
    LocalMember *member;
    MemberControl *control;
    bool is_wanted, is_new_cluster, is_gone;
    bool never_starts; /* it says that it is ready, but has no agent */
    uid_t user;        /* of etcd; 0: that of this program */
} Server;

struct World {
    Scratch *scratch;
    Loop *loop;
    LoopTimer poll;
    int64_t start_ms; /* for a member to be started; 0: the default */
    char program[PATH_SIZE];
    Credential ca;
    Arena arena;
    Server servers[SERVERS];
    /* A client that writes one key after another. */
    TlsContext *tls;
    Store *store;
    LoopTimer next_write;
    bool is_writing;
    uint32_t writes, acknowledged_count;
    bool acknowledged[WRITES_MAX];
};

/* --- Waiting --------------------------------------------------------------------------------- */

static void stop_loop(void *context)
{
    loop_stop(context);
}

typedef bool Condition(World *world);

static void wait_until(World *world, Condition *holds, const char *what)
{
    int64_t limit_ms = loop_now_ms(world->loop) + WAIT_MS;
    while (!holds(world)) {
        if (loop_now_ms(world->loop) > limit_ms) {
            for (uint32_t i = 0; i < SERVERS; i++) {
                const Server *server = &world->servers[i];
                if (server->member != NULL) {
                    LocalMemberStatus status = local_member_status(server->member);
                    MemberControlStatus control = member_control_status(server->control);
                    print_error("%s: state %d, \"%s\"; %s (%s) \"%s\"\n", server->name,
                                (int)status.state, status.why,
                                member_action_name(control.step.action),
                                member_reason_text(control.step.reason), control.error);
                }
            }
            fail_msg("%s", what);
        }
        loop_timer_start(&world->poll, 20);
        loop_run(world->loop);
    }
}

/* --- Servers --------------------------------------------------------------------------------- */

static Server *server_of(void *context)
{
    return context;
}

static uint32_t list_endpoints(void *context, Address *out)
{
    const World *world = server_of(context)->world;
    uint32_t count = 0;
    for (uint32_t i = 0; i < SERVERS; i++) {
        if (&world->servers[i] != server_of(context)) {
            out[count++] = world->servers[i].client;
        }
    }
    return count;
}

static uint32_t list_servers(void *context, MemberServer *out)
{
    const World *world = server_of(context)->world;
    for (uint32_t i = 0; i < SERVERS; i++) {
        const Server *server = &world->servers[i];
        out[i] = (MemberServer){
            .name = str_from_c(server->name),
            .peer_url = str_from_c(server->peer_url),
            .is_wanted = server->is_wanted,
            .state = server->is_gone                                   ? SERVER_LOST
                     : server->member == NULL && !server->never_starts ? SERVER_UNREACHABLE
                                                                       : SERVER_READY,
            .data_member_id =
                server->member == NULL ? 0 : local_member_status(server->member).data_member_id,
        };
    }
    return SERVERS;
}

static void start_agent(Server *server)
{
    World *world = server->world;
    Error err;
    LocalMemberOptions options = { .loop = world->loop,
                                   .path = server->path,
                                   .program = world->program,
                                   .node = str_from_c(server->name),
                                   .client = server->client,
                                   .peer = server->peer,
                                   .is_new_cluster = server->is_new_cluster,
                                   .token = "test",
                                   .tls = server->tls,
                                   .heartbeat_ms = 200,
                                   .election_ms = 2000,
                                   .retry_ms = 200,
                                   .as_user = server->user != 0,
                                   .uid = server->user,
                                   .gid = server->user,
                                   .endpoints = list_endpoints,
                                   .context = server };
    if (!local_member_new(&options, &server->member, &err)) {
        fail_msg("%s", err.text);
    }
    server->control = member_control_new(&(MemberControlOptions){ .loop = world->loop,
                                                                  .tls = server->tls,
                                                                  .own = server->client,
                                                                  .servers = list_servers,
                                                                  .context = server,
                                                                  .round_ms = 200,
                                                                  .start_ms = world->start_ms });
}

/* etcd continues. */
static void end_agent(Server *server)
{
    member_control_free(TAKE(server->control));
    local_member_free(TAKE(server->member));
}

static void kill_etcd(Server *server)
{
    pid_t number = local_member_status(server->member).pid;
    assert_true(number > 0);
    assert_int_equal(kill(number, SIGKILL), 0);
}

/* The machine fails for good. */
static bool has_no_etcd(World *world)
{
    for (uint32_t i = 0; i < SERVERS; i++) {
        Server *server = &world->servers[i];
        if (server->is_gone && server->member != NULL &&
            local_member_status(server->member).state != LOCAL_STOPPED) {
            return false;
        }
    }
    return true;
}

static void destroy(Server *server)
{
    kill_etcd(server);
    server->is_gone = true;
    local_member_stop(server->member);
    wait_until(server->world, has_no_etcd, "etcd was not killed");
    end_agent(server);
}

static bool is_running(const Server *server)
{
    return server->member != NULL && local_member_status(server->member).pid > 0 &&
           local_member_status(server->member).state == LOCAL_RUNNING &&
           local_member_status(server->member).data_member_id != 0;
}

/* The leader has nothing to do, and a member runs on each wanted server only. */
static bool has_wanted_members(World *world)
{
    bool rests = false;
    for (uint32_t i = 0; i < SERVERS; i++) {
        const Server *server = &world->servers[i];
        if (server->is_gone || server->member == NULL) {
            continue;
        }
        if (is_running(server) != server->is_wanted) {
            return false;
        }
        rests |= member_control_status(server->control).step.action == MEMBER_NO_ACTION;
    }
    return rests;
}

/* --- Certificates ---------------------------------------------------------------------------- */

static void issue(World *world, const char *path, const Str *names, uint32_t count)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    if (!directory_make(path, &directory, &err) ||
        !datastore_certificate_save(&directory, &world->ca, names, count, loop_wall_ms(world->loop),
                                    0, &err)) {
        fail_msg("%s", err.text);
    }
}

static TlsContext *open_tls(World *world, const char *path, TlsVerify *verify, void *context)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AUTO_CLEAR(Credential) credential = { 0 };
    AUTO_CLEAR(KeyText) key = { 0 };
    TlsContext *tls;
    Error err;
    if (!directory_open(path, &directory, &err) ||
        !credential_load(&directory, DATASTORE_CREDENTIAL, &world->arena, &credential, &err) ||
        !p256_private_text(credential.key, &key, &err)) {
        fail_msg("%s", err.text);
    }
    TlsMaterial material = { .certificate = certificates_pem(&world->arena, credential.chain),
                             .key = str_from(key.text, key.len),
                             .ca = certificate_pem(&world->arena, &world->ca.chain.items[0]) };
    TlsOptions options = {
        .role = TLS_CLIENT, .protocol = "h2", .verify = verify, .verify_context = context
    };
    if (!tls_context_new(world->loop, &options, &material, &tls, &err)) {
        fail_msg("%s", err.text);
    }
    return tls;
}

/* --- Writing --------------------------------------------------------------------------------- */

static void wrote(void *context, const StoreReply *reply, const Error *err)
{
    World *world = context;
    if (err == NULL) {
        world->acknowledged[world->writes] = true;
        world->acknowledged_count++;
    }
    world->writes++;
    if (world->is_writing) {
        loop_timer_start(&world->next_write, err == NULL ? 2 : 50);
    } else {
        loop_stop(world->loop);
    }
}

static void write_next(void *context)
{
    World *world = context;
    char key[32];
    Error err;
    assert_true(world->writes < WRITES_MAX);
    snprintf(key, sizeof key, "/test/%06u", world->writes);
    assert_true(store_put(world->store, str_from_c(key), str_from_c(key), 0, wrote, world, &err));
}

static void start_writing(World *world)
{
    Address endpoints[SERVERS];
    for (uint32_t i = 0; i < SERVERS; i++) {
        endpoints[i] = world->servers[i].client;
    }
    world->store = etcd_store_open(world->loop, &(EtcdStoreOptions){ .endpoints = endpoints,
                                                                     .endpoint_count = SERVERS,
                                                                     .tls = world->tls });
    world->is_writing = true;
    write_next(world);
}

typedef struct Reading {
    World *world;
    uint32_t found;
    bool is_done;
} Reading;

static void was_read(void *context, const StoreReply *reply, const Error *err)
{
    Reading *reading = context;
    if (err != NULL) {
        fail_msg("%s", err->text);
    }
    const StoreOpReply *range = &reply->ops[0];
    for (uint32_t i = 0; i < range->kv_count; i++) {
        Str key = range->kvs[i].key;
        uint64_t number;
        assert_true(str_eq(key, range->kvs[i].value));
        assert_true(str_to_u64(str_from_offset(key, 6), &number));
        reading->found += reading->world->acknowledged[number];
    }
    reading->is_done = true;
    loop_stop(reading->world->loop);
}

static bool has_stopped_writing(World *world)
{
    return !world->is_writing && !loop_timer_started(&world->next_write);
}

/* Every acknowledged write is there. */
static void finish_writing(World *world)
{
    Reading reading = { .world = world };
    Error err;
    uint32_t before = world->writes;
    if (loop_timer_started(&world->next_write)) {
        loop_timer_stop(&world->next_write);
    } else {
        while (world->writes == before) {
            world->is_writing = false;
            loop_run(world->loop);
        }
    }
    world->is_writing = false;
    assert_true(has_stopped_writing(world));
    assert_true(store_list(world->store, STR("/test/"), was_read, &reading, &err));
    while (!reading.is_done) {
        loop_run(world->loop);
    }
    print_message("%u of %u writes were acknowledged\n", world->acknowledged_count, world->writes);
    assert_int_equal(reading.found, world->acknowledged_count);
    assert_true(world->acknowledged_count > 0);
}

/* --- The world ------------------------------------------------------------------------------- */

/* etcd ends with this program even if that is killed, which a server must not do. */
static void write_program(World *world, const char *etcd)
{
    char text[400];
    assert_non_null(etcd);
    snprintf(world->program, sizeof world->program, "%s/etcd", world->scratch->path);
    snprintf(text, sizeof text, "#!/bin/sh\nexec setpriv --pdeathsig KILL '%s' \"$@\"\n", etcd);
    FILE *file = fopen(world->program, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(world->program, 0700), 0);
}

static void set_peer_port(Server *server, uint16_t port)
{
    server->peer.port = port;
    Str url = etcd_url(&server->world->arena, &server->peer);
    snprintf(server->peer_url, sizeof server->peer_url, "%" STR_FMT, STR_ARG(url));
}

/* Members connect to each other from 127.0.0.1, which their certificates must contain. */
static void set_up_server(World *world, uint32_t at, uint64_t random)
{
    Server *server = &world->servers[at];
    server->world = world;
    snprintf(server->name, sizeof server->name, "s%u", at);
    snprintf(server->path, sizeof server->path, "%s/%s", world->scratch->path, server->name);
    server->client = (Address){ .kind = ADDRESS_IP, .port = ETCD_CLIENT_PORT };
    snprintf(server->client.host, sizeof server->client.host, "127.%u.%u.%u",
             (unsigned)(1 + random % 250), (unsigned)(random / 256 % 250),
             (unsigned)(random / 65536 % 250 + at + 1));
    server->peer = server->client;
    set_peer_port(server, ETCD_PEER_PORT);
    const Str names[] = { STR("127.0.0.1"), str_from_c(server->client.host) };
    issue(world, server->path, names, COUNT_OF(names));
    server->tls = open_tls(world, server->path, NULL, NULL);
}

static int set_up(void **state)
{
    scratch_set_up(state);
    World *world = calloc(1, sizeof *world);
    Error err;
    world->scratch = *state;
    *state = world;
    world->loop = loop_new();
    arena_init(&world->arena, ARENA_UNLIMITED);
    loop_timer_init(&world->poll, world->loop, stop_loop, world->loop);
    loop_timer_init(&world->next_write, world->loop, write_next, world);
    write_program(world, getenv("EDEN_ETCD"));
    assert_true(ca_make(&world->arena, STR("test"), loop_wall_ms(world->loop), &world->ca, &err));
    uint64_t random = loop_random(world->loop);
    for (uint32_t i = 0; i < SERVERS; i++) {
        set_up_server(world, i, random);
    }
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/client", world->scratch->path);
    issue(world, path, NULL, 0);
    world->tls = open_tls(world, path, NULL, NULL);
    return 0;
}

static void kill_quickly(Server *server)
{
    if (server->member == NULL) {
        return;
    }
    pid_t number = local_member_status(server->member).pid;
    end_agent(server);
    if (number > 0) {
        kill(number, SIGKILL);
        waitpid(number, NULL, 0);
    }
}

static int tear_down(void **state)
{
    World *world = *state;
    *state = world->scratch;
    world->is_writing = false;
    store_close(world->store);
    loop_timer_stop(&world->next_write);
    for (uint32_t i = 0; i < SERVERS; i++) {
        kill_quickly(&world->servers[i]);
        tls_context_free(world->servers[i].tls);
    }
    tls_context_free(world->tls);
    loop_timer_stop(&world->poll);
    loop_free(world->loop);
    credential_clear(&world->ca);
    arena_clear(&world->arena);
    free(world);
    return scratch_tear_down(state);
}

/* --- Tests ----------------------------------------------------------------------------------- */

static bool first_runs(World *world)
{
    return is_running(&world->servers[0]);
}

static void start_first(World *world)
{
    world->servers[0].is_new_cluster = world->servers[0].is_wanted = true;
    start_agent(&world->servers[0]);
    wait_until(world, first_runs, "the first member does not start");
}

static pid_t number_of(const Server *server)
{
    return local_member_status(server->member).pid;
}

static void etcd_outlives_its_agent_and_is_found_again(void **state)
{
    World *world = *state;
    Server *server = &world->servers[0];
    start_first(world);
    pid_t number = number_of(server);
    uint64_t data_member_id = local_member_status(server->member).data_member_id;
    end_agent(server);
    start_agent(server);
    wait_until(world, first_runs, "etcd was not found");
    assert_int_equal(number_of(server), number);
    assert_true(local_member_status(server->member).data_member_id == data_member_id);
}

static bool has_written(World *world)
{
    return world->acknowledged_count >= 100;
}

static bool has_written_more(World *world)
{
    return world->acknowledged_count >= 200;
}

static void etcd_starts_again_with_its_data(void **state)
{
    World *world = *state;
    Server *server = &world->servers[0];
    start_first(world);
    start_writing(world);
    wait_until(world, has_written, "nothing can be written");
    pid_t number = number_of(server);
    uint64_t data_member_id = local_member_status(server->member).data_member_id;
    kill_etcd(server);
    wait_until(world, has_written_more, "etcd does not start again");
    assert_int_not_equal(number_of(server), number);
    assert_true(local_member_status(server->member).data_member_id == data_member_id);
    finish_writing(world);
}

/* The directory of the build may be closed to other users. */
static void copy_etcd(World *world, char *path, size_t size)
{
    snprintf(path, size, "%s/etcd-copy", world->scratch->path);
    int from = open(getenv("EDEN_ETCD"), O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    assert_true(from >= 0 && to >= 0);
    ssize_t copied;
    do {
        copied = sendfile(to, from, NULL, 1 << 20);
        assert_true(copied >= 0);
    } while (copied > 0);
    close(from);
    close(to);
}

/* As a server does: its own files belong to that user, and etcd gets a directory for its data. */
static void etcd_runs_as_another_user(void **state)
{
    World *world = *state;
    Server *server = &world->servers[0];
    char path[64];
    Error err;
    if (!running_as_root()) {
        server->user = privileges_user();
    } else {
        char etcd[PATH_SIZE];
        server->user = 65534;
        copy_etcd(world, etcd, sizeof etcd);
        write_program(world, etcd);
        assert_int_equal(chmod(world->scratch->path, 0711), 0);
        assert_int_equal(chmod(world->program, 0755), 0);
        assert_int_equal(chown(server->path, server->user, server->user), 0);
        const Str names[] = { STR("127.0.0.1"), str_from_c(server->client.host) };
        assert_true(privileges_lend(server->user, server->user, &err));
        issue(world, server->path, names, COUNT_OF(names));
        privileges_return();
    }
    start_first(world);
    snprintf(path, sizeof path, "/proc/%d", (int)number_of(server));
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_uid, server->user);
}

static bool first_is_stopped(World *world)
{
    return local_member_status(world->servers[0].member).state == LOCAL_STOPPED;
}

static bool first_is_refused(World *world)
{
    return local_member_status(world->servers[0].member).needs_operator;
}

static void data_of_another_server_is_left_alone(void **state)
{
    World *world = *state;
    Server *server = &world->servers[0];
    char marker[PATH_SIZE + 16];
    start_first(world);
    local_member_stop(server->member);
    wait_until(world, first_is_stopped, "etcd does not stop");
    end_agent(server);
    snprintf(marker, sizeof marker, "%s/" MARKER_FILE, server->path);
    assert_int_equal(unlink(marker), 0);
    start_agent(server);
    wait_until(world, first_is_refused, "the data is used");
    assert_true(strstr(local_member_status(server->member).why, "is not empty") != NULL);
    assert_int_equal(number_of(server), 0);
}

/* --- Certificates of a running etcd --- */

typedef struct Handshake {
    Loop *loop;
    TlsPeer peer;
    bool is_done, is_open;
    Error why;
} Handshake;

static bool note_peer(void *context, const TlsPeer *peer, Error *err)
{
    ((Handshake *)context)->peer = *peer;
    return true;
}

static void answered(void *context, GrpcStatus status, Str text, Str response)
{
    Handshake *handshake = context;
    handshake->is_open = status == GRPC_OK;
    if (!handshake->is_open) {
        error_set(&handshake->why, ERROR_UNAVAILABLE, "%" STR_FMT, STR_ARG(text));
    }
    handshake->is_done = true;
    loop_stop(handshake->loop);
}

/* Connects anew, and asks for the state of the member. */
static void shake_hands(World *world, const char *path, const Address *address, Handshake *out)
{
    *out = (Handshake){ .loop = world->loop };
    TlsContext *tls = open_tls(world, path, note_peer, out);
    GrpcClientOptions options = grpc_client_defaults();
    Error err;
    options.loop = world->loop;
    options.address = *address;
    options.tls = tls;
    options.tls_host = address->host;
    GrpcClient *client = grpc_client_new(&options);
    assert_true(grpc_client_unary(client, "/etcdserverpb.Maintenance/Status", STR_EMPTY, 10000,
                                  answered, out, &err));
    while (!out->is_done) {
        loop_run(world->loop);
    }
    grpc_client_free(client);
    tls_context_free(tls);
}

static void a_renewed_certificate_needs_no_restart(void **state)
{
    World *world = *state;
    Server *server = &world->servers[0];
    Handshake before, after, peer;
    start_first(world);
    pid_t number = number_of(server);
    shake_hands(world, server->path, &server->client, &before);
    assert_true(before.is_open);
    const Str names[] = { STR("127.0.0.1"), str_from_c(server->client.host) };
    issue(world, server->path, names, COUNT_OF(names));
    shake_hands(world, server->path, &server->client, &after);
    shake_hands(world, server->path, &server->peer, &peer);
    assert_true(after.is_open);
    assert_string_not_equal(before.peer.serial, after.peer.serial);
    assert_string_equal(after.peer.serial, peer.peer.serial);
    assert_int_equal(number_of(server), number);
}

/* etcd may close the connection before its alert was read, so this is repeated. */
static void assert_rejected(World *world, const char *path, const Address *address)
{
    Handshake result;
    for (uint32_t tries = 0; tries < 50; tries++) {
        shake_hands(world, path, address, &result);
        assert_false(result.is_open);
        if (strstr(result.why.text, "bad certificate") != NULL) {
            return;
        }
    }
    fail_msg("\"%s\"", result.why.text);
}

/* Only the CA of the datastore counts, and on the port for members only their certificates. */
static void others_are_rejected(void **state)
{
    World *world = *state;
    Server *server = &world->servers[0];
    Credential datastore_ca = world->ca, other_ca;
    char client[PATH_SIZE], foreign[PATH_SIZE];
    Handshake result;
    Error err;
    start_first(world);
    snprintf(client, sizeof client, "%s/client", world->scratch->path);
    snprintf(foreign, sizeof foreign, "%s/foreign", world->scratch->path);
    shake_hands(world, client, &server->client, &result);
    assert_true(result.is_open);
    assert_rejected(world, client, &server->peer);
    shake_hands(world, server->path, &server->peer, &result); /* which speaks no gRPC */
    assert_true(strstr(result.why.text, "bad certificate") == NULL);
    assert_true(ca_make(&world->arena, STR("test"), loop_wall_ms(world->loop), &other_ca, &err));
    world->ca = other_ca;
    issue(world, foreign, NULL, 0);
    world->ca = datastore_ca;
    assert_rejected(world, foreign, &server->client);
    credential_clear(&other_ca);
}

/* --- Changes of the membership --- */

static void want(World *world, const char *servers)
{
    for (uint32_t i = 0; i < SERVERS; i++) {
        world->servers[i].is_wanted = servers[i] == '1';
    }
}

static bool has_directory(const Server *server, const char *name)
{
    char path[PATH_SIZE + 40];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", server->path, name);
    return stat(path, &status) == 0;
}

static bool first_is_archived(World *world)
{
    return !has_directory(&world->servers[0], "data") &&
           !has_directory(&world->servers[0], MARKER_FILE);
}

static bool second_runs(World *world)
{
    return is_running(&world->servers[1]);
}

/* All in one: a cluster grows to three members, one of them is lost with its data and replaced by
 * another server, it shrinks to a single member on another server than before, and grows again on
 * servers that had one. Meanwhile etcd is killed. */
static void no_acknowledged_write_is_lost_while_members_change(void **state)
{
    World *world = *state;
    start_first(world);
    start_writing(world);
    want(world, "1110");
    for (uint32_t i = 1; i < SERVERS; i++) {
        start_agent(&world->servers[i]);
    }
    wait_until(world, second_runs, "no member is added");
    kill_etcd(&world->servers[0]);
    wait_until(world, has_wanted_members, "the cluster does not grow");
    destroy(&world->servers[1]);
    want(world, "1011");
    wait_until(world, has_wanted_members, "the lost member is not replaced");
    want(world, "0010");
    kill_etcd(&world->servers[3]);
    wait_until(world, has_wanted_members, "the cluster does not shrink");
    wait_until(world, first_is_archived, "the data of a removed member is left in place");
    want(world, "1011");
    wait_until(world, has_wanted_members, "a removed server does not get a new member");
    finish_writing(world);
}

static bool third_is_a_learner(World *world)
{
    return is_running(&world->servers[2]);
}

/* Only one learner is possible, so this one would keep others from joining. */
static void a_server_that_never_starts_its_member_is_passed_over(void **state)
{
    World *world = *state;
    world->start_ms = 1000;
    start_first(world);
    world->servers[1].never_starts = true;
    world->servers[1].is_wanted = world->servers[2].is_wanted = true;
    start_agent(&world->servers[2]);
    wait_until(world, third_is_a_learner, "the learner that was not started is not removed");
    world->servers[1].is_wanted = false;
    wait_until(world, has_wanted_members, "the other server does not become a member");
}

static bool has_announced(World *world)
{
    MemberControlStatus status = member_control_status(world->servers[0].control);
    return status.step.action == MEMBER_NO_ACTION && status.member_count == 1 &&
           str_eq_c(status.members[0].peer_url, world->servers[0].peer_url);
}

/* Otherwise the new member could never reach it. */
static void a_new_address_is_announced_before_the_cluster_grows(void **state)
{
    World *world = *state;
    Server *server = &world->servers[0];
    start_first(world);
    local_member_stop(server->member);
    wait_until(world, first_is_stopped, "etcd does not stop");
    end_agent(server);
    set_peer_port(server, ETCD_PEER_PORT + 10);
    start_agent(server);
    wait_until(world, has_announced, "the new address is not announced");
    want(world, "1010");
    start_agent(&world->servers[2]);
    wait_until(world, has_wanted_members, "the cluster does not grow");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(etcd_outlives_its_agent_and_is_found_again),
        TEST(etcd_starts_again_with_its_data),
        TEST(etcd_runs_as_another_user),
        TEST(data_of_another_server_is_left_alone),
        TEST(a_renewed_certificate_needs_no_restart),
        TEST(others_are_rejected),
        TEST(a_server_that_never_starts_its_member_is_passed_over),
        TEST(a_new_address_is_announced_before_the_cluster_grows),
        TEST(no_acknowledged_write_is_lost_while_members_change),
    };
    log_set_sink((LogSink){ .level = LOG_LEVEL_OFF });
    return cmocka_run_group_tests(tests, NULL, NULL);
}
