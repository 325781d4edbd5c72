/* Assembles a server from its parts.
 *
 * Start: read the settings, open and identify the store, load certificates, CAs and the state of
 * the cluster; once state and authority are ready, open the listeners. Stop: close listeners, end
 * long-lived streams, wait for calls in progress; then free the parts in an order in which store
 * callbacks, which may run until the store is closed, still find everything they use. While the
 * store does not respond, established sessions stay and reads are served from the state. */
#include "server/server.h"

#include <stdlib.h>

#include "api/api.h"
#include "api/kind_stored.h"
#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "membership/authority.h"
#include "membership/lost_settings.h"
#include "membership/own_certificates.h"
#include "membership/roster.h"
#include "net/grpc_server.h"
#include "pki/peer.h"
#include "server/controllers.h"
#include "server/create_cluster.h"
#include "server/listener_tls.h"
#include "server/other_servers.h"
#include "server/own_files.h"
#include "server/peer_check.h"
#include "server/server_metrics.h"
#include "server/server_store.h"
#include "server/services.h"
#include "server/store_identity.h"
#include "sys/clock_watch.h"
#include "sys/directory.h"
#include "sys/process_memory.h"

enum {
    /* connections per node; an agent has one, or two while it renews its certificate */
    PER_NODE_MAX = 32,
    /* interval between two sweeps, which close connections with expired certificates and streams
     * with expired tokens, probe whether the store is writable, and return memory */
    SWEEP_MS = 10 * 1000,
    STORE_VERIFY_MS = 24 * 3600 * 1000,
};

struct Server {
    ServerOptions options;
    Arena arena; /* holds the settings */
    ServerSettings settings;
    Directory directory;
    ServerStore opened;
    Store *store;           /* of `opened` */
    StoreIdentity identity; /* used while the store is checked */
    Authority *authority;
    OwnCertificates *own;
    CertifySettings certify;
    State *state;
    Roster *roster;
    FleetRuns *runs;
    RunLogs *run_logs;
    PeerCheck check;
    RefusalLog refusals; /* limits log lines about rejected nodes */
    Credentials *credentials;
    Audit *audit;
    LoopTimer sweep;
    Services services;
    ListenerTls tls;
    TlsContext *rpc_tls;
    GrpcServer *rpc;
    const Listener *rpc_listener;
    Admission *admission;
    Controllers *controllers;
    SshVerifier *ssh_verifier;
    Versions *versions;
    SourceVault *vault;
    Api *api;
    TlsContext *api_tls;
    HttpServer *public_api, *local_api; /* with TLS, and on the Unix socket */
    PlainServer *health;                /* without TLS; may be NULL */
    const Listener *api_listener, *local_listener;
    OtherServers *others; /* NULL until it serves */
    Metrics *metrics;
    ClockWatch clock;
    Str *api_names; /* addresses announced to clients: "eden1.example.org:1338" */
    bool is_open;   /* listening, and not stopping yet */
    bool has_cas;   /* the authority is ready */
    bool is_ready;  /* all of its files are loaded */
    bool is_saved;  /* the lost store was saved; the server stops for the reason in `loss` */
    Error loss;
    bool is_stopping;  /* it is reported as stopping */
    uint32_t stopping; /* number of listeners that still have calls in progress */
    LoopTask release;
    LoopRun *closed;
    void *closed_context;
};

static ClusterStore cluster_of(const Server *server)
{
    return (ClusterStore){ server->options.loop, server->store, KEYS_PREFIX, server->state,
                           server->roster };
}

/* --- Authorization --------------------------------------------------------------------------- */

static bool verify(void *context, const TlsPeer *peer, Error *err)
{
    const Server *server = context;
    return peer_check_verify(&server->check, peer, err);
}

static void describe(void *context, const Peer *peer, Caller *out)
{
    const Server *server = context;
    peer_check_describe(&server->check, peer, out);
}

static bool is_removed(void *context, const Peer *peer)
{
    const Server *server = context;
    return peer_check_is_removed(&server->check, peer);
}

/* --- Listeners ------------------------------------------------------------------------------- */

static Str directory_path(Server *server, const char *suffix)
{
    return arena_format(&server->arena, "%s/" SERVER_DIRECTORY "%s", server->options.state_dir,
                        suffix);
}

