#include "server/join_server.h"

#include <stdio.h>

#include "cluster/cluster_keys.h"
#include "datastore/member_settings.h"
#include "datastore/server_member.h"
#include "net/grpc_client.h"
#include "rpc/access.h"
#include "rpc/methods.h"
#include "rpc/session_message.h"
#include "server/cluster_setup.h"
#include "server/server_store.h"
#include "service/servers_message.h"
#include "sys/loop.h"

enum {
    REQUEST_MS = 20 * 1000, /* for a request, including the connection */
    RETRY_MS = 2000,
    PATH_SIZE = 512,
};

typedef struct ServerJoin {
    ClusterSetup setup; /* must be first, so that steps can cast it */
    Arena *arena;
    const ServerJoinSpec *spec;
    NodeState node;
    Credential own;
    Str bundle;
    Loop *loop;
    TlsContext *tls;
    uint32_t server; /* index of the server that the request is sent to */
    Arena response_arena;
    ServerFiles files;
    bool is_answered, has_ended;
    char why[sizeof(((Error *)NULL)->text)];
    Error err;
} ServerJoin;

/* --- Requests -------------------------------------------------------------------------------- */

static bool verify_server(void *context, const TlsPeer *peer, Error *err)
{
    const ServerJoin *join = context;
    const NodeServer *server = &join->node.servers[join->server];
    return (peer->has_identity && strcmp(peer->identity.cluster, join->node.cluster) == 0 &&
            strcmp(peer->identity.node, server->node) == 0) ||
           error_set(err, ERROR_DENIED, "it is not the server '%s'", server->node);
}

static bool make_tls(ServerJoin *join, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(KeyText) key = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    if (!p256_private_text(join->own.key, &key, err)) {
        return false;
    }
    TlsMaterial material = { .certificate = certificates_pem(&arena, join->own.chain),
                             .key = str_from(key.text, key.len),
                             .ca = join->bundle };
    TlsOptions options = {
        .role = TLS_CLIENT, .protocol = "h2", .verify = verify_server, .verify_context = join
    };
    return tls_context_new(join->loop, &options, &material, &join->tls, err);
}

static void response_received(void *context, GrpcStatus status, Str text, Str response)
{
    ServerJoin *join = context;
    join->is_answered =
        status == GRPC_OK &&
        server_files_decode(&join->response_arena, arena_copy(&join->response_arena, response),
                            &join->files, &join->err);
    if (status != GRPC_OK) {
        error_set(&join->err, grpc_status_kind(status), "%" STR_FMT, STR_ARG(text));
    }
    loop_stop(join->loop);
}

/* Sends one request to one server. */
static bool send_request(ServerJoin *join, Error *err)
{
    const NodeServer *server = &join->node.servers[join->server];
    char protocol[12];
    snprintf(protocol, sizeof protocol, "%d", SESSION_PROTOCOL_OLDEST);
    Http2Header metadata = { STR(PROTOCOL_HEADER), str_from_c(protocol) };
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = join->loop;
    options.tls = join->tls;
    options.response_max = SERVER_FILES_MAX;
    options.metadata = &metadata;
    options.metadata_count = 1;
    join->is_answered = false;
    if (!address_parse(server->rpc, PORT_RPC, &options.address, err)) {
        return false;
    }
    AUTO(GrpcClient) *client = grpc_client_new(&options);
    if (!grpc_client_unary(client, method_rows[METHOD_SERVERS_FILES].path, STR_EMPTY, REQUEST_MS,
                           response_received, join, err)) {
        return false;
    }
    loop_run(join->loop);
    *err = join->err;
    return join->is_answered;
}

static void wake(void *context)
{
    loop_stop(context);
}

static void report(ServerJoin *join, const Error *err)
{
    if (join->spec->waits != NULL && strcmp(join->why, err->text) != 0) {
        snprintf(join->why, sizeof join->why, "%s", err->text);
        join->spec->waits(join->spec->context, err->kind == ERROR_DENIED, err->text);
    }
}

