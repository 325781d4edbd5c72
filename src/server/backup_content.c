/* Unpacking a backup and checking that it is a usable cluster. Blocking: a private loop runs until
 * each call of the store has completed. */
#include "server/backup_content.h"

#include <stdlib.h>

#include "backup/backup_reader.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/key_migration.h"
#include "pki/ca.h"
#include "pki/rotation.h"
#include "server/create_cluster.h"
#include "server/store_copy.h"
#include "store/load.h"
#include "sys/file_stream.h"
#include "sys/loop.h"

enum {
    PIECE = 256 << 10
};

/* --- Unpacking ------------------------------------------------------------------------------- */

typedef struct UnpackState {
    Arena arena;
    const char *directory;
    FileDraft *draft; /* of the current part */
    int part;         /* -1: no part yet */
} UnpackState;

static bool receive_manifest(void *context, const BackupManifest *manifest, Error *err)
{
    return true;
}

static bool keep_part(UnpackState *unpacking, Error *err)
{
    FileDraft *draft = TAKE(unpacking->draft);
    bool ok = draft == NULL || file_draft_keep(draft, err);
    file_draft_close(draft);
    return ok;
}

static bool receive_piece(void *context, BackupPartKind kind, Str piece, Error *err)
{
    UnpackState *unpacking = context;
    if ((int)kind != unpacking->part) {
        Str path =
            arena_format(&unpacking->arena, "%s/%s", unpacking->directory, backup_part_name(kind));
        if (!keep_part(unpacking, err) ||
            !file_draft_open(path.data, 0600, false, &unpacking->draft, err)) {
            return false;
        }
        unpacking->part = (int)kind;
    }
    return file_draft_put(unpacking->draft, piece, err);
}

static bool read_all(BackupReader *reader, FileReader *backup, Error *err)
{
    char *piece = memory_new(PIECE);
    size_t bytes = 0;
    bool ok;
    do {
        ok = file_reader_next(backup, piece, PIECE, &bytes, err) &&
             backup_reader_feed(reader, str_from(piece, bytes), err);
    } while (ok && bytes > 0);
    free(piece);
    return ok && backup_reader_finish(reader, err);
}

bool backup_unpack(FileReader *backup, const char *directory, BackupManifest *out, Error *err)
{
    UnpackState unpacking = { .directory = directory, .part = -1 };
    AUTO_CLEAR(BackupReader) reader;
    arena_init(&unpacking.arena, ARENA_UNLIMITED);
    backup_reader_init(&reader, &(BackupSink){ receive_manifest, receive_piece, &unpacking });
    bool ok = read_all(&reader, backup, err) && keep_part(&unpacking, err);
    if (ok) {
        *out = reader.manifest;
    }
    file_draft_close(unpacking.draft);
    arena_clear(&unpacking.arena);
    return ok;
}

/* --- Loading the store ----------------------------------------------------------------------- */

/* Creates a store in the format of this version. */
static bool create_store(Arena *arena, Loop *loop, const char *directory,
                         const BackupManifest *manifest, Store **out, Error *err)
{
    BackupPartKind kind = backup_store_part(manifest);
    Str opened = arena_format(arena, "%s/" BACKUP_OPENED, directory);
    Str path = arena_format(arena, "%s/%s", directory, backup_part_name(kind));
    if (kind == BACKUP_STORE && manifest->revision > STORE_REVISION_MAX - 2 * STORE_LOAD_STEP) {
        return error_set(err, ERROR_INVALID, "its revision %lld is too high to continue from",
                         (long long)manifest->revision);
    }
    if (kind == BACKUP_STORE) {
        StoreSettings settings = { .after = manifest->revision + STORE_LOAD_STEP };
        return store_open_sqlite(loop, opened.data, &settings, out, err) &&
               store_load_file(loop, *out, path.data, err);
    }
    if (!store_restore(opened.data, path.data, str_from_c(manifest->parts[kind].digest), err) ||
        !store_open_sqlite(loop, opened.data, NULL, out, err)) {
        return false;
    }
    int64_t revision = store_status(*out).revision;
    return revision == manifest->revision ||
           error_set(err, ERROR_INVALID, "it has revision %lld, but the manifest specifies %lld",
                     (long long)revision, (long long)manifest->revision);
}

/* --- Inspection ------------------------------------------------------------------------------ */

