#include "server/founding_inner.h"

#include <stdio.h>

#include "base/log.h"
#include "cluster/cluster_keys.h"
#include "membership/lost_settings.h"
#include "membership/node_record.h"
#include "net/plain_server.h"
#include "pki/ca.h"
#include "pki/trust_notice.h"
#include "store/store.h"
#include "sys/directory.h"
#include "sys/loop.h"
#include "sys/privilege.h"

/* --- Certificates ---------------------------------------------------------------------------- */

bool node_make(Arena *arena, const NodeMaking *making, Certificate *out, Pin *pin, Error *err)
{
    AUTO(P256Private) *key = NULL;
    NodeGrant grant = { .now_ms = making->now_ms, .enrolment = making->enrolment };
    if (!p256_private_make(&key, err) || !p256_public_of(key, &grant.key, err) ||
        !identity_make(str_from_c(making->settings->cluster), str_from_c(making->settings->node),
                       &grant.identity, err) ||
        !ca_issue_node(arena, making->ca, &grant, out, err)) {
        return false;
    }
    p256_public_pin(&grant.key, pin);
    return credential_save(making->directory, making->file, key, (CertificateSet){ out, 1 }, err);
}

/* One for the node, and one for its server, which has a key of its own: they run as different
 * users. */
static bool make_node(Work *work, const Directory *directory, const char *file, Certificate *out,
                      Pin *pin, Error *err)
{
    NodeMaking making = { .directory = directory,
                          .file = file,
                          .ca = &work->ca,
                          .settings = &work->settings,
                          .enrolment = str_from_c(work->node.enrolment),
                          .now_ms = work->founding->now_ms };
    return node_make(&work->arena, &making, out, pin, err);
}

/* Where the agent of this machine reaches what listens on `listening`. */
static bool own_address(Arena *arena, Str listening, uint16_t port, Str *out, Error *err)
{
    Address address;
    if (!address_parse(listening, port, &address, err)) {
        return false;
    }
    address_reach_here(&address);
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

bool work_make_agent(Work *work, Error *err)
{
    Certificate certificate;
    NodeRecord *node = &work->node;
    if (!make_node(work, &work->agent, AGENT_CREDENTIAL, &certificate, &node->key, err)) {
        return false;
    }
    snprintf(node->serial, sizeof node->serial, "%s", certificate.serial);
    node->not_after_ms = certificate.not_after_ms;
    TrustReport report;
    Buf text = buf_make_in(&work->arena, BUF_UNLIMITED);
    trust_report_make(&certificate, work->ca.chain, work->founding->now_ms, &report);
    trust_report_print(&report, &text);
    work->report = buf_str(&text);
    Buf bundle = buf_make_in(&work->arena, BUF_UNLIMITED);
    buf_put(&bundle, certificate_pem(&work->arena, &work->ca.chain.items[0]));
    buf_put(&bundle, work->others);
    work->has_state = true;
    return directory_write(&work->agent, AGENT_BUNDLE, buf_str(&bundle), true, err) &&
           own_node_state_save(&work->arena, &work->agent, &work->settings, err);
}

void work_undo(Work *work)
{
    Error err;
    if (work->has_state && !directory_has(&work->server, SERVER_SETTINGS_FILE) &&
        directory_has(&work->agent, AGENT_STATE) &&
        !directory_remove(&work->agent, AGENT_STATE, &err)) {
        log_warning("cannot remove an obsolete file", LOG_C("why", err.text));
    }
}

bool serving_make(const Directory *server, const Credential *ca, const ServerSettings *settings,
                  int64_t now_ms, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO(P256Private) *key = NULL;
    Certificate certificate;
    ServingNames names = server_settings_serving_names(&arena, settings);
    ServingGrant grant = { .names = names.items, .name_count = names.count, .now_ms = now_ms };
    return p256_private_make(&key, err) && p256_public_of(key, &grant.key, err) &&
           ca_issue_serving(&arena, ca, &grant, &certificate, err) &&
           credential_save(server, SERVER_SERVING, key, (CertificateSet){ &certificate, 1 }, err);
}

bool work_make_server(Work *work, Error *err)
{
    Certificate certificate;
    Pin pin;
    return make_node(work, &work->server, SERVER_NODE, &certificate, &pin, err) &&
           serving_make(&work->server, &work->ca, &work->settings, work->founding->now_ms, err);
}

/* --- The store ------------------------------------------------------------------------------- */

typedef struct Write {
    Loop *loop;
    bool ok;
    Error err;
} Write;

static void written(void *context, const StoreReply *reply, const Error *err)
{
    Write *write = context;
    write->ok = err == NULL;
    write->err = err == NULL ? write->err : *err;
    loop_stop(write->loop);
}

static bool apply(Store *store, Loop *loop, const StoreOp *ops, uint32_t count, Error *err)
{
    Write write = { .loop = loop };
    StoreTxn txn = { .success = ops, .success_count = count };
    if (!store_txn(store, &txn, written, &write, err)) {
        return false;
    }
    loop_run(loop);
    *err = write.err;
    return write.ok;
}

bool work_write_store(Work *work, bool keep, Error *err)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(Store) *store = NULL;
    Arena *arena = &work->arena;
    const char *path =
        arena_format(arena, "%s/" SERVER_DIRECTORY "/" SERVER_STORE, work->founding->state_dir)
            .data;
    Str all = KEYS_PREFIX, name = str_from_c(work->node.name);
    Buf record = buf_make_in(arena, BUF_UNLIMITED);
    node_record_print(&work->node, &record);
    /* What an earlier founding left there is of no cluster. */
    const StoreOp clear = { .kind = STORE_DELETE, .key = all, .end = store_prefix_end(arena, all) };
    const StoreOp puts[] = {
        { .kind = STORE_PUT,
          .key = cluster_key_node(arena, KEYS_PREFIX, name),
          .value = buf_str(&record) },
        { .kind = STORE_PUT,
          .key = cluster_key_trust_of(arena, KEYS_PREFIX, name),
          .value = work->report },
        { .kind = STORE_PUT,
          .key = cluster_key_store_id(arena, KEYS_PREFIX),
          .value = str_from_c(work->settings.store_id) },
        { .kind = STORE_PUT, .key = cluster_key_moved(arena, KEYS_PREFIX), .value = STR("1") },
        { .kind = STORE_PUT,
          .key = cluster_key_revocations(arena, KEYS_PREFIX),
          .value = work->revocations },
    };
    uint32_t count = COUNT_OF(puts) - (work->revocations.len == 0);
    return store_open_sqlite(loop, path, NULL, &store, err) &&
           (keep || apply(store, loop, &clear, 1, err)) && apply(store, loop, puts, count, err);
}

