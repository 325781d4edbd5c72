#include "service/servers_message.h"

#include "base/identity.h"
#include "rpc/eden.pb-c.h"
#include "rpc/wire.h"
#include "source/blob_store.h"

void server_files_encode(const ServerFiles *files, Buf *out)
{
    Eden__V1__ServerFile rows[BACKUP_FILES], *pointers[BACKUP_FILES];
    Eden__V1__ServerFilesReply message = EDEN__V1__SERVER_FILES_REPLY__INIT;
    char issuer[PIN_TEXT + 1];
    pin_text(&files->issuer, issuer);
    message.issuer = issuer;
    message.files = pointers;
    for (uint32_t i = 0; i < BACKUP_FILES; i++) {
        if (files->contents[i].len > 0) {
            Eden__V1__ServerFile *row = &rows[message.n_files];
            *row = (Eden__V1__ServerFile)EDEN__V1__SERVER_FILE__INIT;
            /* protobuf-c never modifies it */
            row->name = (char *)(uintptr_t)backup_part_name((BackupPartKind)i);
            row->content = wire_data(files->contents[i]);
            pointers[message.n_files++] = row;
        }
    }
    wire_pack(&message.base, out);
}

bool server_files_decode(Arena *arena, Str bytes, ServerFiles *out, Error *err)
{
    const Eden__V1__ServerFilesReply *message = (const Eden__V1__ServerFilesReply *)wire_unpack(
        arena, &eden__v1__server_files_reply__descriptor, bytes, err);
    *out = (ServerFiles){ 0 };
    if (message == NULL || !pin_parse(str_from_c(message->issuer), &out->issuer, err)) {
        return false;
    }
    for (size_t i = 0; i < message->n_files; i++) {
        for (uint32_t kind = 0; kind < BACKUP_FILES; kind++) {
            if (strcmp(message->files[i]->name, backup_part_name((BackupPartKind)kind)) == 0) {
                out->contents[kind] = wire_bytes(message->files[i]->content);
            }
        }
    }
    for (uint32_t kind = 0; kind < BACKUP_FILES; kind++) {
        if (out->contents[kind].len == 0 && backup_part_is_required((BackupPartKind)kind)) {
            return error_set(err, ERROR_INVALID, "the server did not send '%s'",
                             backup_part_name((BackupPartKind)kind));
        }
    }
    return true;
}

void server_blob_request_encode(Str id, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    Eden__V1__ServerBlobRequest message = EDEN__V1__SERVER_BLOB_REQUEST__INIT;
    arena_init(&arena, ARENA_UNLIMITED);
    message.id = arena_copy_c(&arena, id);
    wire_pack(&message.base, out);
}

bool server_blob_request_decode(Arena *arena, Str bytes, Str *id, Error *err)
{
    const Eden__V1__ServerBlobRequest *message = (const Eden__V1__ServerBlobRequest *)wire_unpack(
        arena, &eden__v1__server_blob_request__descriptor, bytes, err);
    if (message == NULL) {
        return false;
    }
    *id = str_from_c(message->id);
    return blob_id_is_valid(*id) || error_set(err, ERROR_INVALID, "not the ID of a blob");
}

void server_blob_encode(Str data, Buf *out)
{
    Eden__V1__ServerBlobReply message = EDEN__V1__SERVER_BLOB_REPLY__INIT;
    message.data = wire_data(data);
    wire_pack(&message.base, out);
}

bool server_blob_decode(Arena *arena, Str bytes, Str *data, Error *err)
{
    const Eden__V1__ServerBlobReply *message = (const Eden__V1__ServerBlobReply *)wire_unpack(
        arena, &eden__v1__server_blob_reply__descriptor, bytes, err);
    if (message == NULL) {
        return false;
    }
    *data = wire_bytes(message->data);
    return true;
}

void server_ping_request_encode(Str node, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    Eden__V1__ServerPingRequest message = EDEN__V1__SERVER_PING_REQUEST__INIT;
    arena_init(&arena, ARENA_UNLIMITED);
    message.node = arena_copy_c(&arena, node);
    wire_pack(&message.base, out);
}

bool server_ping_request_decode(Arena *arena, Str bytes, Str *node, Error *err)
{
    const Eden__V1__ServerPingRequest *message = (const Eden__V1__ServerPingRequest *)wire_unpack(
        arena, &eden__v1__server_ping_request__descriptor, bytes, err);
    if (message == NULL) {
        return false;
    }
    *node = str_from_c(message->node);
    return node_name_check(*node, err);
}

void server_ping_encode(const SessionPing *ping, Buf *out)
{
    Eden__V1__ServerPingReply message = EDEN__V1__SERVER_PING_REPLY__INIT;
    message.round_trip_ms = ping->round_trip_ms;
    message.node_ms = ping->node_ms;
    message.server_ms = ping->server_ms;
    wire_pack(&message.base, out);
}

bool server_ping_decode(Arena *arena, Str bytes, SessionPing *ping, Error *err)
{
    const Eden__V1__ServerPingReply *message = (const Eden__V1__ServerPingReply *)wire_unpack(
        arena, &eden__v1__server_ping_reply__descriptor, bytes, err);
    if (message == NULL) {
        return false;
    }
    *ping = (SessionPing){ message->round_trip_ms, message->node_ms, message->server_ms };
    return true;
}