typedef struct Inspection {
    Loop *loop;
    Arena *arena;
    BackupContent *content;
    bool has_rotation;
    Rotation rotation;
    Str next_node; /* first key of the next page; empty: all nodes are counted */
    bool ok;
    Error err;
} Inspection;

enum {
    OP_KEYS,
    OP_TOKENS,
    OP_API_TOKENS,
    OP_USER_CERTIFICATES,
    OP_ROTATION,
    OP_COUNT
};

enum {
    NODES_AT_ONCE = 1000
};

static void store_read(void *context, const StoreReply *reply, const Error *err)
{
    Inspection *inspection = context;
    inspection->ok = err == NULL;
    if (err != NULL) {
        inspection->err = *err;
    } else {
        const StoreOpReply *rotation = &reply->ops[OP_ROTATION];
        inspection->content->keys = reply->ops[OP_KEYS].count;
        inspection->content->tokens = reply->ops[OP_TOKENS].count;
        inspection->content->api_tokens = reply->ops[OP_API_TOKENS].count;
        inspection->content->user_certificates = reply->ops[OP_USER_CERTIFICATES].count;
        inspection->has_rotation = rotation->kv_count > 0;
        inspection->ok =
            !inspection->has_rotation || rotation_read(inspection->arena, rotation->kvs[0].value,
                                                       &inspection->rotation, &inspection->err);
    }
    loop_stop(inspection->loop);
}

static bool wait(Inspection *inspection, Error *err)
{
    loop_run(inspection->loop);
    *err = inspection->err;
    return inspection->ok;
}

/* An unreadable record affects one node, in the cluster as in its backup: 'eden cluster check'
 * finds it in both. */
static void on_nodes(void *context, const StoreReply *reply, const Error *err)
{
    Inspection *inspection = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    inspection->ok = err == NULL;
    inspection->next_node = STR_EMPTY;
    if (err != NULL) {
        inspection->err = *err;
    } else {
        const StoreOpReply *range = &reply->ops[0];
        for (uint32_t i = 0; i < range->kv_count; i++) {
            KeyKind kind;
            Str parts[KEYS_PARTS_MAX];
            inspection->content->nodes +=
                key_parse(&arena, KEYS_PREFIX, range->kvs[i].key, &kind, parts) && kind == KEY_NODE;
        }
        if (range->more) {
            Str last = range->kvs[range->kv_count - 1].key;
            inspection->next_node =
                arena_format(inspection->arena, "%" STR_FMT "%c", STR_ARG(last), '\0');
        }
    }
    loop_stop(inspection->loop);
}

static bool count_nodes(Inspection *inspection, Store *store, Error *err)
{
    Str all = cluster_key_node_all(inspection->arena, KEYS_PREFIX);
    StoreOp op = { .kind = STORE_RANGE,
                   .key = all,
                   .end = store_prefix_end(inspection->arena, all),
                   .limit = NODES_AT_ONCE,
                   .keys_only = true };
    inspection->content->nodes = 0;
    do {
        if (!store_op(store, &op, on_nodes, inspection, err) || !wait(inspection, err)) {
            return false;
        }
        op.key = inspection->next_node;
    } while (op.key.len > 0);
    return true;
}

static void moved(void *context, const Error *err)
{
    Inspection *inspection = context;
    inspection->ok = err == NULL;
    inspection->err = err == NULL ? inspection->err : *err;
    loop_stop(inspection->loop);
}

/* Moves the records of a backup of an earlier version to their current keys. */
static bool migrate_keys(Inspection *inspection, Store *store, Error *err)
{
    key_migration_run(
        &(ClusterStore){ .loop = inspection->loop, .store = store, .prefix = KEYS_PREFIX }, moved,
        inspection);
    return wait(inspection, err);
}

static StoreOp count_op(Arena *arena, Str all)
{
    return (StoreOp){
        .kind = STORE_RANGE, .key = all, .end = store_prefix_end(arena, all), .count_only = true
    };
}

