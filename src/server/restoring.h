/* Restores a cluster from a backup, on a machine that belongs to no cluster. */
#pragma once

#include "server/backup_content.h"
#include "server/founding.h"

typedef struct Restoring {
    const char *backup; /* its path */
    /* Where the state goes, and as whom the server runs. Of the settings, those that are empty are as
     * in the backup: the name of this node, where it listens, how it is reached. */
    Founding founding;
} Restoring;

typedef struct Restored {
    BackupContent content;
    ServerSettings settings; /* as they are now */
} Restored;

/* All of the backup is checked before anything counts. CA, store and settings are as they were, but
 * this server gets keys and certificates of its own, and the store another id, so that nodes read it
 * anew; a server of another name takes the place of the one that made the backup, which is none any
 * more. The settings are written last: what was left by one that was killed is no cluster, and it can
 * be restored again. Fails with ERROR_CONFLICT where a cluster is, as backup_unpack and backup_check,
 * and as the file system does. Texts are the arena's. */
MUST_CHECK bool cluster_restore(Arena *arena, const Restoring *restoring, Restored *out,
                                Error *err);
