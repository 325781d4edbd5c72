/* Output of `eden backup`, as text and as JSON. Each function returns the exit code. */
#pragma once

#include "cli/invocation.h"
#include "server/restore_cluster.h"

/* "eden.backup-created/1" */
int backup_print_created(const Invocation *invocation, const char *path,
                         const BackupManifest *manifest);
/* "eden.backup-verified/1" */
int backup_print_verified(const Invocation *invocation, const char *path,
                          const BackupContent *content);
/* "eden.backup-restored/1" */
int backup_print_restored(const Invocation *invocation, const RestoreResult *restored);

/* Prints which credentials are valid again and how to list and revoke them: as text, or as
 * "warning" and "review". */
void backup_put_review(const Invocation *invocation, Str warning);
void backup_set_review(Arena *arena, Map *map, Str warning);
