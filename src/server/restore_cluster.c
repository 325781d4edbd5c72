/* Restoring a cluster from a backup: unpack and verify everything in a directory inside the
 * server's directory, choose the settings, take over CA and store, replace the old server's node
 * with this one, and write the settings last, with the steps of create_cluster.c. */
#include "server/restore_cluster.h"

#include <stdio.h>

#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "membership/node_sweep.h"
#include "membership/nodes.h"
#include "pki/revocation.h"
#include "server/cluster_setup.h"
#include "server/server_store.h"
#include "server/store_copy.h"
#include "store/store.h"
#include "sys/loop.h"

#define DIRECTORY "restore"    /* in the server's directory, until the restore is complete */
#define DUMP      "moved.dump" /* in it: the store, on its way to etcd */

typedef struct RestoreRun {
    ClusterSetup setup; /* must be first, so that steps can cast it */
    Arena *arena;
    const RestoreSpec *spec;
    RestoreResult *out;
    FileReader *backup; /* opened as the invoking user, who may be the only one who can read it */
    const char *directory;
    Directory unpacked;
} RestoreRun;

/* --- Reading the backup ---------------------------------------------------------------------- */

static bool unpack(ClusterSetup *setup, Error *err)
{
    RestoreRun *restore = (RestoreRun *)setup;
    BackupManifest manifest;
    directory_remove_child(&setup->server, DIRECTORY);
    restore->directory =
        arena_format(restore->arena, "%s/" SERVER_DIRECTORY "/" DIRECTORY, setup->spec->state_dir)
            .data;
    return directory_make_child(&setup->server, DIRECTORY, &restore->unpacked, err) &&
           ((backup_unpack(restore->backup, restore->directory, &manifest, err) &&
             backup_check(restore->arena, restore->directory, &manifest, &restore->out->content,
                          err)) ||
            error_wrap(err, "%s", restore->spec->backup));
}

static void choose_settings(RestoreRun *restore)
{
    const ServerSettings *requested = &restore->spec->spec.settings;
    ServerSettings settings = restore->out->content.settings;
    if (requested->node[0] != '\0') {
        memcpy(settings.node, requested->node, sizeof settings.node);
    }
    settings.rpc = requested->rpc.len > 0 ? requested->rpc : settings.rpc;
    settings.api = requested->api.len > 0 ? requested->api : settings.api;
    settings.health = requested->health.len > 0 ? requested->health : settings.health;
    if (requested->name_count > 0) {
        settings.names = requested->names;
        settings.name_count = requested->name_count;
    }
    settings.etcd = requested->etcd;
    settings.etcd_count = requested->etcd_count;
    settings.etcd_ca = requested->etcd_ca;
    settings.etcd_certificate = requested->etcd_certificate;
    settings.etcd_key = requested->etcd_key;
    settings.etcd_address = requested->etcd_address;
    restore->setup.settings = settings;
}

/* --- Applying it ----------------------------------------------------------------------------- */

static bool copy_part(RestoreRun *restore, BackupPartKind kind, Error *err)
{
    const char *name = backup_part_name(kind);
    const BackupPart *part = &restore->out->content.manifest.parts[kind];
    Str text;
    if (!part->is_present) {
        return true;
    }
    return directory_read(&restore->unpacked, &restore->setup.arena, name, (size_t)part->size + 1,
                          &text, err) &&
           directory_write(&restore->setup.server, name, text, true, err);
}

/* Both CAs if the cluster was in a rotation: certificates are issued by the one that signs. */
static bool adopt_cas(RestoreRun *restore, Error *err)
{
    ClusterSetup *setup = &restore->setup;
    const BackupContent *content = &restore->out->content;
    BackupPartKind signs = content->is_next ? BACKUP_CA_NEXT : BACKUP_CA;
    BackupPartKind other = content->is_next ? BACKUP_CA : BACKUP_CA_NEXT;
    Credential other_ca = { 0 };
    if (!credential_load(&setup->server, backup_part_name(signs), &setup->arena, &setup->ca, err)) {
        return false;
    }
    if (!content->manifest.parts[other].is_present) {
        return true;
    }
    if (!credential_load(&setup->server, backup_part_name(other), &setup->arena, &other_ca, err)) {
        return false;
    }
    setup->others = certificate_pem(&setup->arena, &other_ca.chain.items[0]);
    credential_clear(&other_ca);
    return true;
}

