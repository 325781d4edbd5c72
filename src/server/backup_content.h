/* Unpacks a backup into a directory, and checks more than digests: that its parts form a
 * cluster. */
#pragma once

#include "backup/backup_manifest.h"
#include "pki/p256_public.h"
#include "server/server_settings.h"
#include "sys/file_stream.h"

#define BACKUP_OPENED "opened" /* subdirectory with the store that was loaded from the backup */

typedef struct BackupContent {
    BackupManifest manifest;
    ServerSettings settings;     /* as in the backup; strings are allocated in the arena */
    Pin ca;                      /* pin of the CA that signs */
    bool is_next;                /* that CA is in ca-next.pem */
    int64_t keys, nodes, tokens; /* `tokens` are join tokens */
    int64_t api_tokens, user_certificates;
} BackupContent;

/* Writes every part of an opened backup to the directory, as a file under its name (0600), and
 * verifies it. Fails with ERROR_INVALID or ERROR_LIMIT and the position if it is damaged,
 * truncated, not a backup or from a different version; files written until then must be
 * discarded. */
MUST_CHECK bool backup_unpack(FileReader *backup, const char *directory, BackupManifest *out,
                              Error *err);
/* Checks the output of backup_unpack: the settings are readable, the CA has its key and belongs to
 * this cluster, the store can be opened, its records are readable, and it refers to no CA outside
 * the backup. Leaves the store, closed, in the BACKUP_OPENED subdirectory. Fails with
 * ERROR_INVALID, naming the part, or on file errors. */
MUST_CHECK bool backup_check(Arena *arena, const char *directory, const BackupManifest *manifest,
                             BackupContent *out, Error *err);
