/* Creating a cluster: directories, CA, certificates, store, and last the settings, without which
 * there is no cluster. Steps that create files of the server run as its user (setup_as_server).
 * restore_cluster.c uses the same steps. */
#include "server/cluster_setup.h"

#include <stdio.h>

#include "base/log.h"
#include "cluster/cluster_keys.h"
#include "datastore/member_settings.h"
#include "datastore/server_member.h"
#include "membership/lost_settings.h"
#include "membership/node_record.h"
#include "net/plain_server.h"
#include "pki/ca.h"
#include "pki/trust_notice.h"
#include "server/server_store.h"
#include "store/store.h"
#include "sys/directory.h"
#include "sys/loop.h"
#include "sys/privilege.h"

/* --- Certificates ---------------------------------------------------------------------------- */

bool node_issue(Arena *arena, const NodeIssue *issue, Certificate *out, Pin *pin, Error *err)
{
    AUTO(P256Private) *key = NULL;
    NodeCertificateSpec grant = { .now_ms = issue->now_ms, .enrollment = issue->enrollment };
    if (!p256_private_make(&key, err) || !p256_public_of(key, &grant.key, err) ||
        !identity_make(str_from_c(issue->settings->cluster), str_from_c(issue->settings->node),
                       &grant.identity, err) ||
        !ca_issue_node(arena, issue->ca, &grant, out, err)) {
        return false;
    }
    p256_public_pin(&grant.key, pin);
    return credential_save(issue->directory, issue->file, key, (CertificateSet){ out, 1 }, err);
}

/* One for the node, and one for its server, with separate keys: they run as different users. */
static bool make_node(ClusterSetup *setup, const Directory *directory, const char *file,
                      Certificate *out, Pin *pin, Error *err)
{
    NodeIssue issue = { .directory = directory,
                        .file = file,
                        .ca = &setup->ca,
                        .settings = &setup->settings,
                        .enrollment = str_from_c(setup->node.enrollment),
                        .now_ms = setup->spec->now_ms };
    return node_issue(&setup->arena, &issue, out, pin, err);
}

/* The address at which the agent of this machine reaches a listener. */
static bool own_address(Arena *arena, Str listening, uint16_t port, Str *out, Error *err)
{
    Address address;
    if (!address_parse(listening, port, &address, err)) {
        return false;
    }
    address_make_connectable(&address);
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    address_format(&address, &text);
    *out = buf_str(&text);
    return true;
}

bool own_node_state_save(Arena *arena, const Directory *agent, const ServerSettings *settings,
                         Error *err)
{
    NodeServer server = { 0 };
    NodeState state = { .servers = &server, .server_count = 1 };
    snprintf(state.cluster, sizeof state.cluster, "%s", settings->cluster);
    snprintf(state.node, sizeof state.node, "%s", settings->node);
    snprintf(server.node, sizeof server.node, "%s", settings->node);
    return own_address(arena, settings->rpc, PORT_RPC, &server.rpc, err) &&
           own_address(arena, settings->api, PORT_API, &server.api, err) &&
           node_state_save(agent, &state, err);
}

bool setup_make_agent(ClusterSetup *setup, Error *err)
{
    Certificate certificate;
    NodeRecord *node = &setup->node;
    if (!make_node(setup, &setup->agent, AGENT_CREDENTIAL, &certificate, &node->key, err)) {
        return false;
    }
    snprintf(node->serial, sizeof node->serial, "%s", certificate.serial);
    node->not_after_ms = certificate.not_after_ms;
    TrustReport report;
    Buf text = buf_make_in(&setup->arena, BUF_UNLIMITED);
    trust_report_make(&certificate, setup->ca.chain, setup->spec->now_ms, &report);
    trust_report_print(&report, &text);
    setup->report = buf_str(&text);
    Buf bundle = buf_make_in(&setup->arena, BUF_UNLIMITED);
    buf_put(&bundle, certificate_pem(&setup->arena, &setup->ca.chain.items[0]));
    buf_put(&bundle, setup->others);
    setup->has_state = true;
    return directory_write(&setup->agent, AGENT_BUNDLE, buf_str(&bundle), true, err) &&
           own_node_state_save(&setup->arena, &setup->agent, &setup->settings, err);
}

void setup_undo(ClusterSetup *setup)
{
    Error err;
    if (setup->etcd != NULL) {
        own_etcd_run_free(TAKE(setup->etcd));
        if (!server_member_delete(setup->spec->state_dir, &err)) {
            log_warning("cannot delete the data of etcd", LOG_C("error", err.text));
        }
    }
    if (setup->has_state && !directory_has(&setup->server, SERVER_SETTINGS_FILE) &&
        directory_has(&setup->agent, AGENT_STATE) &&
        !directory_remove(&setup->agent, AGENT_STATE, &err)) {
        log_warning("cannot remove an obsolete file", LOG_C("error", err.text));
    }
}

