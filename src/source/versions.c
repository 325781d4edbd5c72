#include "source/versions.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "source/version_uses.h"
#include "source/versions_inner.h"

enum {
    UNSEEN_MAX = 10, /* maximum number of versions that the state may not include yet */
};

void versions_complete_without_work(WorkItem *item)
{
}

void versions_set_stopping(Error *err)
{
    error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
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

/* --- Uses ------------------------------------------------------------------------------------- */

void versions_add_uses(const Versions *versions, StrMap *uses)
{
    version_uses_find(versions->cluster_store.state, versions->cluster_store.prefix, uses);
    version_notes_add(versions->notes,
                      loop_now_ms(versions->cluster_store.loop) - VERSION_RETAINED_MS, uses);
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
    ClusterStore cluster_store;
    VersionNotes *notes;
    uint32_t max;
    VersionCheck check;
    Arena arena;
    char name[VERSION_NAME_LEN + 1];
    Version version;
    bool has_failed, is_known, is_new;
    bool has_oldest; /* the oldest version is known, and deleted if there are too many */
    bool is_deleted; /* the transaction deletes it */
    Error err;
    const StoreCompare *fence;
    VersionsCreated *done;
    void *context;
} Creation;

static void creation_end(Creation *creation, const Error *err)
{
    if (err == NULL) {
        version_notes_created(creation->notes, creation->name,
                              loop_now_ms(creation->cluster_store.loop));
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

/* If it has become the current version in the meantime, the next attempt selects another one. */
static bool delete_oldest(Creation *creation, Change *change, Error *err)
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
    creation->is_deleted = true;
    return true;
}

/* A rejected version is validated again, because a newer eden may accept it. */
static bool decide_create(void *context, Change *change, Error *err)
{
    Creation *creation = context;
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    Version present;
    creation->is_new = !change_has(change, 0);
    creation->is_deleted = false;
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
    if (err == NULL && creation->is_deleted) {
        version_notes_freed(creation->notes, &(VersionsFreed){ .versions = 1 });
    }
    creation_end(context, err);
}

/* Only necessary if there may be too many. */
static bool find_oldest(Creation *creation, Str *key)
{
    VersionEntry *entries;
    Arena *arena = &creation->arena;
    uint32_t count = versions_list(arena, creation->cluster_store.state,
                                   creation->cluster_store.prefix, &entries);
    if (count + UNSEEN_MAX < creation->max) {
        return false;
    }
    StrMap uses;
    str_map_init(&uses, arena);
    versions_add_uses(creation->versions, &uses);
    str_map_put(&uses, str_from_c(creation->name), NULL);
    const VersionEntry *oldest = version_uses_oldest(entries, count, &uses);
    if (oldest != NULL) {
        *key = cluster_key_version(arena, creation->cluster_store.prefix, oldest->name);
    }
    return oldest != NULL;
}

static void checked(WorkItem *item)
{
    Creation *creation = (Creation *)item;
    Change *change;
    if (item->is_canceled) {
        creation->has_failed = true;
        versions_set_stopping(&creation->err);
    }
    if (creation->has_failed || creation->is_known) {
        creation_end(creation, creation->has_failed ? &creation->err : NULL);
        return;
    }
    creation->version.created_ms = loop_wall_ms(creation->cluster_store.loop);
    Str keys[CREATION_KEYS];
    keys[KEY_OF_NEW] = cluster_key_version(&creation->arena, creation->cluster_store.prefix,
                                           str_from_c(creation->name));
    keys[KEY_OF_CURRENT_THEN] =
        cluster_key_current_version(&creation->arena, creation->cluster_store.prefix);
    creation->has_oldest = find_oldest(creation, &keys[KEY_OF_OLDEST]);
    change_start(&(ChangeSpec){ .cluster_store = creation->cluster_store,
                                .keys = keys,
                                .key_count = creation->has_oldest ? CREATION_KEYS : 1,
                                .counted = { cluster_key_version_all(
                                    &creation->arena, creation->cluster_store.prefix) },
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
    version->requested_by = copy_text(arena, draft->requested_by);
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
    return versions_find(&creation->arena, versions->cluster_store.state,
                         versions->cluster_store.prefix, str_from_c(creation->name), &entry,
                         &ignored) &&
           strcmp(entry.version.manifest, creation->version.manifest) == 0 &&
           entry.version.state == VERSION_VALID;
}

void versions_create(Versions *versions, const VersionDraft *draft, VersionsCreated *done,
                     void *context)
{
    Creation *creation = memory_new(sizeof *creation);
    arena_init(&creation->arena, ARENA_UNLIMITED);
    creation->versions = versions;
    creation->cluster_store = versions->cluster_store;
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
        BlobStore *blobs;
        creation->has_failed =
            !creation->is_known && !versions_blob_store(versions, &blobs, &creation->err);
    }
    creation->check = versions->check;
    creation->item = (WorkItem){
        .run = creation->has_failed || creation->is_known ? versions_complete_without_work
                                                          : check_version,
        .done = checked,
        .owner = hash_str(draft->requested_by),
    };
    work_queue_add(versions->checks, &creation->item);
}

/* --- Activating and deleting ------------------------------------------------------------------ */

typedef struct VersionChange {
    ChangeRequest base;
    VersionActivation activation;
    int64_t revision; /* expected revision of the version to delete; 0: activate it */
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
                     current->version, STR_ARG(current->requested_by));
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
        return error_set(err, ERROR_CONFLICT,
                         "version %" STR_FMT " was rejected: 'eden versions show %" STR_FMT
                         "' shows its problems",
                         STR_ARG(activation->version), STR_ARG(activation->version));
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
                            .since_ms = loop_wall_ms(request->base.cluster_store.loop),
                            .requested_by = activation->requested_by,
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

static VersionChange *request_new(Versions *versions, Str name, ClusterDone *done, void *context)
{
    VersionChange *request =
        change_request_new(sizeof *request, &versions->cluster_store, done, context);
    request->activation.version = arena_copy(&request->base.arena, name);
    return request;
}

static void request_start(VersionChange *request, bool (*decide)(void *, Change *, Error *))
{
    Str prefix = request->base.cluster_store.prefix, keys[KEY_COUNT_READ];
    Error err;
    if (!version_name_check(request->activation.version, &err)) {
        error_set(&err, ERROR_NOT_FOUND, "version '%" STR_FMT "' not found",
                  STR_ARG(request->activation.version));
        change_request_end(&request->base, &err);
        return;
    }
    keys[KEY_OF_VERSION] =
        cluster_key_version(&request->base.arena, prefix, request->activation.version);
    keys[KEY_OF_CURRENT] = cluster_key_current_version(&request->base.arena, prefix);
    change_request_start(&request->base, &(ChangeSpec){ .keys = keys,
                                                        .key_count = KEY_COUNT_READ,
                                                        .decide = decide,
                                                        .fence = request->activation.fence });
}

void versions_activate(Versions *versions, const VersionActivation *activation, ClusterDone *done,
                       void *context)
{
    VersionChange *request = request_new(versions, activation->version, done, context);
    request->activation.pin = activation->pin;
    request->activation.run = activation->run;
    request->activation.requested_by = copy_text(&request->base.arena, activation->requested_by);
    request->activation.reason = copy_text(&request->base.arena, activation->reason);
    request->activation.fence = copy_fence(&request->base.arena, activation->fence);
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
    versions->cluster_store = settings->cluster_store;
    versions->settings = *settings;
    versions->settings.max = settings->max == 0 ? VERSIONS_MAX : settings->max;
    versions->notes = version_notes_new();
    versions->cluster_store.prefix = arena_copy(&versions->arena, settings->cluster_store.prefix);
    versions->path = arena_format(&versions->arena, "%s/blobs", settings->directory).data;
    versions->check = (VersionCheck){
        .scratch = arena_format(&versions->arena, "%s/checks", settings->directory).data,
        .program = settings->program,
    };
    version_check_clean(versions->check.scratch);
    versions->transfers = work_queue_new(settings->cluster_store.loop);
    versions->checks = work_queue_new(settings->cluster_store.loop);
    return versions;
}

void versions_free(Versions *versions)
{
    if (versions != NULL) {
        work_queue_free(versions->transfers);
        work_queue_free(versions->checks);
        for (size_t i = 0; i < BLOB_SETS_MAX; i++) {
            if (versions->sets[i].manifest[0] != '\0') {
                arena_clear(&versions->sets[i].arena);
            }
        }
        blob_store_close(versions->blobs);
        version_notes_unref(versions->notes);
        arena_clear(&versions->arena);
        free(versions);
    }
}
