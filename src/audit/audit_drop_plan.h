/* What may be dropped from the audit log. Pure.
 *
 * The newest and the recent entries stay: an attacker with admin
 * rights cannot erase their traces before others had time to look. */
#pragma once

#include "audit/audit_entry.h"

enum {
    AUDIT_KEPT_ENTRIES = 1000,
    AUDIT_KEPT_DAYS = 7,
    AUDIT_DROP_BATCH = 500, /* entries of one transaction */
};

/* An entry may go when it is neither behind the one nor younger than the other. */
typedef struct AuditDropLimits {
    uint64_t last;
    int64_t before_ms;
} AuditDropLimits;

AuditDropLimits audit_drop_limits(const AuditHead *head, int64_t now_ms);
bool audit_drop_may(const AuditDropLimits *limits, const AuditEntry *entry);

/* Up to which entry, and its hash: whoever has archived it knows that. */
typedef struct AuditDropWish {
    uint64_t sequence;
    char hash[AUDIT_HASH_TEXT + 1];
} AuditDropWish;

/* Whether it may be begun, or gone on with. `text` is the entry of that number; empty: there is none.
 * `*left`: so many are to be dropped; 0: it is done already. ERROR_NOT_FOUND: the log has no such entry;
 * ERROR_CONFLICT: it is another one, was dropped with more behind it, or has to stay. */
MUST_CHECK bool audit_drop_decide(const AuditHead *head, const AuditDropLimits *limits,
                                  const AuditDropWish *wish, Str text, uint64_t *left, Error *err);

/* The last entry of the next batch. */
uint64_t audit_drop_batch_end(const AuditHead *head, const AuditDropWish *wish);
/* Moves the floor of `head` behind the entries of a batch, from the oldest on: they must be whole, follow
 * the floor, and be allowed to go. ERROR_CONFLICT; `head` is as it was then. */
MUST_CHECK bool audit_drop_advance(AuditHead *head, const AuditDropLimits *limits, const Str *texts,
                                   uint32_t count, Error *err);