bool serving_issue(const Directory *server, const Credential *ca, const ServerSettings *settings,
                   int64_t now_ms, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO(P256Private) *key = NULL;
    Certificate certificate;
    ServingNames names = server_settings_serving_names(&arena, settings);
    ServingCertificateSpec grant = { .names = names.items,
                                     .name_count = names.count,
                                     .now_ms = now_ms };
    return p256_private_make(&key, err) && p256_public_of(key, &grant.key, err) &&
           ca_issue_serving(&arena, ca, &grant, &certificate, err) &&
           credential_save(server, SERVER_SERVING, key, (CertificateSet){ &certificate, 1 }, err);
}

bool setup_make_server(ClusterSetup *setup, Error *err)
{
    Certificate certificate;
    Pin pin;
    return make_node(setup, &setup->server, SERVER_NODE, &certificate, &pin, err) &&
           serving_issue(&setup->server, &setup->ca, &setup->settings, setup->spec->now_ms, err);
}

/* --- Store ----------------------------------------------------------------------------------- */

typedef struct Write {
    Loop *loop;
    bool ok;
    Error err;
} Write;

static void written(void *context, const StoreReply *reply, const Error *err)
{
    Write *write = context;
    write->ok = err == NULL && reply->succeeded;
    if (err != NULL) {
        write->err = *err;
    } else if (!reply->succeeded) {
        error_set(&write->err, ERROR_CONFLICT, "another cluster was created in the same store");
    }
    loop_stop(write->loop);
}

static bool apply(Store *store, Loop *loop, const StoreTxn *txn, Error *err)
{
    Write write = { .loop = loop };
    if (!store_txn(store, txn, written, &write, err)) {
        return false;
    }
    loop_run(loop);
    *err = write.err;
    return write.ok;
}

bool setup_write_store(ClusterSetup *setup, const ServerSettings *where, bool keep, Error *err)
{
    AUTO(Loop) *loop = loop_new();
    AUTO_CLEAR(ServerStore) opened = { 0 };
    Arena *arena = &setup->arena;
    Str all = KEYS_PREFIX, name = str_from_c(setup->node.name);
    Buf record = buf_make_in(arena, BUF_UNLIMITED);
    node_record_print(&setup->node, &record);
    /* Files of an earlier attempt are not part of any cluster. */
    const StoreOp clear = { .kind = STORE_DELETE, .key = all, .end = store_prefix_end(arena, all) };
    const StoreOp puts[] = {
        { .kind = STORE_PUT,
          .key = cluster_key_node(arena, KEYS_PREFIX, name),
          .value = buf_str(&record) },
        { .kind = STORE_PUT,
          .key = cluster_key_trust_of(arena, KEYS_PREFIX, name),
          .value = setup->report },
        { .kind = STORE_PUT,
          .key = cluster_key_store_id(arena, KEYS_PREFIX),
          .value = str_from_c(setup->settings.store_id) },
        { .kind = STORE_PUT, .key = cluster_key_moved(arena, KEYS_PREFIX), .value = STR("1") },
        { .kind = STORE_PUT,
          .key = cluster_key_revocations(arena, KEYS_PREFIX),
          .value = setup->revocations },
    };
    const StoreCompare is_new = { .target = STORE_VERSION,
                                  .relation = STORE_EQUAL,
                                  .key = cluster_key_store_id(arena, KEYS_PREFIX) };
    StoreTxn clearing = { .success = &clear, .success_count = 1 };
    StoreTxn txn = { .compares = &is_new,
                     .compare_count = keep ? 0 : 1,
                     .success = puts,
                     .success_count = COUNT_OF(puts) - (setup->revocations.len == 0) };
    if (!server_store_open(loop, setup->spec->state_dir, where, NULL, &opened, err)) {
        return false;
    }
    /* etcd may contain keys of other applications. */
    bool is_clear =
        keep || (server_settings_use_etcd(where) ? server_store_check_unused(&opened, err)
                                                 : apply(opened.store, loop, &clearing, err));
    return is_clear && apply(opened.store, loop, &txn, err);
}

/* --- Public API ------------------------------------------------------------------------------ */

/* Runs a step of the server as the user that the server will run as. */
bool setup_as_server(ClusterSetup *setup, SetupStep *step, Error *err)
{
    const ClusterSpec *spec = setup->spec;
    if (!spec->has_user) {
        return step(setup, err);
    }
    if (!privileges_lend(spec->user, spec->group, err)) {
        return false;
    }
    bool ok = step(setup, err);
    privileges_return();
    return ok;
}

