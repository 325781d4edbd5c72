/* The audit log of the cluster: who requested what, and the result. Loop thread.
 *
 * Entries are appended to a chain (audit/audit_entry.h) by a transaction on the
 * head key, all waiting ones together. An entry whose `done` has no error is on disk:
 * operations that must not happen without a record start then, and are rejected if it
 * fails. Entries are kept until they are archived (audit/audit_drop.h). */
#pragma once

#include "audit/audit_entry.h"
#include "cluster/cluster_store.h"

typedef struct Audit Audit;

enum {
    AUDIT_BATCH_MAX = 100,    /* entries of one transaction */
    AUDIT_WAITING_MAX = 4000, /* entries that wait for theirs */
    AUDIT_PAGE_MAX = 1000,
    AUDIT_DENIED_CHANGES = 20, /* entries of a minute and credential; */
    AUDIT_SESSIONS = 60,       /* the same, of sessions that begin and end */
};

/* `at` is copied, its prefix too. */
Audit *audit_new(const ClusterStore *at);
/* Before the store is closed. What waits is told ERROR_UNAVAILABLE, from within or with the answer of
 * the store. NULL is allowed. */
void audit_free(Audit *audit);
DEFINE_AUTO(Audit, audit_free)

typedef void AuditDone(void *context, uint64_t sequence, const Error *err);
/* Sequence, time and hashes are filled in; the entry is copied. `done` is called exactly once, in a
 * later turn or within; may be NULL for what nobody waits for. ERROR_UNAVAILABLE: it is not written,
 * as far as anybody can know. */
void audit_append(Audit *audit, const AuditEntry *entry, AuditDone *done, void *context);

/* What whoever has any credential can do as often as they like. */
typedef enum AuditBounded {
    AUDIT_BOUNDED_READ,    /* denied */
    AUDIT_BOUNDED_CHANGE,  /* denied */
    AUDIT_BOUNDED_SESSION, /* logging in and out */
    AUDIT_BOUNDED_FULL,    /* asked for while the disk is full */
    AUDIT_BOUNDED_COUNT
} AuditBounded;

/* Whether one more by this credential is worth an entry: one read and a few others each minute, so that
 * nobody fills the log who may do nothing. */
typedef enum AuditRoom {
    AUDIT_ROOM_NONE,
    AUDIT_ROOM_MORE,
    AUDIT_ROOM_LAST, /* of this minute: more of them would be passed over */
} AuditRoom;
AuditRoom audit_room(Audit *audit, Str credential, AuditBounded what);
/* The detail of an entry that is the last: with that more are not recorded. */
Str audit_last_detail(Arena *arena, Str detail);

typedef struct AuditPage {
    const AuditEntry *entries; /* in the order asked for */
    uint32_t count;
    uint32_t unreadable; /* so many are left out */
    uint64_t next;       /* sequence where the next page begins; 0: that was all */
    AuditHead head;
    int64_t revision; /* of the store */
} AuditPage;
typedef void AuditListed(void *context, const AuditPage *page, const Error *err);

typedef struct AuditQuery {
    uint64_t from;  /* the first sequence; 0: the oldest, or with `newest_first` the newest */
    uint32_t limit; /* 1 to AUDIT_PAGE_MAX */
    bool newest_first;
} AuditQuery;
/* `done` is called exactly once, in a later turn or within. */
void audit_list(const ClusterStore *at, const AuditQuery *query, AuditListed *done, void *context);

/* The whole chain as of one revision, not before now. `done` is called exactly once; a broken chain is no
 * error. One is read at a time: those who ask meanwhile share the next one. */
typedef void AuditVerified(void *context, const AuditChain *chain, const Error *err);
void audit_verify(Audit *audit, AuditVerified *done, void *context);
