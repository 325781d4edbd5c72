/* Records of credentials: join tokens, API tokens, user certificates.
 * Each is created once under its own ID, expires, and is revoked by
 * removing it; the differences between them are in a row. Loop thread.
 *
 * A function with `done` calls it exactly once, in a later turn or
 * within, also when the store closes. Arguments are borrowed for that
 * call, except the row. Failures other than those named are the store's. */
#pragma once

#include "access/role_names.h"
#include "cluster/cluster_store.h"

enum {
    CREDENTIAL_PAGE_MAX = 1000,
};

typedef struct CredentialRecords {
    const char *one, *many; /* "token", "tokens" */
    uint32_t max;           /* in the store; those that have run out give way to new ones */
    size_t size;            /* of a record as it is read: a struct with */
    size_t id;              /*   a text, and */
    size_t expires_ms;      /*   a moment as int64_t, each as far behind its begin */
    Str (*key)(Arena *arena, Str prefix, Str id);
    Str (*all)(Arena *arena, Str prefix); /* what all of their keys start with */
    /* Whether there can be one with this id; fails with ERROR_INVALID. */
    bool (*check)(Str id, Error *err);
    bool (*read)(Arena *arena, Str text, void *out, Error *err);
    Str (*grants)(Arena *arena, Str prefix); /* NULL: they have no roles */
} CredentialRecords;

typedef struct CredentialDraft {
    Str id, text;
    const RoleNames *roles; /* NULL: none */
} CredentialDraft;

/* `revision` is that of the new record. */
typedef void CredentialAdded(void *context, int64_t revision, const Error *err);
/* Keeps a new one. ERROR_CONFLICT when the id is taken; ERROR_LIMIT when there are too many that are
 * still good; ERROR_INVALID when a role is not there. Whether it is, is part of the transaction:
 * nobody has a role that is deleted meanwhile. */
void credential_records_add(const ClusterStore *at, const CredentialRecords *row,
                            const CredentialDraft *draft, CredentialAdded *done, void *context);

/* One that is there, or was just made. */
typedef struct CredentialEntry {
    Str id;
    int64_t revision;   /* of its last change */
    const void *record; /* NULL: it cannot be read, or is one of another id, as */
    Str error;          /* says then, with its key */
} CredentialEntry;

typedef struct CredentialPage {
    const CredentialEntry *entries; /* in the order of their ids */
    uint32_t count;
    Str next;         /* behind which the next page begins; empty: that was all */
    int64_t revision; /* of the store */
} CredentialPage;

/* From the state, without waiting: those behind `after`, the `next` of the page before or empty; `limit`
 * from 1 to CREDENTIAL_PAGE_MAX. There may be fewer, and yet more to come. */
MUST_CHECK bool credential_records_list(Arena *arena, const ClusterStore *at,
                                        const CredentialRecords *row, Str after, uint32_t limit,
                                        CredentialPage *out, Error *err);
/* ERROR_NOT_FOUND; ERROR_INVALID for what is no id. */
MUST_CHECK bool credential_records_get(Arena *arena, const ClusterStore *at,
                                       const CredentialRecords *row, Str id, CredentialEntry *out,
                                       Error *err);

/* From then on it opens nothing. Also for one that cannot be read. `revision` is the one that it must
 * still have, or 0. ERROR_NOT_FOUND; ERROR_INVALID for what is no id; ERROR_CONFLICT when it has
 * another revision. */
void credential_records_revoke(const ClusterStore *at, const CredentialRecords *row, Str id,
                               int64_t revision, ClusterDone *done, void *context);