/* Tries the servers in turn until one sends the files. */
static bool get_files(ServerJoin *join, Error *err)
{
    int64_t end_ms = loop_now_ms(join->loop) + join->spec->limit_ms;
    LoopTimer timer;
    loop_timer_init(&timer, join->loop, wake, join->loop);
    while (!send_request(join, err)) {
        bool may_retry = err->kind == ERROR_DENIED || err->kind == ERROR_UNAVAILABLE ||
                         err->kind == ERROR_TIMEOUT;
        if (!may_retry) {
            return false;
        }
        report(join, err);
        if (join->spec->limit_ms > 0 && loop_now_ms(join->loop) + RETRY_MS > end_ms) {
            char why[sizeof err->text];
            memcpy(why, err->text, sizeof why);
            return error_set(err, ERROR_TIMEOUT, "this machine did not become a server in time: %s",
                             why);
        }
        join->server = (join->server + 1) % join->node.server_count;
        loop_timer_start(&timer, RETRY_MS);
        loop_run(join->loop);
    }
    return true;
}

/* --- Files ----------------------------------------------------------------------------------- */

/* The servers run etcd. */
static bool choose_etcd(const ServerSettings *own, Arena *arena, ServerSettings *out, Error *err)
{
    char program[PATH_SIZE];
    if (own->etcd_count > 0 || own->etcd_ca.len > 0 || own->etcd_certificate.len > 0 ||
        own->etcd_key.len > 0) {
        return error_set(err, ERROR_INVALID,
                         "the servers of this cluster run etcd themselves: omit --endpoints, "
                         "--etcd-ca, --etcd-cert and --etcd-key");
    }
    if (own->etcd_address.len == 0) {
        return error_set(err, ERROR_INVALID,
                         "--etcd-address is required: no --address is an IP address");
    }
    out->etcd_address = own->etcd_address;
    server_settings_use_own_etcd(arena, out);
    return server_member_program(program, sizeof program, err);
}

static bool choose_settings(ServerJoin *join, const ServerSettings *theirs, Error *err)
{
    const ServerSettings *own = &join->spec->spec.settings;
    ServerSettings settings = *theirs;
    memcpy(settings.node, join->node.node, sizeof settings.node);
    settings.rpc = own->rpc;
    settings.api = own->api;
    settings.health = own->health;
    settings.names = own->names;
    settings.name_count = own->name_count;
    if (server_settings_own_etcd(theirs)) {
        if (!choose_etcd(own, join->arena, &settings, err)) {
            return false;
        }
    } else if (own->etcd_count > 0) {
        settings.etcd = own->etcd;
        settings.etcd_count = own->etcd_count;
    }
    settings.etcd_ca = own->etcd_ca.len > 0 ? own->etcd_ca : theirs->etcd_ca;
    settings.etcd_certificate =
        own->etcd_certificate.len > 0 ? own->etcd_certificate : theirs->etcd_certificate;
    settings.etcd_key = own->etcd_key.len > 0 ? own->etcd_key : theirs->etcd_key;
    join->setup.settings = settings;
    return true;
}

static bool read_settings(ServerJoin *join, Error *err)
{
    ServerSettings theirs;
    Str text = join->files.contents[BACKUP_SETTINGS];
    if (!server_settings_read(join->arena, text, &theirs, err)) {
        return error_wrap(err, "the settings of the other server");
    }
    if (!server_settings_use_etcd(&theirs)) {
        return error_set(err, ERROR_INVALID, "the store of the cluster is not in etcd");
    }
    return choose_settings(join, &theirs, err);
}

/* Whether this machine reaches the store with these settings. */
static void on_id(void *context, const StoreReply *reply, const Error *err)
{
    ServerJoin *join = context;
    const char *expected = join->setup.settings.store_id;
    join->is_answered = err == NULL && reply->ops[0].kv_count == 1 &&
                        str_eq_c(reply->ops[0].kvs[0].value, expected);
    if (err != NULL) {
        join->err = *err;
    } else {
        error_set(&join->err, ERROR_INVALID, "the store in etcd is not that of the cluster");
    }
    loop_stop(join->loop);
}

static bool check_store(ServerJoin *join, Error *err)
{
    AUTO_CLEAR(ServerStore) opened = { 0 };
    ClusterSetup *setup = &join->setup;
    if (!server_store_open(join->loop, setup->spec->state_dir, &setup->settings, NULL, &opened,
                           err) ||
        !store_get(opened.store, cluster_key_store_id(join->arena, KEYS_PREFIX), on_id, join,
                   err)) {
        return false;
    }
    loop_run(join->loop);
    *err = join->err;
    return join->is_answered;
}

