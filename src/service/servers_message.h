/* Messages of the service Servers. Pure. */
#pragma once

#include "backup/backup_manifest.h"
#include "base/buf.h"
#include "base/error.h"
#include "pki/p256_public.h"
#include "rpc/session_ping.h"

enum {
    SERVER_FILES_MAX = 512 << 10, /* maximum size of a reply in bytes */
};

/* The files of a server that are part of a backup; empty: it does not have that file. */
typedef struct ServerFiles {
    Str contents[BACKUP_FILES];
    Pin issuer; /* the CA that signs */
} ServerFiles;

void server_files_encode(const ServerFiles *files, Buf *out);
/* Strings are allocated in the arena. Files of a newer server are ignored. Fails with
 * ERROR_INVALID. */
MUST_CHECK bool server_files_decode(Arena *arena, Str bytes, ServerFiles *out, Error *err);

void server_blob_request_encode(Str id, Buf *out);
/* Fail with ERROR_INVALID. */
MUST_CHECK bool server_blob_request_decode(Arena *arena, Str bytes, Str *id, Error *err);
void server_blob_encode(Str data, Buf *out);
MUST_CHECK bool server_blob_decode(Arena *arena, Str bytes, Str *data, Error *err);

void server_ping_request_encode(Str node, Buf *out);
MUST_CHECK bool server_ping_request_decode(Arena *arena, Str bytes, Str *node, Error *err);
void server_ping_encode(const SessionPing *ping, Buf *out);
MUST_CHECK bool server_ping_decode(Arena *arena, Str bytes, SessionPing *ping, Error *err);
