/* Messages of the service eden.v1.Blobs and of Nodes.List, for servers and nodes. Pure. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "source/blob_store.h"

enum {
    BLOB_IDS_MAX = 1000,        /* maximum number of blobs per request */
    BLOB_CHUNK_MAX = 256 << 10, /* maximum size of the data in one message */
};

/* IDs are 64 hexadecimal digits here, and 32 bytes in the message. */
typedef struct BlobRequest {
    Str manifest;
    Str *ids; /* empty: the manifest itself */
    uint32_t count;
} BlobRequest;

typedef struct BlobChunk {
    Str id, data;
    bool is_last;
} BlobChunk;

void blob_request_encode(const BlobRequest *request, Buf *out);
/* These functions fail with ERROR_INVALID or ERROR_LIMIT. Results are allocated in the arena. */
MUST_CHECK bool blob_request_decode(Arena *arena, Str bytes, BlobRequest *out, Error *err);
/* The response of Nodes.List: the ID of a manifest. */
void list_reply_encode(Str manifest, Buf *out);
MUST_CHECK bool list_reply_decode(Arena *arena, Str bytes, Str *out, Error *err);
void blob_chunk_encode(const BlobChunk *chunk, Buf *out);
MUST_CHECK bool blob_chunk_decode(Arena *arena, Str bytes, BlobChunk *out, Error *err);