static bool adopt_parts(ClusterSetup *setup, Error *err)
{
    RestoreRun *restore = (RestoreRun *)setup;
    static const BackupPartKind kinds[] = { BACKUP_CA, BACKUP_CA_NEXT, BACKUP_SSH_KEY,
                                            BACKUP_SSH_PUBLIC, BACKUP_SOURCE_KEY };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (!copy_part(restore, kinds[i], err)) {
            return false;
        }
    }
    directory_remove_child(&setup->server, SERVER_STORE);
    return directory_move(&restore->unpacked, BACKUP_OPENED, &setup->server, SERVER_STORE, err) &&
           adopt_cas(restore, err) && setup_make_server(setup, err);
}

/* --- Store ----------------------------------------------------------------------------------- */

/* The records in the store about this server's new name. */
typedef struct RestoreState {
    Loop *loop;
    ClusterSetup *setup;
    bool has_leftovers; /* data of a removed node of this name is left */
    bool name_existed;
    NodeRecord record; /* its record */
    RevocationList revoked;
    bool ok;
    Error err;
} RestoreState;

enum {
    SWEEP_CHECK_MS = 5 /* interval for checking whether the sweep has ended */
};

enum {
    OP_NODE,
    OP_REVOKED,
    OP_REMOVED,
    OP_COUNT
};

static void read(void *context, const StoreReply *reply, const Error *err)
{
    RestoreState *before = context;
    Arena *arena = &before->setup->arena;
    before->ok = err == NULL;
    if (err != NULL) {
        before->err = *err;
    } else {
        const StoreOpReply *node = &reply->ops[OP_NODE], *revoked = &reply->ops[OP_REVOKED];
        before->name_existed = node->kv_count > 0;
        before->has_leftovers = reply->ops[OP_REMOVED].kv_count > 0;
        before->revoked = (RevocationList){ 0 };
        before->ok =
            (node->kv_count == 0 || node_record_read(arena, arena_copy(arena, node->kvs[0].value),
                                                     &before->record, &before->err)) &&
            (revoked->kv_count == 0 ||
             revocation_read(arena, arena_copy(arena, revoked->kvs[0].value), &before->revoked,
                             &before->err));
    }
    loop_stop(before->loop);
}

static bool read_before(RestoreState *before, Store *store, Error *err)
{
    Arena *arena = &before->setup->arena;
    const StoreOp ops[OP_COUNT] = {
        [OP_NODE] = { .kind = STORE_RANGE,
                      .key = cluster_key_node(arena, KEYS_PREFIX,
                                              str_from_c(before->setup->settings.node)) },
        [OP_REVOKED] = { .kind = STORE_RANGE, .key = cluster_key_revocations(arena, KEYS_PREFIX) },
        [OP_REMOVED] = { .kind = STORE_RANGE,
                         .key = cluster_key_removed(arena, KEYS_PREFIX,
                                                    str_from_c(before->setup->settings.node)) },
    };
    StoreTxn txn = { .success = ops, .success_count = OP_COUNT };
    if (!store_txn(store, &txn, read, before, err)) {
        return false;
    }
    loop_run(before->loop);
    *err = before->err;
    return before->ok;
}

static void removed(void *context, const Error *err)
{
    RestoreState *before = context;
    before->ok = err == NULL || err->kind == ERROR_NOT_FOUND;
    before->err = err == NULL ? before->err : *err;
    loop_stop(before->loop);
}

/* Removes the server that made the backup. The new name must not belong to another node. */
static bool replace_old(RestoreState *before, Store *store, Str old, Error *err)
{
    ClusterStore cluster_store = { .loop = before->loop, .store = store, .prefix = KEYS_PREFIX };
    if (before->name_existed) {
        return error_set(err, ERROR_CONFLICT,
                         "the cluster already has a node '%s'; choose another name with --name",
                         before->setup->settings.node);
    }
    nodes_remove(&cluster_store, old, 0, removed, before);
    loop_run(before->loop);
    *err = before->err;
    return before->ok;
}

