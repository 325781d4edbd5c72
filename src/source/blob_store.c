/* Blobs are spread over 256 subdirectories by their first two digits. A lock makes sure that no
 * blob is removed between the check that it exists and its use. */
#include "source/blob_store.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hex.h"
#include "base/log.h"
#include "base/memory.h"
#include "sys/clock.h"
#include "sys/directory.h"
#include "sys/sha256.h"

enum {
    PREFIX_LEN = 2,
    /* Maximum number of blobs with one prefix; 256 million blobs in total. */
    BLOBS_PER_PREFIX_MAX = 1 << 20,
    NS_PER_MS = 1000000,
};

struct BlobStore {
    Directory directory;
    /* Held so that a blob is not removed between the check that it exists and the update of its
     * last-used time. */
    pthread_mutex_t lock;
};

bool blob_id_is_valid(Str id)
{
    return id.len == BLOB_ID_TEXT && hex_is_valid(id);
}

void blob_id_of(Str data, char out[BLOB_ID_TEXT + 1])
{
    sha256_hex(data, out);
}

/* The subdirectory of a blob, and its name as a C string. */
typedef struct BlobFile {
    Directory directory;
    char name[BLOB_ID_TEXT + 1];
} BlobFile;

static void prefix_of(Str id, char out[PREFIX_LEN + 1])
{
    memcpy(out, id.data, PREFIX_LEN);
    out[PREFIX_LEN] = '\0';
}

static bool file_open(const BlobStore *store, Str id, bool creates, BlobFile *out, Error *err)
{
    char prefix[PREFIX_LEN + 1];
    out->directory.descriptor = -1;
    if (!blob_id_is_valid(id)) {
        return error_set(err, ERROR_INVALID, "not the SHA-256 of a blob");
    }
    prefix_of(id, prefix);
    memcpy(out->name, id.data, BLOB_ID_TEXT);
    out->name[BLOB_ID_TEXT] = '\0';
    return creates ? directory_make_child(&store->directory, prefix, &out->directory, err)
                   : directory_open_child(&store->directory, prefix, &out->directory, err);
}

bool blob_store_open(const char *directory, BlobStore **out, Error *err)
{
    Directory opened;
    if (!directory_make(directory, &opened, err)) {
        return false;
    }
    BlobStore *store = memory_new(sizeof *store);
    store->directory = opened;
    pthread_mutex_init(&store->lock, NULL);
    for (int i = 0; i < BLOB_STORE_PARTS; i++) {
        AUTO_CLEAR(Directory) child = { .descriptor = -1 };
        char prefix[PREFIX_LEN + 1];
        unsigned char byte = (unsigned char)i;
        Error ignored;
        hex_encode(&byte, 1, prefix);
        if (directory_open_child(&store->directory, prefix, &child, &ignored)) {
            directory_remove_temporaries(&child);
        }
    }
    *out = store;
    return true;
}

void blob_store_close(BlobStore *store)
{
    if (store != NULL) {
        directory_close(&store->directory);
        pthread_mutex_destroy(&store->lock);
        free(store);
    }
}

static bool touch(BlobStore *store, const BlobFile *file)
{
    pthread_mutex_lock(&store->lock);
    bool exists = directory_touch(&file->directory, file->name);
    pthread_mutex_unlock(&store->lock);
    return exists;
}

bool blob_store_put(BlobStore *store, Str id, Str data, Error *err)
{
    BlobFile file;
    char actual[BLOB_ID_TEXT + 1];
    if (data.len > BLOB_MANIFEST_MAX) {
        return error_set(err, ERROR_LIMIT, "a blob is at most %d bytes long", BLOB_MANIFEST_MAX);
    }
    if (!file_open(store, id, true, &file, err)) {
        return false;
    }
    blob_id_of(data, actual);
    bool ok =
        str_eq_c(id, actual) ||
        error_set(err, ERROR_INVALID, "the data has the SHA-256 %s, not %s", actual, file.name);
    if (ok && !touch(store, &file)) {
        ok = directory_write(&file.directory, file.name, data, true, err);
    }
    directory_close(&file.directory);
    return ok;
}

