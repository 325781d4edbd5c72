/* Kinds whose objects are stored exactly as written, under objects/<kind>/<name>. These functions
 * implement them, so that such a kind only defines its fields. */
#pragma once

#include "api/kind.h"

/* Limits, since every server holds all objects in memory. The row of a kind can have lower ones. */
enum {
    STORED_OBJECTS_MAX = 10000, /* per kind */
    /* size limit of a record, in bytes; more than a request can contain */
    STORED_RECORD_MAX = 80 << 10,
    /* total size per kind, in bytes; objects of average size do not reach it */
    STORED_BYTES_MAX = 32 << 20,
};

/* Objects of a kind and the size of their records; also the limits of both. */
typedef struct StoredUsage {
    uint32_t objects;
    size_t bytes;
} StoredUsage;
StoredUsage stored_usage(const Kind *kind, const ClusterStore *cluster_store);
StoredUsage stored_limits(const Kind *kind);
bool stored_is(const Kind *kind); /* whether it is such a kind */

/* Whether objects/<word>/ belongs to such a kind: `keeps` of StateEvents. */
bool stored_is_kind(Str word);

bool stored_list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindItems *out, Error *err);
bool stored_get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindItem *out, Error *err);
void stored_create(const Kind *kind, ApiCall *call, const KindDraft *draft);
void stored_update(const Kind *kind, ApiCall *call, const KindDraft *draft);
/* The same, and writes another record in the same transaction. */
typedef struct StoredExtra {
    Str key, value;
    /* expected revision of the record when an object is updated; 0: it must not exist */
    int64_t revision;
} StoredExtra;
void stored_create_with(const Kind *kind, ApiCall *call, const KindDraft *draft,
                        const StoredExtra *also);
void stored_update_with(const Kind *kind, ApiCall *call, const KindDraft *draft,
                        const StoredExtra *also);
void stored_remove(const Kind *kind, ApiCall *call, const KindItem *present);
/* Removes the object if `allows` accepts the revisions of other keys, in the same transaction.
 * `revisions` has 0 for missing keys. */
enum {
    STORED_GUARDS_MAX = 4
};
typedef struct StoredGuard {
    const Str *keys;
    uint32_t key_count;
    bool (*allows)(const ApiSettings *settings, Str name, const int64_t *revisions, Error *err);
} StoredGuard;
void stored_remove_guarded(const Kind *kind, ApiCall *call, const KindItem *present,
                           const StoredGuard *guard);
Str stored_watch_prefix(const Kind *kind, Arena *arena, Str prefix, uint32_t which);
bool stored_key_to_name(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name);

/* All functions, for a row without its own. */
#define STORED_KIND                                                            \
    .name_check = object_name_check, .list = stored_list, .get = stored_get,   \
    .create = stored_create, .update = stored_update, .remove = stored_remove, \
    .watch_prefix = stored_watch_prefix, .key_to_name = stored_key_to_name