/* Established connections keep their certificates. */
static void reload_tls(Server *server)
{
    Error err;
    if (server->rpc_tls == NULL || server->api_tls == NULL) {
        return;
    }
    if (!listener_tls_rpc(&server->tls, &server->rpc_tls, &err) ||
        !listener_tls_api(&server->tls, &server->api_tls, &err)) {
        log_error("listeners continue with the previous certificates", LOG_C("error", err.text));
    }
}

static ListenerOptions listener_options(const Server *server)
{
    ListenerOptions options = listener_defaults();
    options.loop = server->options.loop;
    if (server->settings.per_address_max > 0) {
        options.per_origin_max = server->settings.per_address_max;
    }
    return options;
}

static bool parse_listen_address(Str text, uint16_t port, Address *out, Error *err)
{
    if (!address_parse(text, port, out, err)) {
        return false;
    }
    if (out->port == 0) {
        log_warning("port in " SERVER_SETTINGS_FILE
                    " is 0, any free port: clients cannot find this server after a restart",
                    LOG_STR("address", text));
    }
    return true;
}

/* Creates the keys that are otherwise created when they are first used. */
static bool prepare_files(void *context, Error *err)
{
    const Server *server = context;
    AUTO_CLEAR(Arena) arena;
    Str line;
    arena_init(&arena, ARENA_UNLIMITED);
    return source_vault_prepare(server->vault, err) &&
           ssh_verifier_line(server->ssh_verifier, &arena, false, &line, err);
}

static bool listen_rpc(Server *server, Error *err)
{
    Address address;
    if (!parse_listen_address(server->settings.rpc, PORT_RPC, &address, err) ||
        !listener_tls_rpc(&server->tls, &server->rpc_tls, err)) {
        return false;
    }
    services_open(&(ServicesOptions){ .cluster_store = cluster_of(server),
                                      .directory = directory_path(server, "").data,
                                      .prepare_files = prepare_files,
                                      .settings = &server->settings,
                                      .certify = &server->certify,
                                      .audit = &server->audit,
                                      .runs = server->runs,
                                      .run_logs = server->run_logs,
                                      .versions = server->versions,
                                      .describe = describe,
                                      .context = server },
                  &server->services);
    GrpcServerOptions options = grpc_server_defaults();
    options.loop = server->options.loop;
    options.per_node_max = PER_NODE_MAX;
    dispatch_serve(server->services.dispatch, &options);
    server->rpc = grpc_server_new(&options);
    ListenerOptions listening = listener_options(server);
    listening.tls = server->rpc_tls;
    return grpc_server_listen(server->rpc, &listening, &address, &server->rpc_listener, err);
}

static HttpServer *make_http(Server *server)
{
    HttpServerOptions options = http_server_defaults();
    options.loop = server->options.loop;
    api_serve(server->api, &options);
    return http_server_new(&options);
}

static bool listen_public(Server *server, Error *err)
{
    ListenerOptions listening = listener_options(server);
    Address address;
    if (!parse_listen_address(server->settings.api, PORT_API, &address, err) ||
        !listener_tls_api(&server->tls, &server->api_tls, err)) {
        return false;
    }
    listening.tls = server->api_tls;
    server->public_api = make_http(server);
    return http_server_listen(server->public_api, &listening, &address, &server->api_listener, err);
}

static bool listen_local(Server *server, Error *err)
{
    ListenerOptions listening = listener_defaults();
    Address address;
    if (server->options.socket == NULL) {
        return true;
    }
    listening.loop = server->options.loop;
    listening.mode = 0660;
    server->local_api = make_http(server);
    return address_unix(str_from_c(server->options.socket), &address, err) &&
           http_server_listen(server->local_api, &listening, &address, &server->local_listener,
                              err);
}

static bool listen_health(Server *server, Error *err)
{
    PlainServerOptions options = { .loop = server->options.loop,
                                   .routes = api_health_routes,
                                   .names = server->settings.names,
                                   .name_count = server->settings.name_count,
                                   .context = server->api };
    Address address;
    return server->settings.health.len == 0 ||
           (plain_address_parse(server->settings.health, &address, err) &&
            plain_server_open(&options, &address, &server->health, err)) ||
           error_wrap(err, "'health' of " SERVER_SETTINGS_FILE);
}

static void ping(void *context, Str node, SessionPinged *done, void *done_context)
{
    const Server *server = context;
    other_servers_ping(server->others, server->services.sessions, node, done, done_context);
}