static bool open_directories(ClusterSetup *setup, Error *err)
{
    const ClusterSpec *spec = setup->spec;
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    if (!directory_make(spec->state_dir, &state, err) ||
        !directory_make_child(&state, SERVER_DIRECTORY, &setup->server, err) ||
        !directory_make_child(&state, AGENT_DIRECTORY, &setup->agent, err)) {
        return false;
    }
    /* The parent directory is then traversable by all users; each directory in it is private. */
    return !spec->has_user || (directory_set_mode(&state, 0711, err) &&
                               directory_give(&setup->server, spec->user, spec->group, err));
}

/* node.json makes a machine a node. One that was left by a killed attempt trusts only the CA of
 * that attempt. */
static bool is_member_of_other(ClusterSetup *setup)
{
    AUTO_CLEAR(Credential) ca = { 0 };
    Str bundle;
    Error err;
    if (!directory_has(&setup->agent, AGENT_STATE)) {
        return false;
    }
    return !credential_load(&setup->server, SERVER_CA, &setup->arena, &ca, &err) ||
           !directory_read(&setup->agent, &setup->arena, AGENT_BUNDLE, AGENT_BUNDLE_MAX, &bundle,
                           &err) ||
           !str_eq(bundle, certificate_pem(&setup->arena, &ca.chain.items[0]));
}

/* A file that is missing is fine. */
static bool remove_file(const Directory *directory, const char *name, Error *err)
{
    return directory_remove(directory, name, err) || err->kind == ERROR_NOT_FOUND;
}

bool setup_drop_leftover(const ClusterSetup *setup, Error *err)
{
    if (!directory_write(&setup->server, CREATE_UNFINISHED, STR_EMPTY, true, err)) {
        return false;
    }
    if (!remove_file(&setup->server, SERVER_SETTINGS_FILE, err) ||
        !remove_file(&setup->server, DATASTORE_SETTINGS, err) ||
        !remove_file(&setup->server, DATASTORE_CA_KEY, err)) {
        return false;
    }
    directory_sync(&setup->server);
    if (!server_member_delete(setup->spec->state_dir, err) ||
        !remove_file(&setup->agent, AGENT_STATE, err)) {
        return false;
    }
    directory_sync(&setup->agent);
    return true;
}

/* A running server still has the store open, and would save it next to the replacement. */
static bool refuse_open(const char *store, Error *err)
{
    return !store_is_open(store) || error_set(err, ERROR_CONFLICT,
                                              "%s is missing, but a running server still has all "
                                              "of it: stop that server, so that it saves it",
                                              store);
}

static bool refuse_second(ClusterSetup *setup, Error *err)
{
    bool is_cluster = directory_has(&setup->server, SERVER_SETTINGS_FILE);
    const char *store = arena_format(&setup->arena, "%s/" SERVER_DIRECTORY "/" SERVER_STORE "%c",
                                     setup->spec->state_dir, '\0')
                            .data;
    bool has_member = directory_has(&setup->server, DATASTORE_SETTINGS);
    if (is_cluster && setup->replaces_lost && !has_member && !store_exists(store)) {
        return refuse_open(store, err);
    }
    if (is_cluster) {
        return error_set(err, ERROR_CONFLICT, "a cluster already exists in %s", setup->server.path);
    }
    if (setup->is_joining) {
        return true;
    }
    if (settings_are_lost(&setup->server)) {
        lost_settings_error(&setup->server, err);
        err->kind = ERROR_CONFLICT;
        return false;
    }
    if (is_member_of_other(setup)) {
        return error_set(err, ERROR_CONFLICT,
                         "this machine already belongs to a cluster; 'eden leave' removes it");
    }
    return true;
}