bool blob_store_has_room(const BlobStore *store, size_t bytes, Error *err)
{
    return directory_disk_unreserved(&store->directory) >= (int64_t)bytes ||
           error_set(err, ERROR_UNAVAILABLE, "the server's disk is nearly full: %lld MiB are free",
                     (long long)(directory_disk_free(&store->directory) >> 20));
}

bool blob_store_has(const BlobStore *store, Str id)
{
    BlobFile file;
    Error ignored;
    bool ok =
        file_open(store, id, false, &file, &ignored) && directory_has(&file.directory, file.name);
    directory_close(&file.directory);
    return ok;
}

bool blob_store_touch(BlobStore *store, Str id)
{
    BlobFile file;
    Error ignored;
    bool ok = file_open(store, id, false, &file, &ignored) && touch(store, &file);
    directory_close(&file.directory);
    return ok;
}

bool blob_store_read(BlobStore *store, Arena *arena, Str id, Str *out, Error *err)
{
    BlobFile file;
    char actual[BLOB_ID_TEXT + 1];
    Error ignored;
    Str data;
    bool ok = file_open(store, id, false, &file, err) &&
              directory_read(&file.directory, arena, file.name, BLOB_MANIFEST_MAX, &data, err);
    if (ok) {
        blob_id_of(data, actual);
        ok = str_eq_c(id, actual);
        if (ok) {
            *out = data;
        } else {
            log_warning("removing a damaged blob: its content has a different SHA-256",
                        LOG_STR("blob", id), LOG_STR("actual", str_from_c(actual)));
            if (!directory_remove(&file.directory, file.name, &ignored)) {
                log_warning("cannot remove a damaged blob", LOG_STR("blob", id),
                            LOG_STR("error", str_from_c(ignored.text)));
            }
            error_set(err, ERROR_NOT_FOUND, "blob %" STR_FMT " was damaged and has been removed",
                      STR_ARG(id));
        }
    } else if (err->kind == ERROR_NOT_FOUND) {
        error_set(err, ERROR_NOT_FOUND, "blob %" STR_FMT " not found", STR_ARG(id));
    }
    directory_close(&file.directory);
    return ok;
}

static bool remove_older(BlobStore *store, const Directory *directory, const char *name,
                         int64_t before_ns, bool *removed, Error *err)
{
    pthread_mutex_lock(&store->lock);
    bool ok = directory_remove_older(directory, name, before_ns, removed, err);
    pthread_mutex_unlock(&store->lock);
    return ok;
}

static bool sweep_prefix(BlobStore *store, const Directory *directory, const StrMap *keep,
                         int64_t before_ns, BlobSweep *out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    DirectoryEntry *entries;
    uint32_t count;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!directory_list(directory, &arena, BLOBS_PER_PREFIX_MAX, &entries, &count, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const DirectoryEntry *entry = &entries[i];
        bool is_removed = false, is_old = entry->mtime_ns < before_ns;
        if (is_old && !str_map_has(keep, entry->name) &&
            !remove_older(store, directory, entry->name.data, before_ns, &is_removed, err)) {
            return false;
        }
        out->removed += is_removed;
        out->retained += !is_removed;
        *(is_removed ? &out->removed_bytes : &out->retained_bytes) += entry->size;
    }
    return true;
}

bool blob_store_sweep_part(BlobStore *store, uint32_t part, const StrMap *keep, int64_t age_ms,
                           BlobSweep *out, Error *err)
{
    AUTO_CLEAR(Directory) child = { .descriptor = -1 };
    char prefix[PREFIX_LEN + 1];
    unsigned char byte = (unsigned char)part;
    hex_encode(&byte, 1, prefix);
    if (!directory_open_child(&store->directory, prefix, &child, err)) {
        return err->kind == ERROR_NOT_FOUND;
    }
    return sweep_prefix(store, &child, keep, (clock_now_ms() - age_ms) * NS_PER_MS, out, err);
}

bool blob_store_sweep(BlobStore *store, const StrMap *keep, int64_t age_ms, BlobSweep *out,
                      Error *err)
{
    *out = (BlobSweep){ 0 };
    for (uint32_t i = 0; i < BLOB_STORE_PARTS; i++) {
        if (!blob_store_sweep_part(store, i, keep, age_ms, out, err)) {
            return false;
        }
    }
    return true;
}