static void dropped(void *context, const StoreReply *reply, const Error *err)
{
    removed(context, err);
}

/* The leader at the time of the backup no longer exists, and the new server must not wait for its
 * lease. Other servers do not accept the restored store: they have to be added again. */
static bool drop_servers(RestoreState *before, Store *store, Error *err)
{
    Arena *arena = &before->setup->arena;
    Str servers = cluster_key_server_all(arena, KEYS_PREFIX);
    const StoreOp ops[] = {
        { .kind = STORE_DELETE, .key = cluster_key_leader(arena, KEYS_PREFIX) },
        { .kind = STORE_DELETE, .key = servers, .end = store_prefix_end(arena, servers) },
    };
    StoreTxn txn = { .success = ops, .success_count = COUNT_OF(ops) };
    if (!store_txn(store, &txn, dropped, before, err)) {
        return false;
    }
    loop_run(before->loop);
    *err = before->err;
    return before->ok;
}

typedef struct SweepWait {
    ClusterStore cluster_store;
    StoreCompare fence;
    NodeSweep *sweep;
    LoopTimer check_timer;
} SweepWait;

static void check_sweep(void *context)
{
    SweepWait *wait = context;
    if (node_sweep_is_idle(wait->sweep)) {
        loop_stop(wait->cluster_store.loop);
    } else {
        loop_timer_start(&wait->check_timer, SWEEP_CHECK_MS);
    }
}

static void state_ready(void *context)
{
    SweepWait *wait = context;
    wait->sweep = node_sweep_new(&wait->cluster_store, &wait->fence);
    loop_timer_start(&wait->check_timer, 0);
}

static void state_fails(void *context, const Error *err)
{
    SweepWait *wait = context;
    loop_stop(wait->cluster_store.loop);
}

static void state_recovers(void *context)
{
}

/* Data of removed nodes is deleted before a name is claimed: otherwise the server would delete the
 * record of its own node with it when it starts. */
static bool sweep(RestoreState *before, Store *store, Error *err)
{
    SweepWait wait = {
        .cluster_store = { .loop = before->loop, .store = store, .prefix = KEYS_PREFIX },
        /* a fence that always holds, since there is no leader */
        .fence = { .target = STORE_CREATE_REVISION,
                   .relation = STORE_EQUAL,
                   .key = cluster_key_leader(&before->setup->arena, KEYS_PREFIX) }
    };
    loop_timer_init(&wait.check_timer, before->loop, check_sweep, &wait);
    StateEvents events = {
        .ready = state_ready, .stale = state_fails, .current = state_recovers, .context = &wait
    };
    wait.cluster_store.state = state_new(&wait.cluster_store, &events);
    loop_run(before->loop);
    loop_timer_stop(&wait.check_timer);
    node_sweep_free(wait.sweep);
    state_free(wait.cluster_store.state);
    return read_before(before, store, err) &&
           (!before->has_leftovers ||
            error_set(err, ERROR_UNAVAILABLE, "cannot delete the data of an earlier node '%s'",
                      before->setup->settings.node));
}

/* For a name that existed before, only the new enrollment is valid. */
static bool claim_name(RestoreState *before, Error *err)
{
    ClusterSetup *setup = before->setup;
    NodeRecord *node = &setup->node;
    bool given = before->name_existed;
    for (uint32_t i = 0; i < before->revoked.name_count; i++) {
        given = given || strcmp(before->revoked.names[i].node, node->name) == 0;
    }
    if (before->name_existed) {
        node->labels = before->record.labels;
        node->annotations = before->record.annotations;
        node->joined_ms = before->record.joined_ms;
        node->unknown = before->record.unknown;
    }
    if (!given) {
        return true;
    }
    int64_t until_ms = before->record.not_after_ms > node->not_after_ms
                           ? before->record.not_after_ms
                           : node->not_after_ms;
    Buf text = buf_make_in(&setup->arena, BUF_UNLIMITED);
    revocation_prune(&before->revoked, setup->spec->now_ms);
    if (!revocation_set_name(&setup->arena, &before->revoked, str_from_c(node->name),
                             str_from_c(node->enrollment), until_ms, err)) {
        return false;
    }
    revocation_print(&before->revoked, &text);
    setup->revocations = buf_str(&text);
    return true;
}