/* --- All of it ------------------------------------------------------------------------------- */

/* What is the server's, done as the user that it is going to run as. */
bool work_as_server(Work *work, WorkStep *step, Error *err)
{
    const Founding *founding = work->founding;
    if (!founding->has_user) {
        return step(work, err);
    }
    if (!privileges_lend(founding->user, founding->group, err)) {
        return false;
    }
    bool ok = step(work, err);
    privileges_return();
    return ok;
}

static bool open_directories(Work *work, Error *err)
{
    const Founding *founding = work->founding;
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    if (!directory_make(founding->state_dir, &state, err) ||
        !directory_make_child(&state, SERVER_DIRECTORY, &work->server, err) ||
        !directory_make_child(&state, AGENT_DIRECTORY, &work->agent, err)) {
        return false;
    }
    /* Its parent can be passed by everybody then, and each directory in it is private. */
    return !founding->has_user ||
           (directory_set_mode(&state, 0711, err) &&
            directory_give(&work->server, founding->user, founding->group, err));
}

/* node.json makes a machine a node. One that a killed founding has left trusts the CA that this left
 * beside it, and nobody else's. */
static bool is_member_elsewhere(Work *work)
{
    AUTO_CLEAR(Credential) ca = { 0 };
    Str bundle;
    Error err;
    if (!directory_has(&work->agent, AGENT_STATE)) {
        return false;
    }
    return !credential_load(&work->server, SERVER_CA, &work->arena, &ca, &err) ||
           !directory_read(&work->agent, &work->arena, AGENT_BUNDLE, AGENT_BUNDLE_MAX, &bundle,
                           &err) ||
           !str_eq(bundle, certificate_pem(&work->arena, &ca.chain.items[0]));
}

bool work_drop_leftover(const Work *work, Error *err)
{
    if (!directory_write(&work->server, FOUNDING_UNFINISHED, STR_EMPTY, true, err)) {
        return false;
    }
    if (!directory_remove(&work->server, SERVER_SETTINGS_FILE, err) &&
        err->kind != ERROR_NOT_FOUND) {
        return false;
    }
    directory_sync(&work->server);
    if (!directory_remove(&work->agent, AGENT_STATE, err) && err->kind != ERROR_NOT_FOUND) {
        return false;
    }
    directory_sync(&work->agent);
    return true;
}

/* A server that runs has the store still, and would save it beside what is put in its place. */
static bool refuse_open(const char *store, Error *err)
{
    return !store_is_open(store) || error_set(err, ERROR_CONFLICT,
                                              "%s is missing, but a running server still has all "
                                              "of it: stop that server, which saves it",
                                              store);
}

