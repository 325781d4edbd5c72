/* The oldest entries of the audit log into a file, and then out of the log: `eden audit archive`. */
#pragma once

#include "audit/audit_archive.h"
#include "cli/cluster_client.h"

/* The exit code. The log drops nothing before the file is on the disk, was read again and is whole. A
 * file that is there already is gone on with when it is one that the log has not dropped all of. */
int audit_archive_run(Invocation *invocation);

/* How far the log of the server is archived, and whose log it is. */
typedef struct AuditAnchor {
    char cluster[CLUSTER_NAME_MAX + 1];
    uint64_t sequence; /* 0: nothing is */
    char hash[AUDIT_HASH_TEXT + 1];
} AuditAnchor;

/* From an answer of /v1/audit-entries. ERROR_INVALID. */
MUST_CHECK bool audit_anchor_read(Value answer, AuditAnchor *out, Error *err);