static bool inspect_store(Inspection *inspection, const char *directory,
                          const BackupManifest *manifest, Error *err)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(Store) *store = NULL;
    Arena *arena = inspection->arena;
    const StoreOp ops[OP_COUNT] = {
        [OP_KEYS] = { .kind = STORE_RANGE, .key = STORE_ALL, .end = STORE_ALL, .count_only = true },
        [OP_TOKENS] = count_op(arena, cluster_key_token_all(arena, KEYS_PREFIX)),
        [OP_API_TOKENS] = count_op(arena, cluster_key_access_token_all(arena, KEYS_PREFIX)),
        [OP_USER_CERTIFICATES] =
            count_op(arena, cluster_key_user_certificate_all(arena, KEYS_PREFIX)),
        [OP_ROTATION] = { .kind = STORE_RANGE, .key = cluster_key_rotation(arena, KEYS_PREFIX) },
    };
    StoreTxn txn = { .success = ops, .success_count = OP_COUNT };
    inspection->loop = loop;
    return create_store(arena, loop, directory, manifest, &store, err) &&
           migrate_keys(inspection, store, err) &&
           store_txn(store, &txn, store_read, inspection, err) && wait(inspection, err) &&
           count_nodes(inspection, store, err);
}

/* --- CA -------------------------------------------------------------------------------------- */

static bool load_ca(Arena *arena, const Directory *directory, BackupPartKind kind,
                    const BackupManifest *manifest, Credential *out, Error *err)
{
    const char *name = backup_part_name(kind);
    if (!manifest->parts[kind].is_present) {
        return true;
    }
    if (!credential_load(directory, name, arena, out, err)) {
        return false;
    }
    const Certificate *certificate = &out->chain.items[0];
    Str subject = arena_format(arena, "CN=eden %s", manifest->cluster);
    if (!certificate->is_ca || !str_eq(certificate->subject, subject)) {
        return error_set(err, ERROR_INVALID,
                         "%s: its certificate is not for the CA of cluster '%s' but for '%" STR_FMT
                         "'",
                         name, manifest->cluster, STR_ARG(certificate->subject));
    }
    return true;
}

/* Determines which CA signs, and whether all CAs that the store refers to exist. */
static bool check_signing_ca(const Inspection *inspection, const Credential *ca,
                             const Credential *next, Error *err)
{
    const Credential *cas[] = { ca, next };
    BackupContent *content = inspection->content;
    content->ca = ca->chain.items[0].pin;
    if (!inspection->has_rotation) {
        return true;
    }
    const Pin *issuer = rotation_issuer(&inspection->rotation);
    for (size_t i = 0; i < COUNT_OF(cas); i++) {
        if (cas[i]->key != NULL && pin_equal(&cas[i]->chain.items[0].pin, issuer)) {
            content->ca = *issuer;
            content->is_next = i == 1;
            return true;
        }
    }
    char text[PIN_TEXT + 1];
    pin_text(issuer, text);
    return error_set(
        err, ERROR_INVALID,
        "the CA that signs certificates according to the store, %s, is not in the backup", text);
}

static bool check_cas(Arena *arena, const Directory *directory, const Inspection *inspection,
                      Error *err)
{
    Credential ca = { 0 }, next = { 0 };
    const BackupManifest *manifest = &inspection->content->manifest;
    bool ok = load_ca(arena, directory, BACKUP_CA, manifest, &ca, err) &&
              load_ca(arena, directory, BACKUP_CA_NEXT, manifest, &next, err) &&
              check_signing_ca(inspection, &ca, &next, err);
    credential_clear(&ca);
    credential_clear(&next);
    return ok;
}

/* --- Public API ------------------------------------------------------------------------------ */

static bool read_settings(Arena *arena, const Directory *directory, BackupContent *content,
                          Error *err)
{
    Str text;
    if (!directory_read(directory, arena, SERVER_SETTINGS_FILE, SERVER_SETTINGS_MAX, &text, err) ||
        !server_settings_read(arena, text, &content->settings, err)) {
        return false;
    }
    return strcmp(content->settings.cluster, content->manifest.cluster) == 0 ||
           error_set(err, ERROR_INVALID,
                     SERVER_SETTINGS_FILE
                     ": it is from cluster '%s', but the manifest specifies '%s'",
                     content->settings.cluster, content->manifest.cluster);
}

bool backup_check(Arena *arena, const char *directory, const BackupManifest *manifest,
                  BackupContent *out, Error *err)
{
    AUTO_CLEAR(Directory) opened = { .descriptor = -1 };
    *out = (BackupContent){ .manifest = *manifest };
    Inspection inspection = { .arena = arena, .content = out };
    if (!directory_open(directory, &opened, err) || !read_settings(arena, &opened, out, err)) {
        return false;
    }
    if (!inspect_store(&inspection, directory, manifest, err)) {
        return error_wrap(err, "the part '%s'", backup_part_name(backup_store_part(manifest)));
    }
    return check_cas(arena, &opened, &inspection, err);
}