static bool refuse_second(Work *work, Error *err)
{
    bool is_cluster = directory_has(&work->server, SERVER_SETTINGS_FILE);
    const char *store = arena_format(&work->arena, "%s/" SERVER_DIRECTORY "/" SERVER_STORE "%c",
                                     work->founding->state_dir, '\0')
                            .data;
    if (is_cluster && work->replaces_lost && !store_is_there(store)) {
        return refuse_open(store, err);
    }
    if (is_cluster) {
        return error_set(err, ERROR_CONFLICT, "a cluster already exists in %s", work->server.path);
    }
    if (lost_settings_are(&work->server)) {
        lost_settings_tell(&work->server, err);
        err->kind = ERROR_CONFLICT;
        return false;
    }
    if (is_member_elsewhere(work)) {
        return error_set(err, ERROR_CONFLICT,
                         "this machine already belongs to a cluster; 'eden leave' removes it");
    }
    return true;
}

static bool is_same_port(const Address *a, const Address *b)
{
    return a->port != 0 && a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* Port 0 is any free one, and so another one each time. */
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
        return error_set(err, ERROR_INVALID,
                         "--health requires a separate port: on %u everything else is encrypted",
                         (unsigned)health.port);
    }
    return !is_same_port(&rpc, &api) ||
           error_set(err, ERROR_INVALID,
                     "--rpc and --api cannot both use port %u; give each its own port",
                     (unsigned)rpc.port);
}

bool work_begin(Work *work, Error *err)
{
    if (!check_ports(&work->settings, err)) {
        return false;
    }
    NodeRecord *node = &work->node;
    *node = (NodeRecord){ .is_server = true,
                          .joined_ms = work->founding->now_ms,
                          .labels = value_missing() };
    snprintf(node->name, sizeof node->name, "%s", work->settings.node);
    _Static_assert((int)CLUSTER_ID_TEXT <= (int)STORE_ID_MAX, "a cluster ID fits into a store");
    return enrolment_make(node->enrolment, err) && cluster_id_make(work->settings.store_id, err);
}

bool work_write_settings(Work *work, Error *err)
{
    Buf text = buf_make_in(&work->arena, BUF_UNLIMITED);
    server_settings_print(&work->settings, &text);
    return directory_write(&work->server, SERVER_SETTINGS_FILE, buf_str(&text), true, err) &&
           (directory_remove(&work->server, FOUNDING_UNFINISHED, err) ||
            err->kind == ERROR_NOT_FOUND);
}

void work_init(Work *work, const Founding *founding)
{
    *work = (Work){ .founding = founding,
                    .settings = founding->settings,
                    .server = { .descriptor = -1 },
                    .agent = { .descriptor = -1 },
                    .lock = { .descriptor = -1 } };
    arena_init(&work->arena, ARENA_UNLIMITED);
}

void work_clear(Work *work)
{
    credential_clear(&work->ca);
    file_lock_release(&work->lock);
    directory_close(&work->server);
    directory_close(&work->agent);
    arena_clear(&work->arena);
}

static bool take_lock(Work *work, Error *err)
{
    Str holder;
    if (file_lock_take(&work->agent, FOUNDING_LOCK, STR("eden init"), &work->arena, &work->lock,
                       &holder, err)) {
        return true;
    }
    return err->kind == ERROR_CONFLICT
               ? error_set(err, ERROR_CONFLICT,
                           "a cluster is already being created or restored here")
               : false;
}

bool work_open(Work *work, Error *err)
{
    return open_directories(work, err) && take_lock(work, err) && refuse_second(work, err);
}

static bool make_ca(Work *work, Error *err)
{
    return ca_make(&work->arena, str_from_c(work->settings.cluster), work->founding->now_ms,
                   &work->ca, err) &&
           credential_save(&work->server, SERVER_CA, work->ca.key, work->ca.chain, err);
}

static bool write_new_store(Work *work, Error *err)
{
    return work_write_store(work, false, err);
}

bool cluster_found(const Founding *founding, Pin *ca, Error *err)
{
    Work work;
    work_init(&work, founding);
    bool ok = work_open(&work, err) && work_drop_leftover(&work, err) && work_begin(&work, err) &&
              work_as_server(&work, make_ca, err) && work_as_server(&work, work_make_server, err) &&
              work_make_agent(&work, err) && work_as_server(&work, write_new_store, err) &&
              work_as_server(&work, work_write_settings, err);
    if (ok) {
        *ca = work.ca.chain.items[0].pin;
    } else {
        work_undo(&work);
    }
    work_clear(&work);
    return ok;
}
