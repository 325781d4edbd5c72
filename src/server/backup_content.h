/* A backup unpacked into a directory, and checks beyond digests: that its parts form a cluster. */
#pragma once

#include "backup/backup_manifest.h"
#include "pki/p256_public.h"
#include "server/server_settings.h"
#include "sys/file_reader.h"

#define BACKUP_OPENED "opened" /* of the folder: the store that was made of the backup */

typedef struct BackupContent {
    BackupManifest manifest;
    ServerSettings settings;     /* as they were; texts are the arena's */
    Pin ca;                      /* the one that signs */
    bool is_next;                /* it is that of ca-next.pem */
    int64_t keys, nodes, tokens; /* tokens: to join with */
    int64_t api_tokens, user_certificates;
} BackupContent;

/* Writes every part of a backup, which was opened and not read yet, to the folder, as a file under its name (0600), and checks it
 * on the way. Fails with ERROR_INVALID or ERROR_LIMIT and the place for what is damaged, cut off, of
 * another version or no backup; what was written until then is worth nothing. */
MUST_CHECK bool backup_unpack(FileReader *backup, const char *folder, BackupManifest *out,
                              Error *err);
/* What backup_unpack left: the settings can be read, the CA has its key and is of this cluster, the
 * store can be opened and its records can be read, and it needs no other CA than those that are there.
 * The store is in BACKUP_OPENED of the folder then, closed. Fails with ERROR_INVALID, naming the
 * part, or as files do. */
MUST_CHECK bool backup_check(Arena *arena, const char *folder, const BackupManifest *manifest,
                             BackupContent *out, Error *err);
