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
#include "store/load.h"
#include "sys/file_draft.h"
#include "sys/loop.h"

enum {
    PIECE = 256 << 10
};

/* --- Unpacking ------------------------------------------------------------------------------- */

typedef struct Unpacking {
    Arena arena;
    const char *folder;
    FileDraft *draft; /* of the current part */
    int part;         /* -1: none yet */
} Unpacking;

static bool take_manifest(void *context, const BackupManifest *manifest, Error *err)
{
    return true;
}

static bool keep_part(Unpacking *unpacking, Error *err)
{
    FileDraft *draft = TAKE(unpacking->draft);
    bool ok = draft == NULL || file_draft_keep(draft, err);
    file_draft_close(draft);
    return ok;
}

static bool take_piece(void *context, BackupPartKind kind, Str piece, Error *err)
{
    Unpacking *unpacking = context;
    if ((int)kind != unpacking->part) {
        Str path =
            arena_format(&unpacking->arena, "%s/%s", unpacking->folder, backup_part_name(kind));
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
    size_t got = 0;
    bool ok;
    do {
        ok = file_reader_next(backup, piece, PIECE, &got, err) &&
             backup_reader_feed(reader, str_from(piece, got), err);
    } while (ok && got > 0);
    free(piece);
    return ok && backup_reader_finish(reader, err);
}

bool backup_unpack(FileReader *backup, const char *folder, BackupManifest *out, Error *err)
{
    Unpacking unpacking = { .folder = folder, .part = -1 };
    AUTO_CLEAR(BackupReader) reader;
    arena_init(&unpacking.arena, ARENA_UNLIMITED);
    backup_reader_init(&reader, &(BackupSink){ take_manifest, take_piece, &unpacking });
    bool ok = read_all(&reader, backup, err) && keep_part(&unpacking, err);
    if (ok) {
        *out = reader.manifest;
    }
    file_draft_close(unpacking.draft);
    arena_clear(&unpacking.arena);
    return ok;
}

/* --- Loading the store ----------------------------------------------------------------------- */

typedef struct Loading {
    Loop *loop;
    FileReader *dump;
    bool ok;
    Error err;
} Loading;

static bool read_dump(void *context, char *buffer, size_t size, size_t *got, Error *err)
{
    Loading *loading = context;
    return file_reader_next(loading->dump, buffer, size, got, err);
}

static void loaded(void *context, const StoreLoaded *what, const Error *err)
{
    Loading *loading = context;
    loading->ok = err == NULL;
    loading->err = err == NULL ? loading->err : *err;
    loop_stop(loading->loop);
}

static bool load(Loop *loop, Store *store, const char *path, Error *err)
{
    AUTO(FileReader) *dump = NULL;
    Loading loading = { .loop = loop };
    StoreLoadSpec spec = { .store = store, .read = read_dump, .done = loaded, .context = &loading };
    if (!file_reader_open(path, &dump, err)) {
        return false;
    }
    loading.dump = dump;
    if (!store_load(&spec, err)) {
        return false;
    }
    loop_run(loop);
    *err = loading.err;
    return loading.ok;
}

/* Creates a store in the format of this version. */
static bool create_store(Arena *arena, Loop *loop, const char *folder,
                         const BackupManifest *manifest, Store **out, Error *err)
{
    BackupPartKind kind = backup_store_part(manifest);
    Str opened = arena_format(arena, "%s/" BACKUP_OPENED, folder);
    Str path = arena_format(arena, "%s/%s", folder, backup_part_name(kind));
    if (kind == BACKUP_STORE && manifest->revision > STORE_REVISION_MAX - 2 * STORE_LOAD_STEP) {
        return error_set(err, ERROR_INVALID, "its revision %lld is too high to continue from",
                         (long long)manifest->revision);
    }
    if (kind == BACKUP_STORE) {
        StoreSettings settings = { .after = manifest->revision + STORE_LOAD_STEP };
        return store_open_sqlite(loop, opened.data, &settings, out, err) &&
               load(loop, *out, path.data, err);
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
    Str next_node; /* where to continue; empty: all are counted */
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
    Inspection *look = context;
    look->ok = err == NULL;
    if (err != NULL) {
        look->err = *err;
    } else {
        const StoreOpReply *rotation = &reply->ops[OP_ROTATION];
        look->content->keys = reply->ops[OP_KEYS].count;
        look->content->tokens = reply->ops[OP_TOKENS].count;
        look->content->api_tokens = reply->ops[OP_API_TOKENS].count;
        look->content->user_certificates = reply->ops[OP_USER_CERTIFICATES].count;
        look->has_rotation = rotation->kv_count > 0;
        look->ok = !look->has_rotation ||
                   rotation_read(look->arena, rotation->kvs[0].value, &look->rotation, &look->err);
    }
    loop_stop(look->loop);
}

static bool wait(Inspection *look, Error *err)
{
    loop_run(look->loop);
    *err = look->err;
    return look->ok;
}

/* An unreadable record is one bad node in the cluster, and in its backup: 'eden cluster check'
 * finds it in both. */
static void on_nodes(void *context, const StoreReply *reply, const Error *err)
{
    Inspection *look = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    look->ok = err == NULL;
    look->next_node = STR_EMPTY;
    if (err != NULL) {
        look->err = *err;
    } else {
        const StoreOpReply *range = &reply->ops[0];
        for (uint32_t i = 0; i < range->kv_count; i++) {
            KeyKind kind;
            Str parts[KEYS_PARTS_MAX];
            look->content->nodes +=
                key_parse(&arena, KEYS_PREFIX, range->kvs[i].key, &kind, parts) && kind == KEY_NODE;
        }
        if (range->more) {
            Str last = range->kvs[range->kv_count - 1].key;
            look->next_node = arena_format(look->arena, "%" STR_FMT "%c", STR_ARG(last), '\0');
        }
    }
    loop_stop(look->loop);
}

static bool count_nodes(Inspection *look, Store *store, Error *err)
{
    Str all = cluster_key_node_all(look->arena, KEYS_PREFIX);
    StoreOp op = { .kind = STORE_RANGE,
                   .key = all,
                   .end = store_prefix_end(look->arena, all),
                   .limit = NODES_AT_ONCE,
                   .keys_only = true };
    look->content->nodes = 0;
    do {
        if (!store_op(store, &op, on_nodes, look, err) || !wait(look, err)) {
            return false;
        }
        op.key = look->next_node;
    } while (op.key.len > 0);
    return true;
}

static void moved(void *context, const Error *err)
{
    Inspection *look = context;
    look->ok = err == NULL;
    look->err = err == NULL ? look->err : *err;
    loop_stop(look->loop);
}

/* For a backup of an earlier version: moves its records to where this one expects them. */
static bool migrate_keys(Inspection *look, Store *store, Error *err)
{
    key_migration_run(&(ClusterStore){ .loop = look->loop, .store = store, .prefix = KEYS_PREFIX },
                      moved, look);
    return wait(look, err);
}

static StoreOp count_op(Arena *arena, Str all)
{
    return (StoreOp){
        .kind = STORE_RANGE, .key = all, .end = store_prefix_end(arena, all), .count_only = true
    };
}

static bool inspect_store(Inspection *look, const char *folder, const BackupManifest *manifest,
                          Error *err)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(Store) *store = NULL;
    Arena *arena = look->arena;
    const StoreOp ops[OP_COUNT] = {
        [OP_KEYS] = { .kind = STORE_RANGE, .key = STORE_ALL, .end = STORE_ALL, .count_only = true },
        [OP_TOKENS] = count_op(arena, cluster_key_token_all(arena, KEYS_PREFIX)),
        [OP_API_TOKENS] = count_op(arena, cluster_key_access_token_all(arena, KEYS_PREFIX)),
        [OP_USER_CERTIFICATES] =
            count_op(arena, cluster_key_user_certificate_all(arena, KEYS_PREFIX)),
        [OP_ROTATION] = { .kind = STORE_RANGE, .key = cluster_key_rotation(arena, KEYS_PREFIX) },
    };
    StoreTxn txn = { .success = ops, .success_count = OP_COUNT };
    look->loop = loop;
    return create_store(arena, loop, folder, manifest, &store, err) &&
           migrate_keys(look, store, err) && store_txn(store, &txn, store_read, look, err) &&
           wait(look, err) && count_nodes(look, store, err);
}

/* --- CA -------------------------------------------------------------------------------------- */

static bool load_ca(Arena *arena, const Directory *folder, BackupPartKind kind,
                    const BackupManifest *manifest, Credential *out, Error *err)
{
    const char *name = backup_part_name(kind);
    if (!manifest->parts[kind].is_present) {
        return true;
    }
    if (!credential_load(folder, name, arena, out, err)) {
        return false;
    }
    const Certificate *own = &out->chain.items[0];
    Str subject = arena_format(arena, "CN=eden %s", manifest->cluster);
    if (!own->is_ca || !str_eq(own->subject, subject)) {
        return error_set(err, ERROR_INVALID,
                         "%s: its certificate is not for the CA of cluster '%s' but for '%" STR_FMT
                         "'",
                         name, manifest->cluster, STR_ARG(own->subject));
    }
    return true;
}

/* Determines which CA signs, and whether all that the store refers to exist. */
static bool check_signing_ca(const Inspection *look, const Credential *ca, const Credential *next,
                             Error *err)
{
    const Credential *of[] = { ca, next };
    BackupContent *content = look->content;
    content->ca = ca->chain.items[0].pin;
    if (!look->has_rotation) {
        return true;
    }
    const Pin *issuer = rotation_issuer(&look->rotation);
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        if (of[i]->key != NULL && pin_equal(&of[i]->chain.items[0].pin, issuer)) {
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

static bool check_cas(Arena *arena, const Directory *folder, const Inspection *look, Error *err)
{
    Credential ca = { 0 }, next = { 0 };
    const BackupManifest *manifest = &look->content->manifest;
    bool ok = load_ca(arena, folder, BACKUP_CA, manifest, &ca, err) &&
              load_ca(arena, folder, BACKUP_CA_NEXT, manifest, &next, err) &&
              check_signing_ca(look, &ca, &next, err);
    credential_clear(&ca);
    credential_clear(&next);
    return ok;
}

/* --- Public API ------------------------------------------------------------------------------ */

static bool read_settings(Arena *arena, const Directory *folder, BackupContent *content, Error *err)
{
    Str text;
    if (!directory_read(folder, arena, SERVER_SETTINGS_FILE, SERVER_SETTINGS_MAX, &text, err) ||
        !server_settings_read(arena, text, &content->settings, err)) {
        return false;
    }
    return strcmp(content->settings.cluster, content->manifest.cluster) == 0 ||
           error_set(err, ERROR_INVALID,
                     SERVER_SETTINGS_FILE
                     ": it is from cluster '%s', but the manifest specifies '%s'",
                     content->settings.cluster, content->manifest.cluster);
}

bool backup_check(Arena *arena, const char *folder, const BackupManifest *manifest,
                  BackupContent *out, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    *out = (BackupContent){ .manifest = *manifest };
    Inspection look = { .arena = arena, .content = out };
    if (!directory_open(folder, &directory, err) || !read_settings(arena, &directory, out, err)) {
        return false;
    }
    if (!inspect_store(&look, folder, manifest, err)) {
        return error_wrap(err, "the part '%s'", backup_part_name(backup_store_part(manifest)));
    }
    return check_cas(arena, &directory, &look, err);
}
