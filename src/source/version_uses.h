/* Decides which versions of the site are retained, and which may be deleted. */
#pragma once

#include "base/str_map.h"
#include "source/version.h"

enum {
    VERSIONS_RETAINED = 100, /* number of newest valid ones to retain, and of rejected ones */
    /* Time in milliseconds for which any version is retained, since `eden push` or `eden run` may
     * be about to use it. */
    VERSION_RETAINED_MS = 3600 * 1000,
};

/* Adds the names of the current version, of the previous one, and of the last one from sources. The
 * names are in the arena of the map. */
void version_uses_find(const State *state, Str prefix, StrMap *uses);

typedef struct VersionRetention {
    uint32_t retained; /* number of newest valid versions, and of rejected ones */
    int64_t before_ms; /* only versions that were created before */
} VersionRetention;

/* Selects the versions to delete: indexes of `entries`, which are sorted as by versions_list().
 * Versions with unreadable records are retained. Returns their number. */
uint32_t version_uses_plan(const VersionEntry *entries, uint32_t count, const StrMap *uses,
                           const VersionRetention *retention, uint32_t *out);
/* The version to delete to make space for another: the oldest unused rejected version, otherwise
 * the oldest unused version. NULL if all are in use. */
const VersionEntry *version_uses_oldest(const VersionEntry *entries, uint32_t count,
                                        const StrMap *uses);

/* --- In the memory of a server ---------------------------------------------------------------- */

/* Totals since the start of this server. */
typedef struct VersionsFreed {
    uint64_t versions, blobs, bytes;
} VersionsFreed;

enum {
    VERSION_NOTES_MAX = 64
};

/* Versions that were created recently, or requested although they existed. They are about to be
 * used. */
typedef struct VersionNotes {
    uint32_t references, next;
    VersionsFreed freed;
    struct {
        char name[VERSION_NAME_LEN + 1]; /* empty: none */
        int64_t time_ms;                 /* of the loop */
    } created[VERSION_NOTES_MAX];
} VersionNotes;

VersionNotes *version_notes_new(void);
VersionNotes *version_notes_ref(VersionNotes *notes);
void version_notes_unref(VersionNotes *notes);
void version_notes_created(VersionNotes *notes, const char *name, int64_t now_ms);
void version_notes_freed(VersionNotes *notes, const VersionsFreed *more);
/* Adds the versions since a time. */
void version_notes_add(const VersionNotes *notes, int64_t since_ms, StrMap *uses);
