/* Contents by their SHA-256, each in a separate file: <directory>/ab/<sha256>.
 *
 * A blob appears atomically and is durable; its content is verified when it is written and when it
 * is read. A damaged one is removed, so that it is treated as missing and transferred again. Any
 * thread may use a store. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"
#include "base/str_map.h"

enum {
    BLOB_STORE_PARTS = 256,
    BLOB_ID_TEXT = 64,
    BLOB_MAX = 1 << 20,           /* bytes; larger files are lists of blobs */
    BLOB_MANIFEST_MAX = 16 << 20, /* maximum size of a manifest, the only larger blob */
};

/* 64 lowercase hexadecimal digits. */
bool blob_id_is_valid(Str id);
void blob_id_of(Str data, char out[BLOB_ID_TEXT + 1]);

typedef struct BlobStore BlobStore;

/* Creates the directory if it does not exist, and removes leftovers of killed writers. Fails with
 * ERROR_DENIED or ERROR_OS. */
MUST_CHECK bool blob_store_open(const char *directory, BlobStore **out, Error *err);
void blob_store_close(BlobStore *store); /* NULL is allowed */
DEFINE_AUTO(BlobStore, blob_store_close)

/* Fails with ERROR_INVALID if the data has a different hash, ERROR_LIMIT if it is larger than a
 * manifest may be, or ERROR_OS. The last-used time of an existing blob is updated. */
MUST_CHECK bool blob_store_put(BlobStore *store, Str id, Str data, Error *err);
/* Whether that many bytes can be stored without using the reserve of the disk, which also holds the
 * server's state. Fails with ERROR_UNAVAILABLE. */
MUST_CHECK bool blob_store_has_room(const BlobStore *store, size_t bytes, Error *err);
/* Whether the blob exists; its content is not verified. */
bool blob_store_has(const BlobStore *store, Str id);
/* Like blob_store_has(), but updates the last-used time, so that blob_store_sweep() retains the
 * blob for a while. */
bool blob_store_touch(BlobStore *store, Str id);
/* Fails with ERROR_NOT_FOUND if it does not exist or was damaged, ERROR_OS. */
MUST_CHECK bool blob_store_read(BlobStore *store, Arena *arena, Str id, Str *out, Error *err);

typedef struct BlobSweep {
    uint32_t retained, removed;
    int64_t retained_bytes, removed_bytes;
} BlobSweep;

/* Removes blobs that are not keys of `keep` and were last used more than `age_ms` ago. */
MUST_CHECK bool blob_store_sweep(BlobStore *store, const StrMap *keep, int64_t age_ms,
                                 BlobSweep *out, Error *err);
/* Sweeps one of BLOB_STORE_PARTS parts, adding to `out`. In between, others can use the store. */
MUST_CHECK bool blob_store_sweep_part(BlobStore *store, uint32_t part, const StrMap *keep,
                                      int64_t age_ms, BlobSweep *out, Error *err);
