/* /v1/backup: the entire cluster as one file (backup/backup_manifest.h).
 *
 * Streams a dump of the store at one revision, while the store continues to change. Files outside
 * of the store are read before and after that revision is determined: if they differ, the CA was
 * rotated in between and would not match the store. */
#include <stdio.h>

#include "api/call.h"
#include "api/handlers.h"
#include "backup/backup_manifest.h"
#include "base/log.h"
#include "store/dump.h"
#include "store/keys.h"
#include "sys/directory.h"

enum {
    FILE_SIZE_MAX = 64 << 10, /* limit of a file outside of the store */
};

typedef struct Backup {
    ApiCall *call;
    Str prefix; /* of keys */
    Str files[BACKUP_FILES];
    BackupManifest manifest;
    StoreDump *dump;
    bool is_started; /* the response has started */
    bool is_complete, is_broken;
} Backup;

static void on_closed(void *context)
{
    Backup *backup = context;
    store_dump_free(TAKE(backup->dump));
}

/* --- Files ----------------------------------------------------------------------------------- */

/* Missing optional files are left empty. */
static bool read_files(Arena *arena, const char *path, Str *files, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    if (!directory_open(path, &directory, err)) {
        return false;
    }
    for (uint32_t i = 0; i < BACKUP_FILES; i++) {
        files[i] = (Str){ 0 };
        if (!directory_read(&directory, arena, backup_part_name((BackupPartKind)i), FILE_SIZE_MAX,
                            &files[i], err) &&
            (err->kind != ERROR_NOT_FOUND || backup_part_is_required((BackupPartKind)i))) {
            return false;
        }
    }
    return true;
}

static bool files_equal(const Str *a, const Str *b)
{
    for (uint32_t i = 0; i < BACKUP_FILES; i++) {
        if ((a[i].data == NULL) != (b[i].data == NULL) || !str_eq(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

static void fill_manifest(Backup *backup, int64_t revision)
{
    const ApiSettings *settings = call_settings(backup->call);
    BackupManifest *manifest = &backup->manifest;
    manifest->format = 2;
    snprintf(manifest->cluster, sizeof manifest->cluster, "%" STR_FMT, STR_ARG(settings->cluster));
    snprintf(manifest->node, sizeof manifest->node, "%" STR_FMT, STR_ARG(settings->node));
    snprintf(manifest->store_id, sizeof manifest->store_id, "%" STR_FMT,
             STR_ARG(settings->store_id));
    snprintf(manifest->version, sizeof manifest->version, "%s", EDEN_VERSION);
    manifest->time_ms = loop_wall_ms(settings->cluster_store.loop);
    manifest->revision = revision;
    for (uint32_t i = 0; i < BACKUP_FILES; i++) {
        BackupPart *part = &manifest->parts[i];
        if (backup->files[i].data != NULL) {
            *part = (BackupPart){ .is_present = true, .size = (int64_t)backup->files[i].len };
            sha256_hex(backup->files[i], part->digest);
        }
    }
}

/* --- Sending --------------------------------------------------------------------------------- */

/* Sends the reason at the end of the stream. */
static void abort_backup(Backup *backup, const Error *err)
{
    Buf out = buf_make_in(&backup->call->arena, BUF_UNLIMITED);
    log_error("backup aborted", LOG_C("error", err->text));
    store_dump_free(TAKE(backup->dump));
    backup->is_broken = true;
    store_dump_put_failure(&out, err);
    call_send_chunk(backup->call, buf_str(&out));
}

static void on_drained(void *context)
{
    Backup *backup = context;
    Error err;
    if (backup->is_complete) {
        store_dump_free(TAKE(backup->dump));
        call_end(backup->call);
    } else if (backup->is_broken) {
        call_abort(backup->call);
    } else if (!store_dump_next(backup->dump, &err)) {
        abort_backup(backup, &err);
    }
}

/* Returns false after responding. */
static bool start_response(Backup *backup, int64_t revision, Buf *head)
{
    ApiCall *call = backup->call;
    Str after[BACKUP_FILES];
    Error err;
    if (!read_files(&call->arena, call_settings(call)->directory, after, &err)) {
        call_fail(call, &err);
        return false;
    }
    if (!files_equal(backup->files, after)) {
        call_refuse(call, 503, "the CA was changed during the backup; try again");
        return false;
    }
    fill_manifest(backup, revision);
    if (!call_begin(call, "application/octet-stream",
                    &(CallStream){ on_drained, on_closed, backup })) {
        return false;
    }
    backup->is_started = true;
    backup_head_print(&backup->manifest, head);
    for (uint32_t i = 0; i < BACKUP_FILES; i++) {
        buf_put(head, backup->files[i]);
    }
    return true;
}

static void send_first(Backup *backup, const StoreDumpPiece *piece)
{
    StoreDump *dump = TAKE(backup->dump); /* start_response() may end the call */
    Buf head = buf_make(BUF_UNLIMITED);
    if (start_response(backup, piece->head->revision, &head)) {
        backup->dump = dump;
        backup->is_complete = piece->end != NULL;
        buf_put(&head, piece->bytes);
        call_send_chunk(backup->call, buf_str(&head));
    } else {
        store_dump_free(dump);
    }
    buf_clear(&head);
}

static void on_dump(void *context, const StoreDumpPiece *piece, const Error *err)
{
    Backup *backup = context;
    ApiCall *call = backup->call;
    if (backup->is_started) {
        if (err != NULL) {
            abort_backup(backup, err);
            return;
        }
        backup->is_complete = piece->end != NULL;
        call_send_chunk(call, piece->bytes);
        return;
    }
    StoreDump *dump = backup->dump;
    if (!call_resume(call, err)) {
        store_dump_free(dump);
        return;
    }
    send_first(backup, piece);
}

/* Presence of nodes is left out: it is meaningless after a restore. */
static bool is_presence(void *context, Str key)
{
    const Backup *backup = context;
    AUTO_CLEAR(Arena) arena;
    KeyKind kind;
    Str parts[KEYS_PARTS_MAX];
    arena_init(&arena, ARENA_UNLIMITED);
    return key_parse(&arena, backup->prefix, key, &kind, parts) &&
           (kind == KEY_NODE_ALIVE || kind == KEY_LEADER || kind == KEY_SERVER_ALIVE);
}

void backup_get(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    Backup *backup = ARENA_NEW(&call->arena, Backup);
    Error err;
    if (settings->directory == NULL) {
        call_refuse(call, 503, "this server stores nothing on disk");
        return;
    }
    backup->call = call;
    backup->prefix = arena_copy(&call->arena, settings->cluster_store.prefix);
    if (!read_files(&call->arena, settings->directory, backup->files, &err)) {
        call_fail(call, &err);
        return;
    }
    backup->dump = store_dump_new(&(StoreDumpSpec){ .store = settings->cluster_store.store,
                                                    .store_id = settings->store_id,
                                                    .omits = is_presence,
                                                    .done = on_dump,
                                                    .context = backup });
    if (!store_dump_next(backup->dump, &err)) {
        store_dump_free(TAKE(backup->dump));
        call_fail(call, &err);
    }
}