static void gather(void *context, MetricsText *out)
{
    const Server *server = context;
    server_metrics_print(
        &(ServerView){ .is_stopping = server->is_stopping,
                       .is_leader = controllers_are_running(server->controllers),
                       .versions = server->versions,
                       .started_ms = metrics_started_ms(server->metrics),
                       .store = server->store,
                       .state = server->state,
                       .roster = server->roster,
                       .joins = admission_counts(server->admission),
                       .sessions = server->services.sessions,
                       .runs = server->services.runs,
                       .own = server->own,
                       .cas = server->certify.cas,
                       .listeners = { { "rpc", server->rpc_listener },
                                      { "api", server->api_listener },
                                      { "local", server->local_listener },
                                      { "health", plain_server_listener(server->health) } } },
        out);
}

static bool listen_api(Server *server, Error *err)
{
    server->api_names = ARENA_ARRAY(&server->arena, Str, server->settings.name_count);
    memset(server->api_names, 0, server->settings.name_count * sizeof *server->api_names);
    server->admission =
        admission_new(&(AdmissionSettings){ .certify = server->certify,
                                            .server = str_from_c(server->settings.node),
                                            .rpc_port = server_rpc_port(server),
                                            .audit = server->audit });
    server->ssh_verifier =
        ssh_verifier_new(&(SshVerifierSettings){ .cluster_store = server->certify.cluster_store,
                                                 .cluster = str_from_c(server->settings.cluster),
                                                 .directory = directory_path(server, "").data,
                                                 .cas = server->certify.cas });
    server->api =
        api_new(&(ApiSettings){ .cluster_store = server->certify.cluster_store,
                                .cluster = str_from_c(server->settings.cluster),
                                .node = str_from_c(server->settings.node),
                                .store_id = str_from_c(server->settings.store_id),
                                .is_store_shared = server_settings_use_etcd(&server->settings),
                                .directory = directory_path(server, "").data,
                                .admission = server->admission,
                                .runs = server->runs,
                                .run_logs = server->run_logs,
                                .ssh_verifier = server->ssh_verifier,
                                .cas = server->certify.cas,
                                .names = server->api_names,
                                .name_count = server->settings.name_count,
                                .authority = server->authority,
                                .own = server->own,
                                .certify = &server->certify,
                                .versions = server->versions,
                                .uploads = server->settings.uploads,
                                .vault = server->vault,
                                .metrics = server->metrics,
                                .gather = gather,
                                .is_stopping = &server->is_stopping,
                                .ping = ping,
                                .credentials = server->credentials,
                                .audit = server->audit,
                                .describe = describe,
                                .context = server });
    if (!listen_public(server, err)) {
        return false;
    }
    server_settings_addresses(&server->arena, &server->settings, server_api_port(server),
                              server->api_names);
    return listen_local(server, err) && listen_health(server, err);
}

static void roster_changed(void *context)
{
    Server *server = context;
    if (server->rpc != NULL) {
        grpc_server_drop(server->rpc, is_removed, server);
    }
}

static void credentials_changed(void *context)
{
    Server *server = context;
    if (server->api != NULL) {
        api_recheck(server->api);
    }
}

/* Leases do not depend on the wall clock; certificates and tokens may have expired, or may not be
 * valid yet. */
static void clock_jumped(void *context, int64_t by_ms)
{
    Server *server = context;
    log_warning("system clock jumped", LOG_INT("by_ms", by_ms));
    roster_changed(server);
    credentials_changed(server);
    if (server->rpc != NULL) {
        own_certificates_check(server->own);
    }
}

static void fail(Server *server, const Error *err)
{
    server->options.failed(server->options.context, err);
}

static OwnFiles own_files(Server *server)
{
    return (OwnFiles){ server->options.state_dir, &server->directory, &server->settings,
                       server->authority,         server->own,        server->vault };
}

static void failed(void *context, const Error *err)
{
    fail(context, err);
}

static void open_others(Server *server)
{
    server->others = other_servers_new(&(OtherServersOptions){ .cluster_store = cluster_of(server),
                                                               .store = &server->opened,
                                                               .rpc_port = server_rpc_port(server),
                                                               .api_port = server_api_port(server),
                                                               .directory = &server->directory,
                                                               .authority = server->authority,
                                                               .own = server->own,
                                                               .verify = verify,
                                                               .removed = failed,
                                                               .context = server });
}