static bool is_same_port(const Address *a, const Address *b)
{
    return a->port != 0 && a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* Port 0 means any free port, so there is no conflict. */
static bool check_ports(const ServerSettings *settings, Error *err)
{
    Address rpc, api, health = { 0 };
    if (!address_parse(settings->rpc, PORT_RPC, &rpc, err) ||
        !address_parse(settings->api, PORT_API, &api, err)) {
        return false;
    }
    if (settings->health.len > 0 && !plain_address_parse(settings->health, &health, err)) {
        return error_wrap(err, "--health");
    }
    if (is_same_port(&health, &rpc) || is_same_port(&health, &api)) {
        return error_set(err, ERROR_INVALID, "--health requires a separate port: port %u uses TLS",
                         (unsigned)health.port);
    }
    return !is_same_port(&rpc, &api) ||
           error_set(err, ERROR_INVALID,
                     "--rpc and --api cannot both use port %u; choose different ports",
                     (unsigned)rpc.port);
}

bool setup_begin(ClusterSetup *setup, Error *err)
{
    if (!check_ports(&setup->settings, err)) {
        return false;
    }
    NodeRecord *node = &setup->node;
    *node = (NodeRecord){ .is_server = true,
                          .joined_ms = setup->spec->now_ms,
                          .labels = value_missing() };
    snprintf(node->name, sizeof node->name, "%s", setup->settings.node);
    _Static_assert((int)CLUSTER_ID_TEXT <= (int)STORE_ID_MAX, "a cluster ID fits into a store");
    return enrollment_make(node->enrollment, err) && cluster_id_make(setup->settings.store_id, err);
}

bool setup_write_settings(ClusterSetup *setup, Error *err)
{
    Buf text = buf_make_in(&setup->arena, BUF_UNLIMITED);
    server_settings_print(&setup->settings, &text);
    return directory_write(&setup->server, SERVER_SETTINGS_FILE, buf_str(&text), true, err) &&
           (directory_remove(&setup->server, CREATE_UNFINISHED, err) ||
            err->kind == ERROR_NOT_FOUND);
}

void setup_init(ClusterSetup *setup, const ClusterSpec *spec)
{
    *setup = (ClusterSetup){ .spec = spec,
                             .settings = spec->settings,
                             .server = { .descriptor = -1 },
                             .agent = { .descriptor = -1 },
                             .lock = { .descriptor = -1 } };
    arena_init(&setup->arena, ARENA_UNLIMITED);
}

void setup_clear(ClusterSetup *setup)
{
    own_etcd_run_free(setup->etcd);
    credential_clear(&setup->ca);
    file_lock_release(&setup->lock);
    directory_close(&setup->server);
    directory_close(&setup->agent);
    arena_clear(&setup->arena);
}

static bool take_lock(ClusterSetup *setup, Error *err)
{
    Str holder;
    if (file_lock_take(&setup->agent, CREATE_LOCK, STR("eden init"), &setup->arena, &setup->lock,
                       &holder, err)) {
        return true;
    }
    return err->kind == ERROR_CONFLICT
               ? error_set(err, ERROR_CONFLICT,
                           "a cluster is already being created or restored here")
               : false;
}

bool setup_open(ClusterSetup *setup, Error *err)
{
    return open_directories(setup, err) && take_lock(setup, err) && refuse_second(setup, err);
}

static bool prepare_etcd(ClusterSetup *setup, Error *err)
{
    const ServerSettings *settings = &setup->settings;
    return own_etcd_make_ca(&setup->server, settings, setup->spec->now_ms, err) &&
           own_etcd_prepare(&setup->server, settings, settings->etcd, settings->etcd_count,
                            setup->spec->now_ms, err);
}

bool setup_start_etcd(ClusterSetup *setup, Error *err)
{
    return !server_settings_own_etcd(&setup->settings) ||
           (setup_as_server(setup, prepare_etcd, err) &&
            own_etcd_run_start(setup->spec->state_dir, &setup->etcd, err));
}

bool setup_stop_etcd(ClusterSetup *setup, Error *err)
{
    if (setup->etcd != NULL && !own_etcd_run_stop(setup->etcd, err)) {
        return false;
    }
    own_etcd_run_free(TAKE(setup->etcd));
    return true;
}

static bool make_ca(ClusterSetup *setup, Error *err)
{
    return ca_make(&setup->arena, str_from_c(setup->settings.cluster), setup->spec->now_ms,
                   &setup->ca, err) &&
           credential_save(&setup->server, SERVER_CA, setup->ca.key, setup->ca.chain, err);
}

static bool write_new_store(ClusterSetup *setup, Error *err)
{
    return setup_write_store(setup, &setup->settings, false, err);
}

bool cluster_create(const ClusterSpec *spec, Pin *ca, Error *err)
{
    ClusterSetup setup;
    setup_init(&setup, spec);
    bool ok = setup_open(&setup, err) && setup_drop_leftover(&setup, err) &&
              setup_begin(&setup, err) && setup_as_server(&setup, make_ca, err) &&
              setup_as_server(&setup, setup_make_server, err) && setup_make_agent(&setup, err) &&
              setup_start_etcd(&setup, err) && setup_as_server(&setup, write_new_store, err) &&
              setup_stop_etcd(&setup, err) && setup_as_server(&setup, setup_write_settings, err);
    if (ok) {
        *ca = setup.ca.chain.items[0].pin;
    } else {
        setup_undo(&setup);
    }
    setup_clear(&setup);
    return ok;
}
