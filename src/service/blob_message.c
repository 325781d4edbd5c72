#include "service/blob_message.h"

#include "base/hex.h"
#include "rpc/eden.pb-c.h"
#include "rpc/wire.h"

enum {
    ID_BYTES = BLOB_ID_TEXT / 2
};

static ProtobufCBinaryData id_out(Arena *arena, Str id)
{
    unsigned char *bytes = ARENA_ARRAY(arena, unsigned char, ID_BYTES);
    hex_decode(id.data, ID_BYTES, bytes);
    return (ProtobufCBinaryData){ .len = ID_BYTES, .data = bytes };
}

static bool id_in(Arena *arena, ProtobufCBinaryData wire, Str *out, Error *err)
{
    if (wire.len != ID_BYTES) {
        return error_set(err, ERROR_INVALID, "a SHA-256 has %d bytes", ID_BYTES);
    }
    char *text = ARENA_ARRAY(arena, char, BLOB_ID_TEXT + 1);
    hex_encode(wire.data, ID_BYTES, text);
    *out = str_from(text, BLOB_ID_TEXT);
    return true;
}

void blob_request_encode(const BlobRequest *request, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Eden__V1__GetBlobsRequest message = EDEN__V1__GET_BLOBS_REQUEST__INIT;
    message.manifest = id_out(&arena, request->manifest);
    message.sha256 = ARENA_ARRAY(&arena, ProtobufCBinaryData, request->count);
    message.n_sha256 = request->count;
    for (uint32_t i = 0; i < request->count; i++) {
        message.sha256[i] = id_out(&arena, request->ids[i]);
    }
    wire_pack(&message.base, out);
}

bool blob_request_decode(Arena *arena, Str bytes, BlobRequest *out, Error *err)
{
    const Eden__V1__GetBlobsRequest *message = (const Eden__V1__GetBlobsRequest *)wire_unpack(
        arena, &eden__v1__get_blobs_request__descriptor, bytes, err);
    if (message == NULL) {
        return false;
    }
    if (message->n_sha256 > BLOB_IDS_MAX) {
        return error_set(err, ERROR_LIMIT, "more than %d blobs", BLOB_IDS_MAX);
    }
    BlobRequest request = { .ids = ARENA_ARRAY(arena, Str, message->n_sha256),
                            .count = (uint32_t)message->n_sha256 };
    if (!id_in(arena, message->manifest, &request.manifest, err)) {
        return false;
    }
    for (uint32_t i = 0; i < request.count; i++) {
        if (!id_in(arena, message->sha256[i], &request.ids[i], err)) {
            return false;
        }
    }
    *out = request;
    return true;
}

void list_reply_encode(Str manifest, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Eden__V1__ListReply message = EDEN__V1__LIST_REPLY__INIT;
    message.manifest = id_out(&arena, manifest);
    wire_pack(&message.base, out);
}

bool list_reply_decode(Arena *arena, Str bytes, Str *out, Error *err)
{
    const Eden__V1__ListReply *message = (const Eden__V1__ListReply *)wire_unpack(
        arena, &eden__v1__list_reply__descriptor, bytes, err);
    return message != NULL && id_in(arena, message->manifest, out, err);
}

void blob_chunk_encode(const BlobChunk *chunk, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Eden__V1__BlobChunk message = EDEN__V1__BLOB_CHUNK__INIT;
    message.sha256 = id_out(&arena, chunk->id);
    message.data = wire_data(chunk->data);
    message.last = chunk->is_last;
    wire_pack(&message.base, out);
}

bool blob_chunk_decode(Arena *arena, Str bytes, BlobChunk *out, Error *err)
{
    const Eden__V1__BlobChunk *message = (const Eden__V1__BlobChunk *)wire_unpack(
        arena, &eden__v1__blob_chunk__descriptor, bytes, err);
    BlobChunk chunk = { 0 };
    if (message == NULL || !id_in(arena, message->sha256, &chunk.id, err)) {
        return false;
    }
    chunk.data = wire_bytes(message->data);
    chunk.is_last = message->last;
    *out = chunk;
    return chunk.data.len <= BLOB_CHUNK_MAX ||
           error_set(err, ERROR_LIMIT, "a chunk is larger than %d bytes", BLOB_CHUNK_MAX);
}