static void start_serving(Server *server)
{
    Error err;
    server->vault = source_vault_new(directory_path(server, "").data);
    server->versions =
        versions_new(&(VersionsSettings){ .cluster_store = server->certify.cluster_store,
                                          .directory = directory_path(server, "").data,
                                          .add_uses = fleet_runs_add_versions,
                                          .context = server->runs,
                                          .fetch = other_servers_fetch,
                                          .fetch_context = &server->others });
    if (!listen_rpc(server, &err) || !listen_api(server, &err)) {
        fail(server, &err);
        return;
    }
    loop_timer_start(&server->sweep, SWEEP_MS);
    open_others(server);
    server->controllers =
        controllers_new(&(ControllersOptions){ .cluster_store = cluster_of(server),
                                               .server = str_from_c(server->settings.node),
                                               .admission = server->admission,
                                               .runs = server->runs,
                                               .versions = server->versions,
                                               .vault = server->vault,
                                               .audit = server->audit,
                                               .directory = directory_path(server, "").data,
                                               .authority = server->authority });
    OwnFiles files = own_files(server);
    own_files_save_copy(&files);
    server->is_ready = true;
    server->options.ready(server->options.context);
}

static void node_silent(void *context, const RosterNode *node)
{
    log_info("node silent", LOG_C("node", node->record.name));
    controllers_node_silent(((const Server *)context)->controllers, node);
}

/* The files may have been lost together with the store: the server stops when all are saved. */
static void restore_files(Server *server)
{
    OwnFiles files = own_files(server);
    if ((!server->is_ready || own_files_restore(&files)) && server->is_saved && server->is_open) {
        fail(server, &server->loss);
    }
}

/* Expiration is not an event: each new request checks its credential. This closes what is already
 * open: connections whose certificate has expired, and streams whose token has. */
static void sweep_expired(void *context)
{
    Server *server = context;
    roster_changed(server);
    store_probe(server->store, str_from_c(server->settings.node));
    server_store_reload(&server->opened);
    other_servers_check(server->others);
    credentials_changed(server);
    loop_timer_start(&server->sweep, SWEEP_MS);
    process_heap_trim();
    restore_files(server);
}

/* --- Cluster state --------------------------------------------------------------------------- */

/* Called once state and authority have loaded the content of the store. */
static void serve_when_ready(void *context)
{
    Server *server = context;
    if (!state_age(server->state).is_ready || !server->has_cas || !server->is_open) {
        return; /* not open, because the store was a foreign one */
    }
    ClusterStore cluster_store = cluster_of(server);
    CredentialsEvents credential_events = { .changed = credentials_changed, .context = server };
    server->audit = audit_new(&cluster_store);
    server->credentials = credentials_new(&cluster_store, server->state,
                                          str_from_c(server->settings.cluster), &credential_events);
    start_serving(server);
}

/* Existing sessions stay, and reads continue with the known state. A
 * server that has just started has no state to serve, and is restarted. */
static void state_stale(void *context, const Error *err)
{
    Server *server = context;
    if (server->state == NULL || !state_age(server->state).is_ready) {
        fail(server, err);
    }
}

static void state_current(void *context)
{
    roster_changed(context);
    credentials_changed(context);
}

/* --- Certificates ---------------------------------------------------------------------------- */

static void authority_ready(void *context)
{
    Server *server = context;
    if (server->is_open) {
        server->has_cas = true;
        own_certificates_check(server->own);
        serve_when_ready(server);
    }
}

static void use_certificates(Server *server)
{
    reload_tls(server);
    other_servers_certificates_changed(server->others);
    if (server->api != NULL) {
        api_certificates_changed(server->api);
    }
}

static void authority_changed(void *context)
{
    Server *server = context;
    use_certificates(server);
    own_certificates_check(server->own);
}

static void authority_missing(void *context)
{
    const Server *server = context;
    other_servers_check(server->others);
}

static bool certificates_issued_by(void *context, const Pin *ca)
{
    const Server *server = context;
    return own_certificates_are_from(server->own, ca);
}

static void own_changed(void *context, OwnCertificateKind kind)
{
    Server *server = context;
    use_certificates(server);
    authority_check(server->authority);
}

