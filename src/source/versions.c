#include "source/versions.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "source/version_check.h"
#include "source/version_uses.h"
#include "sys/directory.h"

enum {
    PACK_HEAD = 4, /* bytes of a size */
    SETS_MAX = 4,
    UNSEEN_MAX = 10, /* maximum number of versions that the state may not include yet */
};

/* The blobs of a manifest, cached because many nodes request the same version. */
typedef struct BlobSet {
    char manifest[BLOB_ID_TEXT + 1]; /* empty: unused */
    Arena arena;
    StrMap ids;
    uint64_t used; /* counter of uses; larger values are more recent */
} BlobSet;

struct Versions {
    ClusterStore at;
    VersionsSettings settings;
    Arena arena;
    const char *path; /* path of the blobs */
    BlobStore *blobs; /* NULL: not open yet */
    Directory directory;
    VersionCheck check;
    BlobSet sets[SETS_MAX];
    uint64_t uses;
    VersionNotes *notes;
    WorkQueue *transfers, *checks; /* a validation takes long, and transfers must not wait for it */
};

static void set_stopping(Error *err)
{
    error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
}

static bool open_blobs(Versions *versions, Error *err)
{
    if (versions->blobs == NULL && (!directory_make(versions->path, &versions->directory, err) ||
                                    !blob_store_open(versions->path, &versions->blobs, err))) {
        directory_close(&versions->directory);
        return false;
    }
    versions->check.blobs = versions->blobs;
    return true;
}

bool versions_blob_store(Versions *versions, BlobStore **out, Error *err)
{
    if (!open_blobs(versions, err)) {
        return false;
    }
    *out = versions->blobs;
    return true;
}

/* Copies the request so that it outlives the caller's. NULL if there is none. */
static const StoreCompare *copy_fence(Arena *arena, const StoreCompare *fence)
{
    StoreCompare *copy = NULL;
    if (fence != NULL) {
        copy = ARENA_NEW(arena, StoreCompare);
        *copy = *fence;
        copy->key = arena_copy(arena, fence->key);
    }
    return copy;
}

/* Completes a request without work, because it has failed or its result is known. */
static void run_nothing(WorkItem *item)
{
}

/* --- Blobs ------------------------------------------------------------------------------------ */

/* A unit of work on blobs. */
typedef struct Transfer {
    WorkItem item;
    Versions *versions;
    Arena arena;
    Str id, data;
    Str *ids; /* in: requested IDs; out: missing ones */
    uint32_t count;
    bool has_failed, has_set;
    Error err;
    ClusterDone *done;
    VersionsMissing *done_missing;
    VersionsGetDone *done_get;
    VersionsBlobs *done_blobs;
    BlobSet set;
    void *context;
} Transfer;

static Transfer *transfer_new(Versions *versions, void (*run)(WorkItem *item),
                              void (*done)(WorkItem *item), void *context)
{
    Transfer *transfer = memory_new(sizeof *transfer);
    transfer->has_failed = !open_blobs(versions, &transfer->err);
    transfer->item = (WorkItem){ .run = transfer->has_failed ? run_nothing : run, .done = done };
    transfer->versions = versions;
    transfer->context = context;
    arena_init(&transfer->arena, ARENA_UNLIMITED);
    return transfer;
}

