#include "server/other_servers.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "membership/ca_files.h"
#include "membership/liveness.h"
#include "pki/credential.h"
#include "server/own_etcd.h"
#include "server/own_files.h"
#include "server/registration.h"
#include "service/servers_message.h"

/* --- Keys of CAs ------------------------------------------------------------------------------ */

#define FETCHED "ca-fetched.pem" /* until it is verified */

/* Gets the key of a CA that the store names and that is missing here, because another server has begun
 * a rotation: from the other servers, over mutual TLS. */
typedef struct CaFetch {
    const Directory *directory;
    Authority *authority;
    Peers *peers;
    bool is_asking, is_freed;
} CaFetch;

/* A CA that is not here yet becomes the next one; which CA signs is recorded in the store. Sets
 * `*added` if it was new. */
static bool add_ca(const CaFetch *fetch, Str pem, bool *added, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Credential) ca = { 0 };
    AUTO(CaFiles) *files = NULL;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!directory_write(fetch->directory, FETCHED, pem, true, err) ||
        !credential_load(fetch->directory, FETCHED, &arena, &ca, err) ||
        !ca_files_read(fetch->directory, &files, err)) {
        return false;
    }
    if (!ca.chain.items[0].is_ca) {
        return error_set(err, ERROR_INVALID,
                         "the server sent a certificate that is not a CA certificate");
    }
    if (ca_files_find(files, &ca.chain.items[0].pin) != NULL) {
        return true;
    }
    *added = true;
    return credential_save(fetch->directory, AUTHORITY_CA_NEXT, ca.key,
                           (CertificateSet){ ca.chain.items, 1 }, err);
}

static bool add_cas(const CaFetch *fetch, Str response, Error *err)
{
    static const BackupPartKind kinds[] = { BACKUP_CA, BACKUP_CA_NEXT };
    AUTO_CLEAR(Arena) arena;
    ServerFiles files;
    Error ignored;
    bool added = false;
    arena_init(&arena, ARENA_UNLIMITED);
    bool ok = server_files_decode(&arena, response, &files, err);
    for (size_t i = 0; ok && i < COUNT_OF(kinds); i++) {
        Str pem = files.contents[kinds[i]];
        ok = pem.len == 0 || add_ca(fetch, pem, &added, err);
    }
    (void)!directory_remove(fetch->directory, FETCHED, &ignored);
    return ok && (added || error_set(err, ERROR_NOT_FOUND, "the other server does not have it"));
}

static void ca_fetched(void *context, Str response, const Error *err)
{
    CaFetch *fetch = context;
    Error failure;
    fetch->is_asking = false;
    if (fetch->is_freed) {
        free(fetch);
        return;
    }
    if (err == NULL) {
        err = add_cas(fetch, response, &failure) ? NULL : &failure;
    }
    if (err != NULL) {
        log_warning("cannot get the key of the CA from other servers", LOG_C("error", err->text));
        return;
    }
    log_info("the key of a CA was received from another server");
    authority_files_changed(fetch->authority);
}

static CaFetch *ca_fetch_new(const Directory *directory, Authority *authority, Peers *peers)
{
    CaFetch *fetch = memory_new(sizeof *fetch);
    *fetch = (CaFetch){ .directory = directory, .authority = authority, .peers = peers };
    return fetch;
}

/* Must be called before the peers are freed. */
static void ca_fetch_free(CaFetch *fetch)
{
    fetch->is_freed = true;
    if (!fetch->is_asking) {
        free(fetch);
    }
}

/* Starts if a key is missing and no attempt is in progress. */
static void ca_fetch_check(CaFetch *fetch)
{
    if (!fetch->is_asking && authority_is_missing(fetch->authority)) {
        fetch->is_asking = true;
        peers_call_any(fetch->peers, METHOD_SERVERS_FILES, STR_EMPTY, ca_fetched, fetch);
    }
}

/* --- Servers ---------------------------------------------------------------------------------- */

struct OtherServers {
    OtherServersOptions options;
    int64_t started_ms;
    Peers *peers;
    Registration *registration;
    CaFetch *ca_fetch;
    OwnEtcd *etcd; /* NULL: the servers do not run the datastore */
    Error removal; /* why this is no longer a server */
};

/* The record that other servers and nodes see. */
static void describe(void *context, Arena *arena, ServerRecord *out)
{
    const OtherServers *others = context;
    const OtherServersOptions *options = &others->options;
    const ServerSettings *settings = options->store->settings;
    const CertificateSet *trusted = &authority_cas(options->authority)->trusted;
    Str *rpc = ARENA_ARRAY(arena, Str, settings->name_count);
    Str *api = ARENA_ARRAY(arena, Str, settings->name_count);
    server_settings_addresses(arena, settings, options->rpc_port, rpc);
    server_settings_addresses(arena, settings, options->api_port, api);
    *out = (ServerRecord){ .added_ms = others->started_ms,
                           .started_ms = others->started_ms,
                           .rpc = rpc,
                           .rpc_count = settings->name_count,
                           .api = api,
                           .api_count = settings->name_count,
                           .version = STR(EDEN_VERSION) };
    memcpy(out->name, settings->node, sizeof out->name);
    for (uint32_t i = 0; i < trusted->count && i < SERVER_CAS_MAX; i++) {
        const Pin *ca = &trusted->items[i].pin;
        out->cas[out->ca_count++] = *ca;
        out->issuer = own_certificates_are_from(options->own, ca) ? *ca : out->issuer;
    }
    own_etcd_describe(others->etcd, out);
}

