/* Blobs of Versions: stored and read on a separate thread. A pack is stored in parts, each of which
 * is one item of the queue, so that transfers of others do not wait for all of it, and a server
 * that stops waits for at most one part. */
#include <stdlib.h>

#include "base/memory.h"
#include "source/versions_inner.h"

enum {
    PACK_HEAD = 4, /* length of the size prefix, in bytes */
    /* A part of a pack. Each blob is synced to the disk. */
    PART_BLOBS = 32,
    PART_BYTES = BLOB_MAX,
};

bool versions_blob_store(Versions *versions, BlobStore **out, Error *err)
{
    if (versions->blobs == NULL && !blob_store_open(versions->path, &versions->blobs, err)) {
        return false;
    }
    versions->check.blobs = *out = versions->blobs;
    return true;
}

/* A unit of work on blobs. */
typedef struct Transfer {
    WorkItem item;
    Versions *versions;
    Arena arena;
    Str id, data; /* part of a pack that is not stored yet */
    Str *ids;     /* in: requested IDs; out: missing ones */
    uint32_t count;
    bool has_failed, has_set;
    bool is_fetched;             /* another server was already queried, or must not be */
    void (*run)(WorkItem *item); /* once the blob was fetched */
    Error err;
    ClusterDone *done;
    VersionsMissing *done_missing;
    VersionsGetDone *done_get;
    VersionsBlobs *done_blobs;
    BlobSet set;
    void *context;
} Transfer;

static Transfer *transfer_new(Versions *versions, uint64_t owner, void (*run)(WorkItem *item),
                              void (*done)(WorkItem *item), void *context)
{
    Transfer *transfer = memory_new(sizeof *transfer);
    BlobStore *blobs;
    transfer->has_failed = !versions_blob_store(versions, &blobs, &transfer->err);
    transfer->item = (WorkItem){ .run = transfer->has_failed ? versions_complete_without_work : run,
                                 .done = done,
                                 .owner = owner };
    transfer->versions = versions;
    transfer->context = context;
    arena_init(&transfer->arena, ARENA_UNLIMITED);
    return transfer;
}

static const Error *transfer_error(Transfer *transfer)
{
    if (transfer->item.is_canceled) {
        transfer->has_failed = true;
        versions_set_stopping(&transfer->err);
    }
    return transfer->has_failed ? &transfer->err : NULL;
}

static void transfer_free(Transfer *transfer)
{
    arena_clear(&transfer->arena);
    free(transfer);
}

static void find_missing(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < transfer->count; i++) {
        if (!blob_store_touch(transfer->versions->blobs, transfer->ids[i])) {
            transfer->ids[missing++] = transfer->ids[i];
        }
    }
    transfer->count = missing;
}

static void missing_found(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    const Error *err = transfer_error(transfer);
    transfer->done_missing(transfer->context, transfer->ids, err == NULL ? transfer->count : 0,
                           err);
    transfer_free(transfer);
}

void versions_missing(Versions *versions, uint64_t owner, const Str *ids, uint32_t count,
                      VersionsMissing *done, void *context)
{
    Transfer *transfer = transfer_new(versions, owner, find_missing, missing_found, context);
    transfer->done_missing = done;
    transfer->ids = ARENA_ARRAY(&transfer->arena, Str, count);
    transfer->count = count;
    for (uint32_t i = 0; i < count; i++) {
        transfer->ids[i] = arena_copy(&transfer->arena, ids[i]);
    }
    work_queue_add(versions->transfers, &transfer->item);
}

static bool put_blob(const Versions *versions, Str id, Str data, Error *err)
{
    return blob_store_has_room(versions->blobs, data.len, err) &&
           blob_store_put(versions->blobs, id, data, err);
}

static void put(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    transfer->has_failed =
        !put_blob(transfer->versions, transfer->id, transfer->data, &transfer->err);
}