static bool write_files(ServerJoin *join, Error *err)
{
    for (uint32_t i = 0; i < BACKUP_FILES; i++) {
        Str content = join->files.contents[i];
        if (i != BACKUP_SETTINGS && i != BACKUP_DATASTORE && content.len > 0 &&
            !directory_write(&join->setup.server, backup_part_name((BackupPartKind)i), content,
                             true, err)) {
            return false;
        }
    }
    return true;
}

/* The certificate of the member that will be added for this server, and the addresses of the
 * others. */
static bool prepare_etcd(ServerJoin *join, Error *err)
{
    const ClusterSetup *setup = &join->setup;
    MemberSettings theirs;
    if (!server_settings_own_etcd(&setup->settings)) {
        return true;
    }
    return (member_settings_read(join->arena, join->files.contents[BACKUP_DATASTORE], &theirs,
                                 err) ||
            error_wrap(err, "the other server")) &&
           directory_write(&setup->server, DATASTORE_CA_KEY,
                           join->files.contents[BACKUP_DATASTORE_CA], true, err) &&
           own_etcd_prepare(&setup->server, &setup->settings, theirs.endpoints,
                            theirs.endpoint_count, setup->spec->now_ms, err);
}

/* Determines the signing CA; the other server has sent its pin. */
static bool load_ca(ServerJoin *join, Error *err)
{
    static const BackupPartKind kinds[] = { BACKUP_CA, BACKUP_CA_NEXT };
    ClusterSetup *setup = &join->setup;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (join->files.contents[kinds[i]].len == 0) {
            continue;
        }
        credential_clear(&setup->ca);
        if (!credential_load(&setup->server, backup_part_name(kinds[i]), join->arena, &setup->ca,
                             err)) {
            return false;
        }
        if (pin_equal(&setup->ca.chain.items[0].pin, &join->files.issuer)) {
            return true;
        }
    }
    return error_set(err, ERROR_INVALID, "the other server did not send the CA that signs");
}

static bool make_server(ClusterSetup *setup, Error *err)
{
    ServerJoin *join = (ServerJoin *)setup;
    return prepare_etcd(join, err) && check_store(join, err) && write_files(join, err) &&
           load_ca(join, err) && setup_make_server(setup, err) && setup_write_settings(setup, err);
}

/* --- Public API ------------------------------------------------------------------------------ */

static bool load_node(ServerJoin *join, Error *err)
{
    const Directory *agent = &join->setup.agent;
    NodeRecord *record = &join->setup.node;
    if (!node_state_load(agent, join->arena, &join->node, err) ||
        !credential_load(agent, AGENT_CREDENTIAL, join->arena, &join->own, err) ||
        !directory_read(agent, join->arena, AGENT_BUNDLE, AGENT_BUNDLE_MAX, &join->bundle, err)) {
        return err->kind == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_NOT_FOUND, "this machine is not a node of a cluster")
                   : false;
    }
    memcpy(record->name, join->node.node, sizeof record->name);
    memcpy(record->enrollment, join->own.chain.items[0].enrollment, sizeof record->enrollment);
    return true;
}

bool server_join(Arena *arena, const ServerJoinSpec *spec, ServerSettings *out, Error *err)
{
    ServerJoin join = { .arena = arena, .spec = spec };
    ClusterSetup *setup = &join.setup;
    setup_init(setup, &spec->spec);
    setup->is_joining = true;
    arena_init(&join.response_arena, ARENA_UNLIMITED);
    join.loop = loop_new();
    bool ok = setup_open(setup, err) && load_node(&join, err) && make_tls(&join, err) &&
              get_files(&join, err) && read_settings(&join, err) &&
              setup_as_server(setup, make_server, err);
    if (ok) {
        *out = setup->settings;
    }
    tls_context_free(join.tls);
    credential_clear(&join.own);
    arena_clear(&join.response_arena);
    setup_clear(setup);
    loop_free(join.loop);
    return ok;
}
