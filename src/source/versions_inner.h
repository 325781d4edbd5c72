/* The state of Versions; private to versions.c and versions_blobs.c. */
#pragma once

#include "source/version_check.h"
#include "source/versions.h"

enum {
    BLOB_SETS_MAX = 4
};

/* The blobs of a manifest, cached because many nodes request the same version. */
typedef struct BlobSet {
    char manifest[BLOB_ID_TEXT + 1]; /* empty: unused */
    Arena arena;
    StrMap ids;
    uint64_t used; /* counter of uses; larger values are more recent */
} BlobSet;

struct Versions {
    ClusterStore cluster_store;
    VersionsSettings settings;
    Arena arena;
    const char *path; /* path of the blobs */
    BlobStore *blobs; /* NULL: not open yet */
    VersionCheck check;
    BlobSet sets[BLOB_SETS_MAX];
    uint64_t uses;
    VersionNotes *notes;
    /* Two queues, because a validation takes a long time, and transfers must not wait for it. */
    WorkQueue *transfers, *checks;
};

/* Completes a request that needs no work, because it has failed or its result is known. */
void versions_complete_without_work(WorkItem *item);
void versions_set_stopping(Error *err);