static const Error *transfer_error(Transfer *transfer)
{
    if (transfer->item.is_canceled) {
        transfer->has_failed = true;
        set_stopping(&transfer->err);
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

void versions_missing(Versions *versions, const Str *ids, uint32_t count, VersionsMissing *done,
                      void *context)
{
    Transfer *transfer = transfer_new(versions, find_missing, missing_found, context);
    transfer->done_missing = done;
    transfer->ids = ARENA_ARRAY(&transfer->arena, Str, count);
    transfer->count = count;
    for (uint32_t i = 0; i < count; i++) {
        transfer->ids[i] = arena_copy(&transfer->arena, ids[i]);
    }
    work_queue_add(versions->transfers, &transfer->item);
}

/* The blobs and the state of the server are on the same disk. */
static bool has_space(const Versions *versions, size_t bytes, Error *err)
{
    return directory_disk_room(&versions->directory) >= (int64_t)bytes ||
           error_set(err, ERROR_UNAVAILABLE,
                     "the disk of the server is nearly full: %lld MiB are free",
                     (long long)(directory_disk_free(&versions->directory) >> 20));
}

static bool put_blob(const Versions *versions, Str id, Str data, Error *err)
{
    return has_space(versions, data.len, err) && blob_store_put(versions->blobs, id, data, err);
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

static bool put_next(const Versions *versions, Str *pack, Error *err)
{
    char id[BLOB_ID_TEXT + 1];
    size_t size = pack->len < PACK_HEAD ? 0 : pack_size(*pack);
    if (size == 0 || size > BLOB_MAX || size > pack->len - PACK_HEAD) {
        return error_set(err, ERROR_INVALID, "the sizes of the blobs do not match the body");
    }
    Str data = str_slice(*pack, PACK_HEAD, PACK_HEAD + size);
    *pack = str_from_offset(*pack, PACK_HEAD + size);
    blob_id_of(data, id);
    return put_blob(versions, str_from_c(id), data, err);
}

static void put_pack(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    Str pack = transfer->data;
    while (pack.len > 0 && !transfer->has_failed) {
        transfer->has_failed = !put_next(transfer->versions, &pack, &transfer->err);
    }
}

static void put_done(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    transfer->done(transfer->context, transfer_error(transfer));
    transfer_free(transfer);
}

void versions_put(Versions *versions, Str id, Str data, ClusterDone *done, void *context)
{
    Transfer *transfer = transfer_new(versions, put, put_done, context);
    transfer->done = done;
    transfer->id = arena_copy(&transfer->arena, id);
    transfer->data = arena_copy(&transfer->arena, data);
    work_queue_add(versions->transfers, &transfer->item);
}

void versions_put_pack(Versions *versions, Str pack, ClusterDone *done, void *context)
{
    Transfer *transfer = transfer_new(versions, put_pack, put_done, context);
    transfer->done = done;
    transfer->data = arena_copy(&transfer->arena, pack);
    work_queue_add(versions->transfers, &transfer->item);
}

static void get(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    transfer->has_failed = !blob_store_read(transfer->versions->blobs, &transfer->arena,
                                            transfer->id, &transfer->data, &transfer->err);
}

static void get_done(WorkItem *item)
{
    Transfer *transfer = (Transfer *)item;
    const Error *err = transfer_error(transfer);
    transfer->done_get(transfer->context, err == NULL ? transfer->data : STR_EMPTY, err);
    transfer_free(transfer);
}

void versions_get(Versions *versions, Str id, VersionsGetDone *done, void *context)
{
    Transfer *transfer = transfer_new(versions, get, get_done, context);
    transfer->done_get = done;
    transfer->id = arena_copy(&transfer->arena, id);
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
    for (size_t i = 0; i < SETS_MAX; i++) {
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
    for (size_t i = 1; i < SETS_MAX; i++) {
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

void versions_blobs(Versions *versions, Str manifest, VersionsBlobs *done, void *context)
{
    bool is_known = find_set(versions, manifest) != NULL;
    Transfer *transfer =
        transfer_new(versions, is_known ? run_nothing : read_blobs, blobs_read, context);
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

/* --- Uses ------------------------------------------------------------------------------------- */

void versions_add_uses(const Versions *versions, StrMap *uses)
{
    version_uses_find(versions->at.state, versions->at.prefix, uses);
    version_notes_add(versions->notes, loop_now_ms(versions->at.loop) - VERSION_KEPT_MS, uses);
    if (versions->settings.add_uses != NULL) {
        versions->settings.add_uses(versions->settings.context, uses);
    }
}

void versions_count_freed(Versions *versions, const VersionsFreed *more)
{
    version_notes_freed(versions->notes, more);
}

VersionsFreed versions_freed(const Versions *versions)
{
    return versions->notes->freed;
}

/* --- Creating --------------------------------------------------------------------------------- */

enum {
    KEY_OF_NEW,
    /* the version to delete if there are too many; followed by the key of the current version */
    KEY_OF_OLDEST,
    KEY_OF_CURRENT_THEN,
    CREATION_KEYS
};

typedef struct Creation {
    WorkItem item;
    const Versions *versions; /* may be freed before the store responds */
    ClusterStore at;
    VersionNotes *notes;
    uint32_t max;
    VersionCheck check;
    Arena arena;
    char name[VERSION_NAME_LEN + 1];
    Version version;
    bool has_failed, is_known, is_new;
    bool has_oldest; /* the transaction deletes the oldest version */
    Error err;
    const StoreCompare *fence;
    VersionsCreated *done;
    void *context;
} Creation;

static void creation_end(Creation *creation, const Error *err)
{
    if (err == NULL) {
        version_notes_created(creation->notes, creation->name, loop_now_ms(creation->at.loop));
    }
    creation->done(creation->context, str_from_c(creation->name), creation->is_new, err);
    version_notes_unref(creation->notes);
    arena_clear(&creation->arena);
    free(creation);
}

static void check_version(WorkItem *item)
{
    Creation *creation = (Creation *)item;
    creation->has_failed = !version_check(&creation->check, &creation->version, &creation->err);
}

/* It may have become the current version meanwhile; the next attempt then finds another one. */
static bool delete_oldest(const Creation *creation, Change *change, Error *err)
{
    CurrentVersion current = { 0 };
    if (!creation->has_oldest) {
        return error_set(err, ERROR_LIMIT, "there are %u versions, and all are in use",
                         creation->max);
    }
    if (change_has(change, KEY_OF_CURRENT_THEN) &&
        !current_version_read(change_arena(change), change_value(change, KEY_OF_CURRENT_THEN),
                              &current, err)) {
        return false;
    }
    Str key = change_key(change, KEY_OF_OLDEST);
    bool is_current = current.version[0] != '\0' && str_ends(key, str_from_c(current.version));
    if (is_current || !change_has(change, KEY_OF_OLDEST)) {
        return error_set(err, ERROR_UNAVAILABLE, "there are %u versions; try again", creation->max);
    }
    change_delete(change, key);
    return true;
}

/* A rejected version is validated again, because a newer eden may accept it. */
static bool decide_create(void *context, Change *change, Error *err)
{
    Creation *creation = context;
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    Version present;
    creation->is_new = !change_has(change, 0);
    if (!creation->is_new &&
        version_read(change_arena(change), change_value(change, 0), &present, err)) {
        if (strcmp(present.manifest, creation->version.manifest) != 0) {
            return error_set(err, ERROR_CONFLICT,
                             "another version has the same name: add a file, and try again");
        }
        if (present.state == VERSION_VALID) {
            return true;
        }
    }
    if (creation->is_new && change_count(change, 0) >= creation->max &&
        !delete_oldest(creation, change, err)) {
        return false;
    }
    version_print(&creation->version, &text);
    change_put(change, change_key(change, 0), buf_str(&text), 0);
    return true;
}

static void created(void *context, Change *change, const Error *err)
{
    const Creation *creation = context;
    if (err == NULL && creation->has_oldest && creation->is_new) {
        version_notes_freed(creation->notes, &(VersionsFreed){ .versions = 1 });
    }
    creation_end(context, err);
}

/* Only necessary if there may be too many. */
static bool find_oldest(Creation *creation, Str *key)
{
    VersionEntry *entries;
    Arena *arena = &creation->arena;
    uint32_t count = versions_list(arena, creation->at.state, creation->at.prefix, &entries);
    if (count + UNSEEN_MAX < creation->max) {
        return false;
    }
    StrMap uses;
    str_map_init(&uses, arena);
    versions_add_uses(creation->versions, &uses);
    str_map_put(&uses, str_from_c(creation->name), NULL);
    const VersionEntry *oldest = version_uses_oldest(entries, count, &uses);
    if (oldest != NULL) {
        *key = cluster_key_version(arena, creation->at.prefix, oldest->name);
    }
    return oldest != NULL;
}

static void checked(WorkItem *item)
{
    Creation *creation = (Creation *)item;
    Change *change;
    if (item->is_canceled) {
        creation->has_failed = true;
        set_stopping(&creation->err);
    }
    if (creation->has_failed || creation->is_known) {
        creation_end(creation, creation->has_failed ? &creation->err : NULL);
        return;
    }
    creation->version.created_ms = loop_wall_ms(creation->at.loop);
    Str keys[CREATION_KEYS];
    keys[KEY_OF_NEW] =
        cluster_key_version(&creation->arena, creation->at.prefix, str_from_c(creation->name));
    keys[KEY_OF_CURRENT_THEN] = cluster_key_current_version(&creation->arena, creation->at.prefix);
    creation->has_oldest = find_oldest(creation, &keys[KEY_OF_OLDEST]);
    change_start(&(ChangeSpec){ .at = creation->at,
                                .keys = keys,
                                .key_count = creation->has_oldest ? CREATION_KEYS : 1,
                                .counted = { cluster_key_version_all(&creation->arena,
                                                                     creation->at.prefix) },
                                .decide = decide_create,
                                .done = created,
                                .context = creation,
                                .fence = creation->fence },
                 &change);
}

/* An incomplete character at the end would be replaced by a longer one when it is printed. */
static Str copy_text(Arena *arena, Str text)
{
    Str text_start = str_slice(text, 0, VERSION_TEXT_MAX);
    return arena_copy(arena, str_slice(text_start, 0, utf8_valid_prefix(text_start)));
}

static void copy_request(Creation *creation, const VersionDraft *draft)
{
    Version *version = &creation->version;
    Arena *arena = &creation->arena;
    memcpy(version->manifest, draft->manifest.data, BLOB_ID_TEXT);
    version_name_of(version->manifest, creation->name);
    version->origin = draft->origin;
    version->by = copy_text(arena, draft->by);
    version->source = (VersionSource){ .source = copy_text(arena, draft->source.source),
                                       .commit = copy_text(arena, draft->source.commit),
                                       .branch = copy_text(arena, draft->source.branch),
                                       .author = copy_text(arena, draft->source.author),
                                       .subject = copy_text(arena, draft->source.subject) };
}

static bool is_known(const Versions *versions, Creation *creation)
{
    VersionEntry entry;
    Error ignored;
    return versions_find(&creation->arena, versions->at.state, versions->at.prefix,
                         str_from_c(creation->name), &entry, &ignored) &&
           strcmp(entry.version.manifest, creation->version.manifest) == 0 &&
           entry.version.state == VERSION_VALID;
}

void versions_create(Versions *versions, const VersionDraft *draft, VersionsCreated *done,
                     void *context)
{
    Creation *creation = memory_new(sizeof *creation);
    arena_init(&creation->arena, ARENA_UNLIMITED);
    creation->versions = versions;
    creation->at = versions->at;
    creation->notes = version_notes_ref(versions->notes);
    creation->max = versions->settings.max;
    creation->done = done;
    creation->context = context;
    creation->fence = copy_fence(&creation->arena, draft->fence);
    if (!blob_id_is_valid(draft->manifest)) {
        creation->has_failed = true;
        error_set(&creation->err, ERROR_INVALID, "the manifest is not a SHA-256");
    } else {
        copy_request(creation, draft);
        creation->is_known = is_known(versions, creation);
        creation->has_failed = !creation->is_known && !open_blobs(versions, &creation->err);
    }
    creation->check = versions->check;
    creation->item = (WorkItem){
        .run = creation->has_failed || creation->is_known ? run_nothing : check_version,
        .done = checked,
    };
    work_queue_add(versions->checks, &creation->item);
}

/* --- Activating and deleting ------------------------------------------------------------------ */

typedef struct VersionChange {
    Arena arena;
    ClusterStore at;
    VersionActivation activation;
    int64_t revision; /* expected revision of the version to delete; 0: activate it */
    ClusterDone *done;
    void *context;
} VersionChange;

enum {
    KEY_OF_VERSION,
    KEY_OF_CURRENT,
    KEY_COUNT_READ
};

static bool read_current(Change *change, CurrentVersion *out, Error *err)
{
    *out = (CurrentVersion){ 0 };
    return !change_has(change, KEY_OF_CURRENT) ||
           current_version_read(change_arena(change), change_value(change, KEY_OF_CURRENT), out,
                                err);
}

static bool may_replace(const CurrentVersion *current, const VersionActivation *activation,
                        Error *err)
{
    return !current->is_pinned || activation->pin != PIN_UNCHANGED ||
           str_eq_c(activation->version, current->version) ||
           error_set(err, ERROR_CONFLICT,
                     "version %s is pinned by %" STR_FMT
                     "; 'eden versions unpin' allows others to replace it",
                     current->version, STR_ARG(current->by));
}

static bool is_same(const CurrentVersion *current, const VersionActivation *activation,
                    bool is_pinned)
{
    return str_eq_c(activation->version, current->version) && current->is_pinned == is_pinned &&
           !activation->run;
}

static bool decide_activate(void *context, Change *change, Error *err)
{
    const VersionChange *request = context;
    const VersionActivation *activation = &request->activation;
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    CurrentVersion current;
    Version version;
    if (!change_has(change, KEY_OF_VERSION)) {
        return error_set(err, ERROR_NOT_FOUND, "version '%" STR_FMT "' not found",
                         STR_ARG(activation->version));
    }
    if (!version_read(change_arena(change), change_value(change, KEY_OF_VERSION), &version, err) ||
        !read_current(change, &current, err)) {
        return false;
    }
    if (version.state != VERSION_VALID) {
        return error_set(err, ERROR_CONFLICT, "version %" STR_FMT " was rejected",
                         STR_ARG(activation->version));
    }
    if (!may_replace(&current, activation, err)) {
        return false;
    }
    bool is_pinned =
        activation->pin == PIN_UNCHANGED ? current.is_pinned : activation->pin == PIN_SET;
    if (is_same(&current, activation, is_pinned)) {
        return true;
    }
    CurrentVersion next = { .is_pinned = is_pinned,
                            .is_applied = activation->run,
                            .since_ms = loop_wall_ms(request->at.loop),
                            .by = activation->by,
                            .reason = activation->reason };
    bool is_other = !str_eq_c(activation->version, current.version);
    memcpy(next.version, activation->version.data, VERSION_NAME_LEN);
    memcpy(next.manifest, version.manifest, sizeof next.manifest);
    memcpy(next.previous, is_other ? current.version : current.previous, sizeof next.previous);
    current_version_print(&next, &text);
    change_put(change, change_key(change, KEY_OF_CURRENT), buf_str(&text), 0);
    return true;
}

static bool decide_remove(void *context, Change *change, Error *err)
{
    const VersionChange *request = context;
    const Str name = request->activation.version;
    CurrentVersion current;
    if (!change_has(change, KEY_OF_VERSION)) {
        return error_set(err, ERROR_NOT_FOUND, "version '%" STR_FMT "' not found", STR_ARG(name));
    }
    if (change_revision(change, KEY_OF_VERSION) != request->revision) {
        return error_set(err, ERROR_CONFLICT, "it was modified by another request; read it again");
    }
    if (!read_current(change, &current, err)) {
        return false;
    }
    if (str_eq_c(name, current.version) || str_eq_c(name, current.previous)) {
        return error_set(err, ERROR_CONFLICT, "version %" STR_FMT " is the %s version",
                         STR_ARG(name), str_eq_c(name, current.version) ? "current" : "previous");
    }
    change_delete(change, change_key(change, KEY_OF_VERSION));
    return true;
}

static void changed(void *context, Change *change, const Error *err)
{
    VersionChange *request = context;
    request->done(request->context, err);
    arena_clear(&request->arena);
    free(request);
}

static VersionChange *request_new(Versions *versions, Str name, ClusterDone *done, void *context)
{
    VersionChange *request = memory_new(sizeof *request);
    arena_init(&request->arena, ARENA_UNLIMITED);
    request->at = versions->at;
    request->activation.version = arena_copy(&request->arena, name);
    request->done = done;
    request->context = context;
    return request;
}

static void request_start(VersionChange *request, bool (*decide)(void *, Change *, Error *))
{
    Str prefix = request->at.prefix, keys[KEY_COUNT_READ];
    Change *change;
    Error err;
    if (!version_name_check(request->activation.version, &err)) {
        error_set(&err, ERROR_NOT_FOUND, "version '%" STR_FMT "' not found",
                  STR_ARG(request->activation.version));
        changed(request, NULL, &err);
        return;
    }
    keys[KEY_OF_VERSION] =
        cluster_key_version(&request->arena, prefix, request->activation.version);
    keys[KEY_OF_CURRENT] = cluster_key_current_version(&request->arena, prefix);
    change_start(&(ChangeSpec){ .at = request->at,
                                .keys = keys,
                                .key_count = KEY_COUNT_READ,
                                .decide = decide,
                                .done = changed,
                                .context = request,
                                .fence = request->activation.fence },
                 &change);
}

void versions_activate(Versions *versions, const VersionActivation *activation, ClusterDone *done,
                       void *context)
{
    VersionChange *request = request_new(versions, activation->version, done, context);
    request->activation.pin = activation->pin;
    request->activation.run = activation->run;
    request->activation.by = copy_text(&request->arena, activation->by);
    request->activation.reason = copy_text(&request->arena, activation->reason);
    request->activation.fence = copy_fence(&request->arena, activation->fence);
    request_start(request, decide_activate);
}

void versions_remove(Versions *versions, Str name, int64_t revision, ClusterDone *done,
                     void *context)
{
    VersionChange *request = request_new(versions, name, done, context);
    request->revision = revision;
    request_start(request, decide_remove);
}

/* --- Life cycle ------------------------------------------------------------------------------- */

Versions *versions_new(const VersionsSettings *settings)
{
    Versions *versions = memory_new(sizeof *versions);
    arena_init(&versions->arena, ARENA_UNLIMITED);
    versions->at = settings->at;
    versions->settings = *settings;
    versions->settings.max = settings->max == 0 ? VERSIONS_MAX : settings->max;
    versions->notes = version_notes_new();
    versions->at.prefix = arena_copy(&versions->arena, settings->at.prefix);
    versions->directory.descriptor = -1;
    versions->path = arena_format(&versions->arena, "%s/blobs", settings->directory).data;
    versions->check = (VersionCheck){
        .scratch = arena_format(&versions->arena, "%s/checks", settings->directory).data,
        .program = settings->program,
    };
    version_check_clean(versions->check.scratch);
    versions->transfers = work_queue_new(settings->at.loop);
    versions->checks = work_queue_new(settings->at.loop);
    return versions;
}

void versions_free(Versions *versions)
{
    if (versions != NULL) {
        work_queue_free(versions->transfers);
        work_queue_free(versions->checks);
        for (size_t i = 0; i < SETS_MAX; i++) {
            if (versions->sets[i].manifest[0] != '\0') {
                arena_clear(&versions->sets[i].arena);
            }
        }
        blob_store_close(versions->blobs);
        directory_close(&versions->directory);
        version_notes_unref(versions->notes);
        arena_clear(&versions->arena);
        free(versions);
    }
}