static bool adopt_store(RestoreRun *restore, Error *err)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(Store) *store = NULL;
    ClusterSetup *setup = &restore->setup;
    Str path = arena_format(&setup->arena, "%s/" SERVER_DIRECTORY "/" SERVER_STORE,
                            setup->spec->state_dir);
    Str old = str_from_c(restore->out->content.settings.node);
    RestoreState before = { .loop = loop, .setup = setup };
    return store_open_sqlite(loop, path.data, NULL, &store, err) &&
           drop_servers(&before, store, err) && read_before(&before, store, err) &&
           (str_eq_c(old, setup->settings.node) || replace_old(&before, store, old, err)) &&
           sweep(&before, store, err) && claim_name(&before, err);
}

/* Moves the restored store, which is complete, from its file to an etcd cluster. */
static bool move_to_etcd(RestoreRun *restore, const ServerSettings *local, Error *err)
{
    AUTO(Loop) *loop = loop_new();
    AUTO_CLEAR(ServerStore) from = { 0 }, to = { 0 };
    ClusterSetup *setup = &restore->setup;
    const char *state_dir = setup->spec->state_dir;
    Str dump = arena_format(&setup->arena, "%s/" DUMP "%c", restore->directory, '\0');
    if (!server_store_open(loop, state_dir, local, NULL, &from, err) ||
        !server_store_open(loop, state_dir, &setup->settings, NULL, &to, err) ||
        !server_store_check_unused(&to, err) ||
        !store_copy(loop, from.store, str_from_c(setup->settings.store_id), to.store, dump.data,
                    err)) {
        return false;
    }
    server_store_close(&from);
    directory_remove_child(&setup->server, SERVER_STORE);
    return true;
}

static bool write_store(ClusterSetup *setup, Error *err)
{
    RestoreRun *restore = (RestoreRun *)setup;
    ServerSettings local = setup->settings;
    local.etcd_count = 0;
    local.etcd_address = STR_EMPTY;
    return adopt_store(restore, err) && setup_write_store(setup, &local, true, err) &&
           (!server_settings_use_etcd(&setup->settings) || move_to_etcd(restore, &local, err));
}

/* --- Public API ------------------------------------------------------------------------------ */

static bool finish(ClusterSetup *setup, Error *err)
{
    RestoreRun *restore = (RestoreRun *)setup;
    if (!setup_write_settings(setup, err)) {
        return false;
    }
    directory_close(&restore->unpacked);
    directory_remove_child(&setup->server, DIRECTORY);
    return true;
}

bool cluster_restore(Arena *arena, const RestoreSpec *spec, RestoreResult *out, Error *err)
{
    RestoreRun restore = {
        .arena = arena, .spec = spec, .out = out, .unpacked = { .descriptor = -1 }
    };
    ClusterSetup *setup = &restore.setup;
    setup_init(setup, &spec->spec);
    setup->replaces_lost = true;
    bool ok = file_reader_open(spec->backup, &restore.backup, err) && setup_open(setup, err) &&
              setup_as_server(setup, unpack, err);
    if (ok) {
        choose_settings(&restore);
        ok = setup_drop_leftover(setup, err) && setup_begin(setup, err) &&
             setup_as_server(setup, adopt_parts, err) && setup_make_agent(setup, err) &&
             setup_start_etcd(setup, err) && setup_as_server(setup, write_store, err) &&
             setup_stop_etcd(setup, err) && setup_as_server(setup, finish, err);
    }
    if (ok) {
        out->settings = setup->settings;
    } else {
        setup_undo(setup);
        if (setup->lock.descriptor >= 0) { /* otherwise another process is using the directory */
            directory_remove_child(&setup->server, DIRECTORY);
        }
    }
    file_reader_close(restore.backup);
    directory_close(&restore.unpacked);
    setup_clear(setup);
    return ok;
}