static size_t pack_size(Str pack)
{
    const unsigned char *bytes = (const unsigned char *)pack.data;
    return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

/* Returns false if the pack is malformed. */
static bool take_blob(Str *pack, Str *out)
{
    size_t size = pack->len < PACK_HEAD ? 0 : pack_size(*pack);
    if (size == 0 || size > BLOB_MAX || size > pack->len - PACK_HEAD) {
        return false;
    }
    *out = str_slice(*pack, PACK_HEAD, PACK_HEAD + size);
    *pack = str_from_offset(*pack, PACK_HEAD + size);
    return true;
}

uint32_t versions_pack_count(Str pack)
{
    uint32_t count = 0;
    for (Str data; take_blob(&pack, &data);) {
        count++;
    }
    return count;
}

static bool put_next(const Versions *versions, Str *pack, Error *err)
{
    char id[BLOB_ID_TEXT + 1];
    Str data;
    if (!take_blob(pack, &data)) {
        return error_set(err, ERROR_INVALID, "the sizes of the blobs do not match the body");
    }
    blob_id_of(data, id);
    return put_blob(versions, str_from_c(id), data, err);
}

static void put_part(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    size_t before = transfer->data.len;
    for (uint32_t i = 0; i < PART_BLOBS && transfer->data.len > 0 && !transfer->has_failed &&
                         before - transfer->data.len < PART_BYTES;
         i++) {
        transfer->has_failed = !put_next(transfer->versions, &transfer->data, &transfer->err);
    }
}

static void put_done(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    transfer->done(transfer->context, transfer_error(transfer));
    transfer_free(transfer);
}

static void part_done(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    if (transfer_error(transfer) == NULL && transfer->data.len > 0) {
        work_queue_add(transfer->versions->transfers, &transfer->item);
    } else {
        put_done(item);
    }
}

void versions_put(Versions *versions, uint64_t owner, Str id, Str data, ClusterDone *done,
                  void *context)
{
    Transfer *transfer = transfer_new(versions, owner, put, put_done, context);
    transfer->done = done;
    transfer->id = arena_copy(&transfer->arena, id);
    transfer->data = arena_copy(&transfer->arena, data);
    work_queue_add(versions->transfers, &transfer->item);
}

void versions_put_pack(Versions *versions, uint64_t owner, Str pack, ClusterDone *done,
                       void *context)
{
    Transfer *transfer = transfer_new(versions, owner, put_part, part_done, context);
    transfer->done = done;
    transfer->data = arena_copy(&transfer->arena, pack);
    work_queue_add(versions->transfers, &transfer->item);
}

/* --- Blobs of other servers ------------------------------------------------------------------- */

static void put_and_run(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    transfer->has_failed =
        !put_blob(transfer->versions, transfer->id, transfer->data, &transfer->err);
    if (!transfer->has_failed) {
        transfer->run(item);
    }
}

static void on_fetched(void *context, Str data, const Error *err)
{
    Transfer *transfer = context;
    if (err != NULL) {
        transfer->item.done(&transfer->item); /* still fails because it is missing */
        return;
    }
    transfer->has_failed = false;
    transfer->data = arena_copy(&transfer->arena, data);
    transfer->run = transfer->item.run;
    transfer->item.run = put_and_run;
    work_queue_add(transfer->versions->transfers, &transfer->item);
}

/* A transfer that failed because the blob of its ID is missing continues when another server has
 * sent it. Returns false if there is nothing to wait for. */
static bool fetch(Transfer *transfer)
{
    const VersionsSettings *settings = &transfer->versions->settings;
    if (!transfer->has_failed || transfer->err.kind != ERROR_NOT_FOUND || transfer->is_fetched ||
        transfer->item.is_canceled || settings->fetch == NULL) {
        return false;
    }
    transfer->is_fetched = true;
    settings->fetch(settings->fetch_context, transfer->id, on_fetched, transfer);
    return true;
}

/* --- Reading ---------------------------------------------------------------------------------- */

static void get(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    transfer->has_failed = !blob_store_read(transfer->versions->blobs, &transfer->arena,
                                            transfer->id, &transfer->data, &transfer->err);
}

static void get_done(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    if (fetch(transfer)) {
        return;
    }
    const Error *err = transfer_error(transfer);
    transfer->done_get(transfer->context, err == NULL ? transfer->data : STR_EMPTY, err);
    transfer_free(transfer);
}

static Transfer *get_new(Versions *versions, uint64_t owner, Str id, VersionsGetDone *done,
                         void *context)
{
    Transfer *transfer = transfer_new(versions, owner, get, get_done, context);
    transfer->done_get = done;
    transfer->id = arena_copy(&transfer->arena, id);
    return transfer;
}

void versions_get(Versions *versions, uint64_t owner, Str id, VersionsGetDone *done, void *context)
{
    work_queue_add(versions->transfers, &get_new(versions, owner, id, done, context)->item);
}

void versions_get_local(Versions *versions, uint64_t owner, Str id, VersionsGetDone *done,
                        void *context)
{
    Transfer *transfer = get_new(versions, owner, id, done, context);
    transfer->is_fetched = true;
    work_queue_add(versions->transfers, &transfer->item);
}

static void read_blobs(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Manifest manifest;
    Str text;
    if (!blob_store_read(transfer->versions->blobs, &arena, transfer->id, &text, &transfer->err) ||
        !manifest_read(&arena, text, &manifest, &transfer->err)) {
        transfer->has_failed = true;
        return;
    }
    StrMap borrowed;
    str_map_init(&borrowed, &arena);
    manifest_add_blobs(&manifest, &borrowed);
    uint32_t at = 0;
    for (const StrMapEntry *entry; (entry = str_map_next(&borrowed, &at)) != NULL;) {
        str_map_put(&transfer->set.ids, arena_copy(&transfer->set.arena, entry->key), NULL);
    }
    transfer->has_set = true;
}

static BlobSet *find_set(Versions *versions, Str manifest)
{
    for (size_t i = 0; i < BLOB_SETS_MAX; i++) {
        if (str_eq_c(manifest, versions->sets[i].manifest)) {
            return &versions->sets[i];
        }
    }
    return NULL;
}

/* Stores a set in place of the one that was used least recently. */
static BlobSet *keep_set(Versions *versions, const Transfer *transfer)
{
    BlobSet *oldest = &versions->sets[0];
    for (size_t i = 1; i < BLOB_SETS_MAX; i++) {
        oldest = versions->sets[i].used < oldest->used ? &versions->sets[i] : oldest;
    }
    if (oldest->manifest[0] != '\0') {
        arena_clear(&oldest->arena);
    }
    *oldest = transfer->set;
    oldest->ids.arena = &oldest->arena;
    memcpy(oldest->manifest, transfer->id.data, BLOB_ID_TEXT);
    return oldest;
}

static void blobs_read(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    Versions *versions = transfer->versions;
    if (fetch(transfer)) {
        return;
    }
    const Error *err = transfer_error(transfer);
    BlobSet *set = err == NULL ? find_set(versions, transfer->id) : NULL;
    if (set == NULL && transfer->has_set) {
        set = keep_set(versions, transfer);
    } else {
        arena_clear(&transfer->set.arena);
    }
    if (set != NULL) {
        set->used = ++versions->uses;
    }
    if (set == NULL && err == NULL) {
        error_set(&transfer->err, ERROR_UNAVAILABLE, "too many versions are requested; try again");
        err = &transfer->err;
    }
    transfer->done_blobs(transfer->context, set == NULL ? NULL : &set->ids, err);
    transfer_free(transfer);
}

void versions_blobs(Versions *versions, uint64_t owner, Str manifest, VersionsBlobs *done,
                    void *context)
{
    bool is_known = find_set(versions, manifest) != NULL;
    Transfer *transfer =
        transfer_new(versions, owner, is_known ? versions_complete_without_work : read_blobs,
                     blobs_read, context);
    transfer->done_blobs = done;
    transfer->id = arena_copy(&transfer->arena, manifest);
    arena_init(&transfer->set.arena, ARENA_UNLIMITED);
    str_map_init(&transfer->set.ids, &transfer->set.arena);
    work_queue_add(versions->transfers, &transfer->item);
}

void versions_add_work(Versions *versions, WorkItem *item)
{
    work_queue_add(versions->transfers, item);
}
