#include "server/restoring.h"

#include <stdio.h>

#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "membership/node_sweep.h"
#include "membership/nodes.h"
#include "pki/revocation.h"
#include "server/founding_inner.h"
#include "store/store.h"
#include "sys/loop.h"

#define FOLDER "restore" /* of the server's directory, until it is done */

typedef struct Restore {
    Work work; /* first: steps get this */
    Arena *arena;
    const Restoring *restoring;
    Restored *out;
    FileReader *backup; /* opened as who restores, who alone may read it */
    const char *folder;
    Directory unpacked;
} Restore;

/* --- What is there ---------------------------------------------------------------------------- */

static bool unpack(Work *work, Error *err)
{
    Restore *restore = (Restore *)work;
    BackupManifest manifest;
    directory_remove_child(&work->server, FOLDER);
    restore->folder =
        arena_format(restore->arena, "%s/" SERVER_DIRECTORY "/" FOLDER, work->founding->state_dir)
            .data;
    return directory_make_child(&work->server, FOLDER, &restore->unpacked, err) &&
           ((backup_unpack(restore->backup, restore->folder, &manifest, err) &&
             backup_check(restore->arena, restore->folder, &manifest, &restore->out->content,
                          err)) ||
            error_wrap(err, "%s", restore->restoring->backup));
}

static void choose_settings(Restore *restore)
{
    const ServerSettings *wanted = &restore->restoring->founding.settings;
    ServerSettings settings = restore->out->content.settings;
    if (wanted->node[0] != '\0') {
        memcpy(settings.node, wanted->node, sizeof settings.node);
    }
    settings.rpc = wanted->rpc.len > 0 ? wanted->rpc : settings.rpc;
    settings.api = wanted->api.len > 0 ? wanted->api : settings.api;
    settings.health = wanted->health.len > 0 ? wanted->health : settings.health;
    if (wanted->name_count > 0) {
        settings.names = wanted->names;
        settings.name_count = wanted->name_count;
    }
    restore->work.settings = settings;
}

/* --- Taking it over --------------------------------------------------------------------------- */

static bool copy_part(Restore *restore, BackupPartKind kind, Error *err)
{
    const char *name = backup_part_name(kind);
    const BackupPart *part = &restore->out->content.manifest.parts[kind];
    Str text;
    if (!part->is_there) {
        return true;
    }
    return directory_read(&restore->unpacked, &restore->work.arena, name, (size_t)part->size + 1,
                          &text, err) &&
           directory_write(&restore->work.server, name, text, true, err);
}

/* Both CAs when the cluster was between two: certificates are from the one that signs. */
static bool take_cas(Restore *restore, Error *err)
{
    Work *work = &restore->work;
    const BackupContent *content = &restore->out->content;
    BackupPartKind signs = content->is_next ? BACKUP_CA_NEXT : BACKUP_CA;
    BackupPartKind other = content->is_next ? BACKUP_CA : BACKUP_CA_NEXT;
    Credential beside = { 0 };
    if (!credential_load(&work->server, backup_part_name(signs), &work->arena, &work->ca, err)) {
        return false;
    }
    if (!content->manifest.parts[other].is_there) {
        return true;
    }
    if (!credential_load(&work->server, backup_part_name(other), &work->arena, &beside, err)) {
        return false;
    }
    work->others = certificate_pem(&work->arena, &beside.chain.items[0]);
    credential_clear(&beside);
    return true;
}

static bool take_parts(Work *work, Error *err)
{
    Restore *restore = (Restore *)work;
    static const BackupPartKind kinds[] = { BACKUP_CA, BACKUP_CA_NEXT, BACKUP_SSH_KEY,
                                            BACKUP_SSH_PUBLIC };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (!copy_part(restore, kinds[i], err)) {
            return false;
        }
    }
    directory_remove_child(&work->server, SERVER_STORE);
    return directory_move(&restore->unpacked, BACKUP_OPENED, &work->server, SERVER_STORE, err) &&
           take_cas(restore, err) && work_make_server(work, err);
}

