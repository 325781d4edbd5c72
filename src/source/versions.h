/* The versions of the site on a server: receives blobs, validates and records versions, and makes
 * one the current version. Loop thread; blocking work is done on other threads. */
#pragma once

#include "cluster/cluster_store.h"
#include "source/version_uses.h"
#include "sys/work_queue.h"

typedef struct Versions Versions;

typedef void VersionsGetDone(void *context, Str data, const Error *err);

typedef struct VersionsSettings {
    ClusterStore cluster_store; /* with a state */
    /* directory of the server: blobs and temporary files are below it; copied */
    const char *directory;
    const char *program; /* path of eden, to validate sites; NULL: this program */
    /* Adds the names of versions that runs use, allocated in the arena of the map; NULL: none
     * are. */
    void (*add_uses)(void *context, StrMap *uses);
    void *context;
    uint32_t max; /* maximum number of versions; 0: VERSIONS_MAX */
    /* Gets a blob that is not here from another server; calls `done` once, possibly within this
     * call. NULL: there are no other servers. */
    void (*fetch)(void *context, Str id, VersionsGetDone *done, void *done_context);
    void *fetch_context;
} VersionsSettings;

/* The directory of the blobs is created on first use: until that succeeds, everything that uses
 * blobs fails with the reason. */
Versions *versions_new(const VersionsSettings *settings);
/* Completes everything in progress with ERROR_UNAVAILABLE, within this call or when the store
 * responds; must be called before the store is closed. NULL is allowed. */
void versions_free(Versions *versions);
DEFINE_AUTO(Versions, versions_free)

/* --- Blobs ------------------------------------------------------------------------------------ */

/* Returns the blobs, which other threads may use until the versions are freed. Fails with the
 * reason if their directory could not be created. */
MUST_CHECK bool versions_blob_store(Versions *versions, BlobStore **out, Error *err);

/* `done` is called once, in a later iteration; `err` is NULL on success. `owner` identifies the
 * requester; any number will do. One with many or long requests does not delay those of others,
 * because owners take turns. */

/* Returns those of the blobs with these IDs that do not exist. The others are retained for at least
 * an hour. */
typedef void VersionsMissing(void *context, const Str *missing, uint32_t count, const Error *err);
void versions_missing(Versions *versions, uint64_t owner, const Str *ids, uint32_t count,
                      VersionsMissing *done, void *context);

/* Stores a blob with this ID. Fails like blob_store_put(), and with ERROR_UNAVAILABLE if the disk
 * is nearly full. The data is copied. */
void versions_put(Versions *versions, uint64_t owner, Str id, Str data, ClusterDone *done,
                  void *context);
/* Stores several blobs: the size of each in 4 bytes, big-endian, followed by its content. Fails
 * with ERROR_INVALID if that is malformed; preceding blobs are stored. */
void versions_put_pack(Versions *versions, uint64_t owner, Str pack, ClusterDone *done,
                       void *context);

/* The number of blobs in a pack, or in its well-formed start. */
uint32_t versions_pack_count(Str pack);

/* Like versions_get(), but only if it is on this server. */
void versions_get_local(Versions *versions, uint64_t owner, Str id, VersionsGetDone *done,
                        void *context);
void versions_get(Versions *versions, uint64_t owner, Str id, VersionsGetDone *done, void *context);

/* The IDs of the blobs of a manifest, as keys; valid during the call. */
typedef void VersionsBlobs(void *context, const StrMap *blobs, const Error *err);
void versions_blobs(Versions *versions, uint64_t owner, Str manifest, VersionsBlobs *done,
                    void *context);

/* Queues work on blobs, on the same thread as the other functions and in their order. */
void versions_add_work(Versions *versions, WorkItem *item);

/* --- Versions --------------------------------------------------------------------------------- */

typedef struct VersionDraft {
    Str manifest;
    VersionOrigin origin;
    VersionSource source;
    Str requested_by;
    const StoreCompare *fence; /* see ChangeSpec; NULL: none */
} VersionDraft;

/* `is_new` is false if a valid version with these files exists. */
typedef void VersionsCreated(void *context, Str name, bool is_new, const Error *err);
/* Validates and records a version; everything is copied. Callers take turns, identified by
 * `requested_by`. If there are too many versions, the oldest unused one is deleted. Fails with
 * ERROR_CONFLICT if blobs are missing, ERROR_INVALID if it is not a site, ERROR_LIMIT if all
 * versions are used. */
void versions_create(Versions *versions, const VersionDraft *draft, VersionsCreated *done,
                     void *context);

typedef enum VersionPin {
    PIN_UNCHANGED, /* fails if another version is pinned */
    PIN_SET,
    PIN_CLEAR,
} VersionPin;

typedef struct VersionActivation {
    Str version;
    VersionPin pin;
    bool run; /* apply the version on all nodes */
    Str requested_by, reason;
    const StoreCompare *fence; /* see ChangeSpec; NULL: none */
} VersionActivation;

/* Makes a valid version the current one. Fails with ERROR_NOT_FOUND, or ERROR_CONFLICT if the
 * version is rejected or another one is pinned. Has no effect if it is current and nothing else
 * changes. */
void versions_activate(Versions *versions, const VersionActivation *activation, ClusterDone *done,
                       void *context);
/* Deletes the record of a version that has this revision. Fails with ERROR_CONFLICT if it is the
 * current or the previous version. */
void versions_remove(Versions *versions, Str name, int64_t revision, ClusterDone *done,
                     void *context);

/* Adds the names of all versions in use: those of version_uses_find(), those that runs use, and
 * those that versions_create() reported within VERSION_RETAINED_MS, even if they existed. */
void versions_add_uses(const Versions *versions, StrMap *uses);

/* Counts removed versions and blobs since the start of this server. */
void versions_count_freed(Versions *versions, const VersionsFreed *more);
VersionsFreed versions_freed(const Versions *versions);