/* The keys are no longer needed, and must not be found by the next user of this machine. */
static void drop_files(void *context)
{
    const OtherServers *others = context;
    own_files_drop(others->options.directory);
    others->options.removed(others->options.context, &others->removal);
}

static void removed(void *context, const Error *err)
{
    OtherServers *others = context;
    others->removal = *err;
    if (others->etcd != NULL) {
        own_etcd_leave(others->etcd, drop_files, others);
    } else {
        drop_files(others);
    }
}

static void etcd_changed(void *context)
{
    const OtherServers *others = context;
    registration_update(others->registration);
}

OtherServers *other_servers_new(const OtherServersOptions *options)
{
    OtherServers *others = memory_new(sizeof *others);
    others->options = *options;
    others->started_ms = loop_wall_ms(options->cluster_store.loop);
    others->peers = peers_new(&(PeersOptions){ .cluster_store = options->cluster_store,
                                               .server = str_from_c(options->store->settings->node),
                                               .own = options->own,
                                               .cas = authority_cas(options->authority),
                                               .verify = options->verify,
                                               .context = options->context });
    if (server_settings_own_etcd(options->store->settings)) {
        others->etcd = own_etcd_new(&(OwnEtcdOptions){ .cluster_store = options->cluster_store,
                                                       .store = options->store,
                                                       .directory = options->directory,
                                                       .changed = etcd_changed,
                                                       .context = others });
    }
    others->registration = registration_new(
        &(RegistrationOptions){ .cluster_store = options->cluster_store,
                                .is_shared = server_settings_use_etcd(options->store->settings),
                                .describe = describe,
                                .removed = removed,
                                .context = others },
        str_from_c(options->store->settings->node));
    others->ca_fetch = ca_fetch_new(options->directory, options->authority, others->peers);
    ca_fetch_check(others->ca_fetch);
    return others;
}

void other_servers_stop(OtherServers *others)
{
    if (others != NULL) {
        registration_end(others->registration);
    }
}

void other_servers_free(OtherServers *others)
{
    if (others != NULL) {
        own_etcd_free(others->etcd);
        ca_fetch_free(others->ca_fetch);
        registration_free(others->registration);
        peers_free(others->peers);
        free(others);
    }
}

void other_servers_check(OtherServers *others)
{
    if (others != NULL) {
        ca_fetch_check(others->ca_fetch);
        own_etcd_check(others->etcd);
    }
}

void other_servers_certificates_changed(OtherServers *others)
{
    if (others != NULL) {
        peers_certificates_changed(others->peers);
        registration_update(others->registration);
    }
}

typedef struct BlobFetch {
    VersionsGetDone *done;
    void *context;
} BlobFetch;

static void fetched(void *context, Str response, const Error *err)
{
    BlobFetch *fetch = context;
    AUTO_CLEAR(Arena) arena;
    Str data = STR_EMPTY;
    Error failure;
    arena_init(&arena, ARENA_UNLIMITED);
    if (err == NULL && !server_blob_decode(&arena, response, &data, &failure)) {
        err = &failure;
    }
    fetch->done(fetch->context, data, err);
    free(fetch);
}

void other_servers_fetch(void *slot, Str id, VersionsGetDone *done, void *context)
{
    OtherServers *others = *(OtherServers **)slot;
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    Error err;
    if (others == NULL) {
        error_set(&err, ERROR_NOT_FOUND, "the cluster has no other server");
        done(context, STR_EMPTY, &err);
        return;
    }
    BlobFetch *fetch = memory_new(sizeof *fetch);
    *fetch = (BlobFetch){ done, context };
    server_blob_request_encode(id, &request);
    peers_call_any(others->peers, METHOD_SERVERS_BLOB, buf_str(&request), fetched, fetch);
}

/* --- Pings ------------------------------------------------------------------------------------ */

/* The other server that has the session of the node; empty if it is this one, or unknown. */
static Str find_session(Arena *arena, const OtherServers *others, Str node)
{
    const ClusterStore *cluster_store = &others->options.cluster_store;
    const StateEntry *entry =
        state_find(cluster_store->state, cluster_key_alive(arena, cluster_store->prefix, node));
    Liveness alive;
    Error err;
    if (entry == NULL ||
        !record_read(&alive_format, arena, entry->value, RECORD_STORED, &alive, &err) ||
        str_eq_c(alive.server, others->options.store->settings->node)) {
        return STR_EMPTY;
    }
    return alive.server;
}

typedef struct PingForward {
    SessionPinged *done;
    void *context;
} PingForward;

static void ping_completed(void *context, Str response, const Error *err)
{
    PingForward *forward = context;
    AUTO_CLEAR(Arena) arena;
    SessionPing ping = { 0 };
    Error failure;
    arena_init(&arena, ARENA_UNLIMITED);
    if (err == NULL && !server_ping_decode(&arena, response, &ping, &failure)) {
        err = &failure;
    }
    forward->done(forward->context, err == NULL ? &ping : NULL, err);
    free(forward);
}

void other_servers_ping(OtherServers *others, SessionService *sessions, Str node,
                        SessionPinged *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    arena_init(&arena, ARENA_UNLIMITED);
    Str server = others == NULL ? STR_EMPTY : find_session(&arena, others, node);
    if (server.len == 0) {
        session_service_ping(sessions, node, done, context);
        return;
    }
    PingForward *forward = memory_new(sizeof *forward);
    *forward = (PingForward){ done, context };
    server_ping_request_encode(node, &request);
    peers_call(others->peers, server, METHOD_SERVERS_PING, buf_str(&request), ping_completed,
               forward);
}
