/* Restores a cluster from a backup, on a machine that belongs to no cluster. */
#pragma once

#include "server/backup_content.h"
#include "server/create_cluster.h"

typedef struct RestoreSpec {
    const char *backup; /* path of the backup */
    /* State directory and user of the server. Settings that are empty are taken from the backup:
     * the name of this node, where it listens, its addresses. */
    ClusterSpec spec;
} RestoreSpec;

typedef struct RestoreResult {
    BackupContent content;
    ServerSettings settings; /* the settings that result */
} RestoreResult;

/* Verifies the entire backup before anything takes effect. CA, store and settings are restored, but
 * this server gets new keys and certificates, and the store a new ID, so that nodes read it again;
 * a server with another name replaces the one that made the backup, which is removed. The settings
 * are written last: leftovers of a killed attempt are not a cluster, and it can be repeated. Fails
 * with ERROR_CONFLICT if there is a cluster, like backup_unpack and backup_check, and on file
 * errors. Strings are allocated in the arena. */
MUST_CHECK bool cluster_restore(Arena *arena, const RestoreSpec *spec, RestoreResult *out,
                                Error *err);