static bool open_certificates(Server *server, Error *err)
{
    const ServerSettings *settings = &server->settings;
    ClusterStore cluster_store = cluster_of(server);
    RosterEvents nodes = { .changed = roster_changed, .context = server, .silent = node_silent };
    server->state = state_new(&cluster_store, &(StateEvents){ .ready = serve_when_ready,
                                                              .stale = state_stale,
                                                              .current = state_current,
                                                              .context = server,
                                                              .stores_values = stored_is_kind });
    server->roster = roster_new(server->state, KEYS_PREFIX, &nodes);
    server->runs = fleet_runs_new(server->state, KEYS_PREFIX);
    cluster_store = cluster_of(server);
    if (!run_logs_open(server->options.loop, directory_path(server, "/run-logs").data,
                       &server->run_logs, err)) {
        return false;
    }
    AuthorityOptions authority = { .cluster_store = cluster_store,
                                   .cluster = str_from_c(settings->cluster),
                                   .node = str_from_c(settings->node),
                                   .directory = &server->directory,
                                   .events = { authority_ready, authority_changed, failed,
                                               certificates_issued_by, authority_missing,
                                               server } };
    if (!own_files_complete(&server->directory, settings, str_from_c(server->identity.enrollment),
                            loop_wall_ms(server->options.loop), err) ||
        !authority_open(&authority, &server->authority, err)) {
        return false;
    }
    server->tls =
        (ListenerTls){ server->options.loop, &server->own, server->authority, verify, server };
    server->certify = (CertifySettings){ .cluster_store = cluster_store,
                                         .cluster = str_from_c(settings->cluster),
                                         .cas = authority_cas(server->authority),
                                         .node_lifetime_ms = settings->node_lifetime_ms };
    ServingNames names = server_settings_serving_names(&server->arena, settings);
    OwnCertificatesOptions options = { .loop = server->options.loop,
                                       .directory = &server->directory,
                                       .cas = server->certify.cas,
                                       .names = names.items,
                                       .name_count = names.count,
                                       .node_lifetime_ms = settings->node_lifetime_ms,
                                       .serving_lifetime_ms = settings->serving_lifetime_ms,
                                       .changed = own_changed,
                                       .context = server };
    return own_certificates_open(&options, &server->own, err);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

/* The path, because only root can read the parent directory. */
static bool read_files(Server *server, Error *err)
{
    Str text;
    if (!directory_open(directory_path(server, "").data, &server->directory, err) ||
        !directory_read(&server->directory, &server->arena, SERVER_SETTINGS_FILE,
                        SERVER_SETTINGS_MAX, &text, err)) {
        return err->kind != ERROR_NOT_FOUND ? false
               : settings_are_lost(&server->directory)
                   ? lost_settings_error(&server->directory, err)
                   : error_set(err, ERROR_NOT_FOUND, "no cluster in %s; 'eden init' creates one",
                               server->options.state_dir);
    }
    return server_settings_read(&server->arena, text, &server->settings, err) ||
           error_wrap(err, "%s", server->directory.path);
}

/* Nothing of the store is read before this point. A lost
 * node certificate is issued again from the node's record. */
static void identity_known(void *context, const Error *err)
{
    Server *server = context;
    Error why;
    if (!server->is_open) {
        return;
    }
    if (err != NULL) {
        fail(server, err);
    } else if (!open_certificates(server, &why)) {
        fail(server, &why);
    }
}

/* A restarted server has all data, or reports which of two stores to choose. Until the store is
 * saved this server keeps running, and the sweep retries. */
static void store_lost(void *context, const StoreLostFile *loss)
{
    Server *server = context;
    state_check(server->state);
    if (loss->is_saved && server->is_open) {
        server->is_saved = true;
        server->loss = loss->why;
        restore_files(server);
    } else {
        log_error("store is no longer writable", LOG_C("error", loss->why.text));
    }
}

/* Readable records are served, so that operators can inspect the store. */
static void store_damaged(void *context, const char *why)
{
    const Server *server = context;
    state_check(server->state);
    log_error("store is damaged and read-only", LOG_C("reason", why));
}

/* If there are settings, there must be a store: an empty one would know none of the nodes. */
static bool open_store(Server *server, Error *err)
{
    const StoreSettings settings = { .existing = true,
                                     .reserve = true,
                                     .verify_ms = STORE_VERIFY_MS,
                                     .lost = store_lost,
                                     .damaged = store_damaged,
                                     .context = server };
    if (!server_store_lock(&server->opened, &server->directory, &server->settings, err)) {
        return false;
    }
    if (!server_store_open(server->options.loop, server->options.state_dir, &server->settings,
                           &settings, &server->opened, err)) {
        return err->kind == ERROR_NOT_FOUND && !server_settings_use_etcd(&server->settings)
                   ? store_identity_lost(server->options.state_dir, err)
                   : false;
    }
    server->store = server->opened.store;
    directory_remove_temporaries(&server->directory); /* no other process uses it now */
    server->identity = (StoreIdentity){ .cluster_store = cluster_of(server),
                                        .state_dir = server->options.state_dir,
                                        .settings = &server->settings,
                                        .done = identity_known,
                                        .context = server };
    return store_identity_check(&server->identity, err);
}

/* Called when no more calls are in progress. */
static void server_free(Server *server)
{
    controllers_free(server->controllers);
    other_servers_free(TAKE(server->others));
    api_free(server->api);
    versions_free(server->versions);
    source_vault_free(server->vault);
    admission_free(server->admission);
    audit_free(TAKE(server->audit));
    credentials_free(server->credentials);
    ssh_verifier_free(server->ssh_verifier);
    services_close(&server->services);
    state_stop(server->state);
    own_certificates_free(server->own);
    /* store callbacks may still complete callers that wait for a certificate */
    server->certify.cas = NULL;
    authority_free(server->authority);
    server_store_close(&server->opened); /* its callbacks may still use these: */
    run_logs_close(server->run_logs);
    fleet_runs_free(server->runs);
    roster_free(server->roster);
    state_free(server->state);
    tls_context_free(server->rpc_tls);
    tls_context_free(server->api_tls);
    directory_close(&server->directory);
    metrics_free(server->metrics);
    arena_clear(&server->arena);
    free(server);
}

static void release(void *context)
{
    Server *server = context;
    LoopRun *closed = server->closed;
    void *closed_context = server->closed_context;
    server_free(server);
    closed(closed_context);
}

/* Handlers are notified of the end of their calls in the next iteration of the loop. */
static void listener_stopped(void *context)
{
    Server *server = context;
    if (--server->stopping == 0) {
        http_server_free(TAKE(server->public_api));
        http_server_free(TAKE(server->local_api));
        plain_server_free(TAKE(server->health));
        grpc_server_free(TAKE(server->rpc));
        loop_defer(server->options.loop, &server->release);
    }
}

bool server_open(const ServerOptions *options, Server **out, Error *err)
{
    Server *server = memory_new(sizeof *server);
    server->options = *options;
    arena_init(&server->arena, ARENA_UNLIMITED);
    server->directory.descriptor = -1;
    server->metrics = metrics_new(loop_wall_ms(options->loop));
    server->check =
        (PeerCheck){ options->loop, server->settings.cluster, &server->roster, &server->refusals };
    loop_task_init(&server->release, release, server);
    loop_timer_init(&server->sweep, options->loop, sweep_expired, server);
    if (!read_files(server, err) || !open_store(server, err)) {
        server_free(server);
        return false;
    }
    clock_watch_init(&server->clock, options->loop, clock_jumped, server);
    server->is_open = true;
    *out = server;
    return true;
}

void server_close(Server *server, int64_t grace_ms, LoopRun *closed, void *context)
{
    BUG_IF(server->closed != NULL);
    server->is_stopping = true;
    server->is_open = false;
    server->rpc_listener = server->api_listener = server->local_listener =
        NULL; /* they are closed now */
    server->closed = closed;
    server->closed_context = context;
    clock_watch_stop(&server->clock);
    loop_timer_stop(&server->sweep);
    server->stopping = 1;
    other_servers_stop(server->others);
    if (server->controllers != NULL) {
        server->stopping++;
        controllers_stop(server->controllers, listener_stopped, server);
    }
    HttpServer *const apis[] = { server->public_api, server->local_api };
    for (size_t i = 0; i < COUNT_OF(apis); i++) {
        if (apis[i] != NULL) {
            server->stopping++;
            http_server_stop(apis[i], grace_ms, listener_stopped, server);
        }
    }
    if (server->health != NULL) {
        server->stopping++;
        plain_server_stop(server->health, grace_ms, listener_stopped, server);
    }
    if (server->rpc != NULL) {
        /* Long-lived streams would only delay the stop. */
        session_service_stop(server->services.sessions);
        store_service_stop(server->services.store);
        server->stopping++;
        grpc_server_stop(server->rpc, grace_ms, listener_stopped, server);
    }
    listener_stopped(server);
}

void server_drain(Server *server)
{
    server->is_stopping = true;
}

uint16_t server_rpc_port(const Server *server)
{
    return listener_port(server->rpc_listener);
}

uint16_t server_api_port(const Server *server)
{
    return listener_port(server->api_listener);
}
