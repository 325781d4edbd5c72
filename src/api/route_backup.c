/* /v1/backup: everything that makes this cluster, as one file (cluster/backup_manifest.h).
 *
 * The store goes on while its snapshot is written, so the files beside it are read before and after:
 * when they differ, the CA was exchanged meanwhile, and they would not belong to the snapshot. */
#include <stdio.h>
#include <stdlib.h>

#include "api/call.h"
#include "api/handlers.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/backup_manifest.h"
#include "sys/directory.h"
#include "sys/file_reader.h"
#include "sys/file_settle.h"

enum {
    PIECE = 256 << 10,
    TEXT_MAX = 64 << 10, /* of a part beside the store */
};

typedef struct Backup {
    ApiCall *call;
    const char *path; /* of the snapshot, until it is open */
    Str texts[BACKUP_STORE];
    BackupManifest manifest;
    FileReader *snapshot;
    int64_t left; /* bytes of it */
    char *piece;
} Backup;

static void clear(Backup *backup)
{
    file_reader_close(TAKE(backup->snapshot));
    free(TAKE(backup->piece));
}

static void gone(void *context)
{
    clear(context);
}

/* --- Files ----------------------------------------------------------------------------------- */

/* Those that need not be there are empty texts without a place. */
static bool read_texts(Arena *arena, const char *path, Str *texts, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    if (!directory_open(path, &directory, err)) {
        return false;
    }
    for (uint32_t i = 0; i < BACKUP_STORE; i++) {
        texts[i] = (Str){ 0 };
        if (!directory_read(&directory, arena, backup_part_name((BackupPartKind)i), TEXT_MAX,
                            &texts[i], err) &&
            (err->kind != ERROR_NOT_FOUND || backup_part_is_needed((BackupPartKind)i))) {
            return false;
        }
    }
    return true;
}

static bool are_same(const Str *a, const Str *b)
{
    for (uint32_t i = 0; i < BACKUP_STORE; i++) {
        if ((a[i].data == NULL) != (b[i].data == NULL) || !str_eq(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

static void describe(Backup *backup, const StoreSnapshot *snapshot)
{
    const ApiSettings *settings = call_settings(backup->call);
    BackupManifest *manifest = &backup->manifest;
    snprintf(manifest->cluster, sizeof manifest->cluster, "%" STR_FMT, STR_ARG(settings->cluster));
    snprintf(manifest->node, sizeof manifest->node, "%" STR_FMT, STR_ARG(settings->node));
    snprintf(manifest->store_id, sizeof manifest->store_id, "%" STR_FMT,
             STR_ARG(settings->store_id));
    snprintf(manifest->version, sizeof manifest->version, "%s", EDEN_VERSION);
    manifest->time_ms = loop_wall_ms(settings->at.loop);
    manifest->revision = snapshot->revision;
    for (uint32_t i = 0; i < BACKUP_STORE; i++) {
        BackupPart *part = &manifest->parts[i];
        if (backup->texts[i].data != NULL) {
            *part = (BackupPart){ .is_there = true, .size = (int64_t)backup->texts[i].len };
            sha256_hex(backup->texts[i], part->digest);
        }
    }
    BackupPart *store = &manifest->parts[BACKUP_STORE];
    *store = (BackupPart){ .is_there = true, .size = snapshot->bytes };
    _Static_assert((int)STORE_DIGEST == (int)SHA256_HEX, "digests are of one kind");
    memcpy(store->digest, snapshot->digest, sizeof store->digest);
    backup->left = snapshot->bytes;
}

/* --- Sending --------------------------------------------------------------------------------- */

static void go_on(void *context)
{
    Backup *backup = context;
    ApiCall *call = backup->call;
    size_t got;
    Error err = { 0 };
    bool ok = file_reader_next(backup->snapshot, backup->piece, PIECE, &got, &err);
    backup->left -= ok ? (int64_t)got : 0;
    if (ok && got > 0 && backup->left >= 0) {
        call_piece(call, str_from(backup->piece, got));
        return;
    }
    clear(backup);
    if (ok && backup->left == 0) {
        call_end(call);
    } else {
        log_error("a backup was broken off",
                  LOG_C("why", ok ? "the snapshot has another size" : err.text));
        call_break(call);
    }
}

static void start(Backup *backup, FileReader *snapshot)
{
    ApiCall *call = backup->call;
    if (!call_begin(call, "application/octet-stream", &(CallPieces){ go_on, gone, backup })) {
        file_reader_close(snapshot);
        return;
    }
    backup->snapshot = snapshot;
    Buf head = buf_make_in(&call->arena, BUF_UNLIMITED);
    backup_head_print(&backup->manifest, &head);
    for (uint32_t i = 0; i < BACKUP_STORE; i++) {
        buf_put(&head, backup->texts[i]);
    }
    backup->piece = memory_new(PIECE);
    call_piece(call, buf_str(&head));
}

static void snapped(void *context, const StoreSnapshot *snapshot, const Error *err)
{
    Backup *backup = context;
    ApiCall *call = backup->call;
    FileReader *reader = NULL;
    Str after[BACKUP_STORE];
    Error failure = { 0 };
    /* Its name is of no use to anybody once it is open, or when it failed. */
    bool opened = err == NULL && file_reader_open(backup->path, &reader, &failure);
    file_remove(backup->path);
    if (!call_goes_on(call, err)) {
        file_reader_close(reader);
        return;
    }
    if (!opened || !read_texts(&call->arena, call_settings(call)->directory, after, &failure)) {
        file_reader_close(reader);
        call_fail(call, &failure);
    } else if (!are_same(backup->texts, after)) {
        file_reader_close(reader);
        call_refuse(call, 503, "the CA was exchanged in this moment; try again");
    } else {
        describe(backup, snapshot);
        start(backup, reader);
    }
}

void backup_get(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    Backup *backup = ARENA_NEW(&call->arena, Backup);
    Error err;
    if (settings->directory == NULL) {
        call_refuse(call, 503, "this server has nothing on a disk");
        return;
    }
    backup->call = call;
    backup->path = arena_format(&call->arena, "%s/backup-%016llx.new", settings->directory,
                                (unsigned long long)loop_random(settings->at.loop))
                       .data;
    if (!read_texts(&call->arena, settings->directory, backup->texts, &err) ||
        !store_snapshot(settings->at.store, backup->path, snapped, backup, &err)) {
        call_fail(call, &err);
    }
}
