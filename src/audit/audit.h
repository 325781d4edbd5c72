/* The audit log of the cluster: who requested what, and the result. Loop thread only.
 *
 * Entries are appended to a chain (audit/audit_entry.h) in a transaction on the head key; all
 * waiting entries are written together. An entry whose `done` has no error is on disk: operations
 * that must not happen without a record start then, and are rejected if it fails. Entries are
 * stored until they are archived (audit/audit_drop.h). */
#pragma once

#include "audit/audit_entry.h"
#include "cluster/cluster_store.h"

typedef struct Audit Audit;

enum {
    AUDIT_BATCH_MAX = 100,    /* entries per transaction */
    AUDIT_WAITING_MAX = 4000, /* entries waiting to be written */
    AUDIT_PAGE_MAX = 1000,
    AUDIT_DENIED_CHANGES = 20, /* maximum number of entries per credential per minute */
    AUDIT_SESSIONS = 60,       /* maximum number of logins and logouts per credential per minute */
};

/* `cluster_store` is copied, including its prefix. */
Audit *audit_new(const ClusterStore *cluster_store);
/* Must be called before the store is closed. Waiting entries are completed with ERROR_UNAVAILABLE,
 * within this call or when the store responds. NULL is allowed. */
void audit_free(Audit *audit);
DEFINE_AUTO(Audit, audit_free)

typedef void AuditDone(void *context, uint64_t sequence, const Error *err);
/* Sequence, time and hashes are filled in; the entry is copied. `done` is called exactly once,
 * later or within the call; it may be NULL. ERROR_UNAVAILABLE: it was not written, as far as can be
 * determined. */
void audit_append(Audit *audit, const AuditEntry *entry, AuditDone *done, void *context);

/* Operations that any credential can repeat at will. */
typedef enum AuditLimit {
    AUDIT_LIMIT_READ,    /* denied read */
    AUDIT_LIMIT_CHANGE,  /* denied change */
    AUDIT_LIMIT_SESSION, /* logging in and out */
    AUDIT_LIMIT_FULL,    /* requested while the disk or the log is full */
    AUDIT_LIMIT_COUNT
} AuditLimit;

/* audit_head_is_full(), as of the last read or write. */
bool audit_is_full(const Audit *audit);

/* Whether to write another entry for this credential: one read and a few others per minute, so that
 * a user without permissions cannot fill the log. */
typedef enum AuditAllowance {
    AUDIT_ALLOWANCE_NONE,
    AUDIT_ALLOWANCE_MORE,
    AUDIT_ALLOWANCE_LAST, /* the last one in this minute: later ones are skipped */
} AuditAllowance;
AuditAllowance audit_allowance(Audit *audit, Str credential, AuditLimit what);
/* The detail of the last entry, which notes that later ones are not recorded. */
Str audit_last_detail(Arena *arena, Str detail);

typedef struct AuditPage {
    const AuditEntry *entries; /* in the requested order */
    uint32_t count;
    uint32_t unreadable; /* number of entries omitted as unreadable */
    uint64_t next;       /* sequence number where the next page starts; 0: this is the last page */
    AuditHead head;
    int64_t revision; /* of the store */
} AuditPage;
typedef void AuditListed(void *context, const AuditPage *page, const Error *err);

typedef struct AuditQuery {
    uint64_t from;  /* first sequence number; 0: the oldest, or with `newest_first` the newest */
    uint32_t limit; /* 1 to AUDIT_PAGE_MAX */
    bool newest_first;
} AuditQuery;
/* `done` is called exactly once, later or within the call. */
void audit_list(const ClusterStore *cluster_store, const AuditQuery *query, AuditListed *done,
                void *context);

/* Verifies the entire chain as of one revision, not older than this call. `done` is called exactly
 * once; a broken chain is not an error. Only one verification runs at a time; callers that arrive
 * in the meantime share the next one. */
typedef void AuditVerified(void *context, const AuditChain *chain, const Error *err);
void audit_verify(Audit *audit, AuditVerified *done, void *context);
