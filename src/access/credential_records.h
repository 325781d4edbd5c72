/* Records of credentials: join tokens, API tokens, user certificates. Each is created once under
 * its own ID, expires, and is revoked by deleting it; the differences between them are in a table
 * row. Loop thread only.
 *
 * A function with `done` calls it exactly once, later or within the call, even if the store is
 * closing. Arguments need only be valid during the call, except the row. Failures other than those
 * listed are the store's. */
#pragma once

#include "access/role_names.h"
#include "cluster/cluster_store.h"

enum {
    CREDENTIAL_PAGE_MAX = 1000,
};

typedef struct CredentialRecords {
    const char *singular, *plural; /* "token", "tokens" */
    /* limit on stored records; expired ones are deleted to make space for new ones */
    uint32_t max;
    size_t size;       /* size of the parsed record, which is a struct with */
    size_t id;         /* a string, and */
    size_t expires_ms; /* an int64_t time, at these offsets */
    Str (*key)(Arena *arena, Str prefix, Str id);
    Str (*key_prefix)(Arena *arena, Str prefix); /* the common prefix of their keys */
    /* Whether this is a valid ID; fails with ERROR_INVALID. */
    bool (*check)(Str id, Error *err);
    bool (*read)(Arena *arena, Str text, void *out, Error *err);
    Str (*grants)(Arena *arena, Str prefix); /* NULL for credentials without roles */
} CredentialRecords;

typedef struct NewCredential {
    Str id, text;
    const RoleNames *roles; /* NULL for records without roles */
} NewCredential;

/* `revision` is that of the new record. */
typedef void CredentialAdded(void *context, int64_t revision, const Error *err);
/* Stores a new record. ERROR_CONFLICT if the ID exists; ERROR_LIMIT if there are too many unexpired
 * ones; ERROR_INVALID if a role does not exist. That is checked in the transaction: a record never
 * has a role that is deleted concurrently. */
void credential_records_add(const ClusterStore *cluster_store, const CredentialRecords *row,
                            const NewCredential *credential, CredentialAdded *done, void *context);

/* A stored or just created record. */
typedef struct CredentialEntry {
    Str id;
    int64_t revision;   /* of its last change */
    const void *record; /* NULL if it is unreadable or has another ID */
    Str error;          /* the reason in that case, including the key */
} CredentialEntry;

typedef struct CredentialPage {
    const CredentialEntry *entries; /* sorted by ID */
    uint32_t count;
    Str next;         /* where the next page starts; empty: this is the last page */
    int64_t revision; /* of the store */
} CredentialPage;

/* Lists from the state, without waiting. `after` is the `next` of the previous page, or empty;
 * `limit` is 1 to CREDENTIAL_PAGE_MAX. There may be fewer entries even if more pages follow. */
MUST_CHECK bool credential_records_list(Arena *arena, const ClusterStore *cluster_store,
                                        const CredentialRecords *row, Str after, uint32_t limit,
                                        CredentialPage *out, Error *err);
/* Fails with ERROR_NOT_FOUND, or with ERROR_INVALID for an invalid ID. */
MUST_CHECK bool credential_records_get(Arena *arena, const ClusterStore *cluster_store,
                                       const CredentialRecords *row, Str id, CredentialEntry *out,
                                       Error *err);

/* The credential is invalid from then on. Also works for an unreadable one. `revision` is the
 * expected one, or 0. ERROR_NOT_FOUND; ERROR_INVALID for an invalid ID; ERROR_CONFLICT if it has
 * another revision. */
void credential_records_revoke(const ClusterStore *cluster_store, const CredentialRecords *row,
                               Str id, int64_t revision, ClusterDone *done, void *context);
