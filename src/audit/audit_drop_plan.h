/* Which entries may be dropped from the audit log. Pure.
 *
 * The last AUDIT_RETAINED_ENTRIES entries and those of the last AUDIT_RETAINED_DAYS days are kept:
 * an attacker with admin rights cannot cover their tracks before others have had time to notice
 * them. */
#pragma once

#include "audit/audit_entry.h"

enum {
    AUDIT_RETAINED_ENTRIES = 1000,
    AUDIT_RETAINED_DAYS = 7,
    AUDIT_DROP_BATCH = 500, /* entries per transaction */
};

/* An entry may be dropped if it is neither among the last AUDIT_RETAINED_ENTRIES nor from the last
 * AUDIT_RETAINED_DAYS days. */
typedef struct AuditDropLimits {
    uint64_t last;
    int64_t before_ms;
} AuditDropLimits;

AuditDropLimits audit_drop_limits(const AuditHead *head, int64_t now_ms);
bool audit_drop_is_allowed(const AuditDropLimits *limits, const AuditEntry *entry);

/* The last entry to drop, and its hash, which proves that it was archived. */
typedef struct AuditDropRequest {
    uint64_t sequence;
    char hash[AUDIT_HASH_TEXT + 1];
} AuditDropRequest;

/* Whether dropping may start or continue. `text` is the entry with that number; empty if there is
 * none. `*left` is the number of entries to drop; 0: already done. ERROR_NOT_FOUND: the log has no
 * such entry; ERROR_CONFLICT: it is a different one, was dropped with later ones, or has to
 * stay. */
MUST_CHECK bool audit_drop_decide(const AuditHead *head, const AuditDropLimits *limits,
                                  const AuditDropRequest *request, Str text, uint64_t *remaining,
                                  Error *err);

/* The sequence number of the last entry of the next batch. */
uint64_t audit_drop_batch_end(const AuditHead *head, const AuditDropRequest *request);
/* Moves the floor of `head` past the entries of a batch, from the oldest on: they must be intact,
 * follow the floor, and be droppable. On ERROR_CONFLICT `head` is unchanged. */
MUST_CHECK bool audit_drop_advance(AuditHead *head, const AuditDropLimits *limits, const Str *texts,
                                   uint32_t count, Error *err);