/* --- The store -------------------------------------------------------------------------------- */

/* What the store knows of the name that this server has now. */
typedef struct Before {
    Loop *loop;
    Work *work;
    bool is_left; /* something of a node that had the name and was removed */
    bool was_there;
    NodeRecord record; /* then */
    RevocationList revoked;
    bool ok;
    Error err;
} Before;

enum {
    SWEEP_LOOK_MS = 5 /* until the next look whether the sweep has ended */
};

enum {
    OP_NODE,
    OP_REVOKED,
    OP_REMOVED,
    OP_COUNT
};

static void read(void *context, const StoreReply *reply, const Error *err)
{
    Before *before = context;
    Arena *arena = &before->work->arena;
    before->ok = err == NULL;
    if (err != NULL) {
        before->err = *err;
    } else {
        const StoreOpReply *node = &reply->ops[OP_NODE], *revoked = &reply->ops[OP_REVOKED];
        before->was_there = node->kv_count > 0;
        before->is_left = reply->ops[OP_REMOVED].kv_count > 0;
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

static bool read_before(Before *before, Store *store, Error *err)
{
    Arena *arena = &before->work->arena;
    const StoreOp ops[OP_COUNT] = {
        [OP_NODE] = { .kind = STORE_RANGE,
                      .key = cluster_key_node(arena, KEYS_PREFIX,
                                              str_from_c(before->work->settings.node)) },
        [OP_REVOKED] = { .kind = STORE_RANGE, .key = cluster_key_revocations(arena, KEYS_PREFIX) },
        [OP_REMOVED] = { .kind = STORE_RANGE,
                         .key = cluster_key_removed(arena, KEYS_PREFIX,
                                                    str_from_c(before->work->settings.node)) },
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
    Before *before = context;
    before->ok = err == NULL || err->kind == ERROR_NOT_FOUND;
    before->err = err == NULL ? before->err : *err;
    loop_stop(before->loop);
}

/* The server that made the backup is none any more, and this one is nobody else. */
static bool replace_old(Before *before, Store *store, Str old, Error *err)
{
    ClusterStore at = { .loop = before->loop, .store = store, .prefix = KEYS_PREFIX };
    if (before->was_there) {
        return error_set(err, ERROR_CONFLICT,
                         "the cluster already has a node '%s'; choose another name with --name",
                         before->work->settings.node);
    }
    nodes_remove(&at, old, 0, removed, before);
    loop_run(before->loop);
    *err = before->err;
    return before->ok;
}

static void dropped(void *context, const StoreReply *reply, const Error *err)
{
    removed(context, err);
}

/* Who led when the backup was made leads no more, and the server that starts here need not wait for it. */
static bool drop_leader(Before *before, Store *store, Error *err)
{
    Str key = cluster_key_leader(&before->work->arena, KEYS_PREFIX);
    if (!store_delete(store, key, dropped, before, err)) {
        return false;
    }
    loop_run(before->loop);
    *err = before->err;
    return before->ok;
}

typedef struct SweepWait {
    ClusterStore at;
    StoreCompare fence;
    NodeSweep *sweep;
    LoopTimer look;
} SweepWait;

static void look_runs(void *context)
{
    SweepWait *wait = context;
    if (node_sweep_is_idle(wait->sweep)) {
        loop_stop(wait->at.loop);
    } else {
        loop_timer_start(&wait->look, SWEEP_LOOK_MS);
    }
}

static void state_ready(void *context)
{
    SweepWait *wait = context;
    wait->sweep = node_sweep_new(&wait->at, &wait->fence);
    loop_timer_start(&wait->look, 0);
}

static void state_fails(void *context, const Error *err)
{
    SweepWait *wait = context;
    loop_stop(wait->at.loop);
}

static void state_recovers(void *context)
{
}

/* What removed nodes have left goes before a name is claimed: a server that starts would delete the record
 * of its own node with it. */
static bool sweep(Before *before, Store *store, Error *err)
{
    SweepWait wait = { .at = { .loop = before->loop, .store = store, .prefix = KEYS_PREFIX },
                       .fence = { .target = STORE_CREATE_REVISION, /* nobody leads */
                                  .relation = STORE_EQUAL,
                                  .key = cluster_key_leader(&before->work->arena, KEYS_PREFIX) } };
    loop_timer_init(&wait.look, before->loop, look_runs, &wait);
    StateEvents events = {
        .ready = state_ready, .stale = state_fails, .current = state_recovers, .context = &wait
    };
    wait.at.state = state_new(&wait.at, &events);
    loop_run(before->loop);
    loop_timer_stop(&wait.look);
    node_sweep_free(wait.sweep);
    state_free(wait.at.state);
    return read_before(before, store, err) &&
           (!before->is_left ||
            error_set(err, ERROR_UNAVAILABLE, "cannot delete the data of an earlier node '%s'",
                      before->work->settings.node));
}

/* Of a name that was given before, only the enrolment of now counts. */
static bool claim_name(Before *before, Error *err)
{
    Work *work = before->work;
    NodeRecord *node = &work->node;
    bool given = before->was_there;
    for (uint32_t i = 0; i < before->revoked.name_count; i++) {
        given = given || strcmp(before->revoked.names[i].node, node->name) == 0;
    }
    if (before->was_there) {
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
    Buf text = buf_make_in(&work->arena, BUF_UNLIMITED);
    revocation_prune(&before->revoked, work->founding->now_ms);
    if (!revocation_set_name(&work->arena, &before->revoked, str_from_c(node->name),
                             str_from_c(node->enrolment), until_ms, err)) {
        return false;
    }
    revocation_print(&before->revoked, &text);
    work->revocations = buf_str(&text);
    return true;
}

static bool take_over(Restore *restore, Error *err)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(Store) *store = NULL;
    Work *work = &restore->work;
    Str path = arena_format(&work->arena, "%s/" SERVER_DIRECTORY "/" SERVER_STORE,
                            work->founding->state_dir);
    Str old = str_from_c(restore->out->content.settings.node);
    Before before = { .loop = loop, .work = work };
    return store_open_sqlite(loop, path.data, NULL, &store, err) &&
           drop_leader(&before, store, err) && read_before(&before, store, err) &&
           (str_eq_c(old, work->settings.node) || replace_old(&before, store, old, err)) &&
           sweep(&before, store, err) && claim_name(&before, err);
}

static bool write_store(Work *work, Error *err)
{
    return take_over((Restore *)work, err) && work_write_store(work, true, err);
}

/* --- All of it -------------------------------------------------------------------------------- */

static bool finish(Work *work, Error *err)
{
    Restore *restore = (Restore *)work;
    if (!work_write_settings(work, err)) {
        return false;
    }
    directory_close(&restore->unpacked);
    directory_remove_child(&work->server, FOLDER);
    return true;
}

bool cluster_restore(Arena *arena, const Restoring *restoring, Restored *out, Error *err)
{
    Restore restore = {
        .arena = arena, .restoring = restoring, .out = out, .unpacked = { .descriptor = -1 }
    };
    Work *work = &restore.work;
    work_init(work, &restoring->founding);
    work->replaces_lost = true;
    bool ok = file_reader_open(restoring->backup, &restore.backup, err) && work_open(work, err) &&
              work_as_server(work, unpack, err);
    if (ok) {
        choose_settings(&restore);
        ok = work_drop_leftover(work, err) && work_begin(work, err) &&
             work_as_server(work, take_parts, err) && work_make_agent(work, err) &&
             work_as_server(work, write_store, err) && work_as_server(work, finish, err);
    }
    if (ok) {
        out->settings = work->settings;
    } else {
        work_undo(work);
        if (work->lock.descriptor >= 0) { /* else the folder is somebody else's */
            directory_remove_child(&work->server, FOLDER);
        }
    }
    file_reader_close(restore.backup);
    directory_close(&restore.unpacked);
    work_clear(work);
    return ok;
}
