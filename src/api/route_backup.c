/* /v1/backup: the entire cluster as one file (backup/backup_manifest.h).
 *
 * The store is dumped at one revision while it continues to change, and streamed. Files outside of
 * the store are read before and after that revision is known: if they differ, the CA was rotated
 * meanwhile and would not match the store. */
#include <stdio.h>

#include "api/call.h"
#include "api/handlers.h"
#include "backup/backup_manifest.h"
#include "base/log.h"
#include "store/dump.h"
#include "store/keys.h"
#include "sys/directory.h"

enum {
    TEXT_MAX = 64 << 10, /* limit of a part outside of the store */
};

typedef struct Backup {
    ApiCall *call;
    Str prefix; /* of keys */
    Str texts[BACKUP_FILES];
    BackupManifest manifest;
    StoreDump *dump;
    bool has_begun; /* the response has started */
    bool is_over, is_broken;
} Backup;

static void gone(void *context)
{
    Backup *backup = context;
    store_dump_free(TAKE(backup->dump));
}

/* --- Files ----------------------------------------------------------------------------------- */

/* Optional files that are missing become empty texts. */
static bool read_texts(Arena *arena, const char *path, Str *texts, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    if (!directory_open(path, &directory, err)) {
        return false;
    }
    for (uint32_t i = 0; i < BACKUP_FILES; i++) {
        texts[i] = (Str){ 0 };
        if (!directory_read(&directory, arena, backup_part_name((BackupPartKind)i), TEXT_MAX,
                            &texts[i], err) &&
            (err->kind != ERROR_NOT_FOUND || backup_part_is_required((BackupPartKind)i))) {
            return false;
        }
    }
    return true;
}

static bool are_same(const Str *a, const Str *b)
{
    for (uint32_t i = 0; i < BACKUP_FILES; i++) {
        if ((a[i].data == NULL) != (b[i].data == NULL) || !str_eq(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

static void describe(Backup *backup, int64_t revision)
{
    const ApiSettings *settings = call_settings(backup->call);
    BackupManifest *manifest = &backup->manifest;
    manifest->format = 2;
    snprintf(manifest->cluster, sizeof manifest->cluster, "%" STR_FMT, STR_ARG(settings->cluster));
    snprintf(manifest->node, sizeof manifest->node, "%" STR_FMT, STR_ARG(settings->node));
    snprintf(manifest->store_id, sizeof manifest->store_id, "%" STR_FMT,
             STR_ARG(settings->store_id));
    snprintf(manifest->version, sizeof manifest->version, "%s", EDEN_VERSION);
    manifest->time_ms = loop_wall_ms(settings->at.loop);
    manifest->revision = revision;
    for (uint32_t i = 0; i < BACKUP_FILES; i++) {
        BackupPart *part = &manifest->parts[i];
        if (backup->texts[i].data != NULL) {
            *part = (BackupPart){ .is_there = true, .size = (int64_t)backup->texts[i].len };
            sha256_hex(backup->texts[i], part->digest);
        }
    }
}

/* --- Sending --------------------------------------------------------------------------------- */

/* Sends the reason as the last part. */
static void break_off(Backup *backup, const Error *err)
{
    Buf out = buf_make_in(&backup->call->arena, BUF_UNLIMITED);
    log_error("backup aborted", LOG_C("why", err->text));
    store_dump_free(TAKE(backup->dump));
    backup->is_broken = true;
    store_dump_put_failure(&out, err);
    call_piece(backup->call, buf_str(&out));
}

static void go_on(void *context)
{
    Backup *backup = context;
    Error err;
    if (backup->is_over) {
        store_dump_free(TAKE(backup->dump));
        call_end(backup->call);
    } else if (backup->is_broken) {
        call_break(backup->call);
    } else if (!store_dump_next(backup->dump, &err)) {
        break_off(backup, &err);
    }
}

/* Returns false after responding. */
static bool begin(Backup *backup, int64_t revision, Buf *head)
{
    ApiCall *call = backup->call;
    Str after[BACKUP_FILES];
    Error err;
    if (!read_texts(&call->arena, call_settings(call)->directory, after, &err)) {
        call_fail(call, &err);
        return false;
    }
    if (!are_same(backup->texts, after)) {
        call_refuse(call, 503, "the CA was changed during the backup; try again");
        return false;
    }
    describe(backup, revision);
    if (!call_begin(call, "application/octet-stream", &(CallPieces){ go_on, gone, backup })) {
        return false;
    }
    backup->has_begun = true;
    backup_head_print(&backup->manifest, head);
    for (uint32_t i = 0; i < BACKUP_FILES; i++) {
        buf_put(head, backup->texts[i]);
    }
    return true;
}

static void send_first(Backup *backup, const StoreDumpPiece *piece)
{
    StoreDump *dump = TAKE(backup->dump); /* the call ends here */
    Buf head = buf_make(BUF_UNLIMITED);
    if (begin(backup, piece->head->revision, &head)) {
        backup->dump = dump;
        backup->is_over = piece->end != NULL;
        buf_put(&head, piece->bytes);
        call_piece(backup->call, buf_str(&head));
    } else {
        store_dump_free(dump);
    }
    buf_clear(&head);
}

static void dumped(void *context, const StoreDumpPiece *piece, const Error *err)
{
    Backup *backup = context;
    ApiCall *call = backup->call;
    if (backup->has_begun) {
        if (err != NULL) {
            break_off(backup, err);
            return;
        }
        backup->is_over = piece->end != NULL;
        call_piece(call, piece->bytes);
        return;
    }
    StoreDump *dump = backup->dump;
    if (!call_goes_on(call, err)) {
        store_dump_free(dump);
        return;
    }
    send_first(backup, piece);
}

/* Presence of nodes does not apply after a restore. */
static bool is_presence(void *context, Str key)
{
    const Backup *backup = context;
    AUTO_CLEAR(Arena) arena;
    KeyKind kind;
    Str parts[KEYS_PARTS_MAX];
    arena_init(&arena, ARENA_UNLIMITED);
    return key_parse(&arena, backup->prefix, key, &kind, parts) &&
           (kind == KEY_NODE_ALIVE || kind == KEY_LEADER);
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
    backup->prefix = arena_copy(&call->arena, settings->at.prefix);
    if (!read_texts(&call->arena, settings->directory, backup->texts, &err)) {
        call_fail(call, &err);
        return;
    }
    backup->dump = store_dump_new(&(StoreDumpSpec){ .store = settings->at.store,
                                                    .store_id = settings->store_id,
                                                    .leaves_out = is_presence,
                                                    .done = dumped,
                                                    .context = backup });
    if (!store_dump_next(backup->dump, &err)) {
        store_dump_free(TAKE(backup->dump));
        call_fail(call, &err);
    }
}
