/* `eden audit archive`: moves the oldest entries of the audit log to a file. */
#pragma once

#include "audit/audit_archive.h"
#include "cli/cluster_client.h"

/* Returns the exit code. Nothing is dropped from the log before the file has been synced, read back
 * and verified. An existing archive is continued if the log still has some of its entries. */
int audit_archive_run(Invocation *invocation);

/* The cluster that a log belongs to, and the last archived entry. */
typedef struct AuditAnchor {
    char cluster[CLUSTER_NAME_MAX + 1];
    uint64_t sequence; /* 0: nothing is archived */
    char hash[AUDIT_HASH_TEXT + 1];
} AuditAnchor;

/* Reads the anchor from a response from /v1/audit-entries. Fails with ERROR_INVALID. */
MUST_CHECK bool audit_anchor_read(Value response, AuditAnchor *out, Error *err);
