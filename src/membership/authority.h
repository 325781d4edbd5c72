/* The cluster's certificate authority on this server: the CA files, which CA signs, which CAs are
 * trusted, and the rotation from one CA to the next. Loop thread only.
 *
 * pki/rotation.h decides the order of the transitions; this module keeps files and store
 * consistent:
 *
 *     begin         write ca-next.pem, then record it in the store
 *     a transition  write the new state and the notice for nodes in one transaction,
 *                   then apply it on this server
 *     the end       name the only CA in the store, then replace ca.pem, remove ca-next.pem
 *
 * Writes by other servers are applied as soon as the state has them (cluster/state.h).
 *
 * So after a crash at any point the store has the progress, and a file that the store does not name
 * is unused. */
#pragma once

#include "cluster/ca_set.h"
#include "cluster/cluster_store.h"
#include "membership/ca_files.h"
#include "pki/rotation.h"

typedef struct Authority Authority;

typedef struct AuthorityEvents {
    void (*ready)(void *context);   /* called once: the CAs are loaded */
    void (*changed)(void *context); /* the signing CA or the trusted CAs have changed */
    /* Called on a fatal error. */
    void (*failed)(void *context, const Error *err);
    /* Whether all of this server's certificates are from this CA. */
    bool (*certificates_issued_by)(void *context, const Pin *ca);
    /* The key of a CA that the store names is missing here, but another server may have it; see
     * authority_files_changed(). May be NULL. */
    void (*missing)(void *context);
    void *context;
} AuthorityEvents;

typedef struct AuthorityOptions {
    ClusterStore cluster_store;
    Str cluster; /* name of the cluster */
    Str node;    /* name of this server */
    const Directory *directory;
    AuthorityEvents events;
} AuthorityOptions;

/* The options must be valid until the store is closed. Fails if files cannot be read. Only `failed`
 * may be called during this call. */
MUST_CHECK bool authority_open(const AuthorityOptions *options, Authority **out, Error *err);
/* must be called before freeing the state and the store; NULL is allowed */
void authority_free(Authority *authority);
DEFINE_AUTO(Authority, authority_free)

/* Valid once `ready` was called. The pointer stays the same; the content changes. */
const CaSet *authority_cas(const Authority *authority);
/* For peers that trust only the previous CA: the certificates to send after one signed by the
 * issuer, which are those leading to that CA, then the issuer's own. */
CertificateSet authority_chain(const Authority *authority);

/* Whether the CA files of this server exist. */
bool authority_is_saved(const Authority *authority);
/* Writes the CA files of this server, for example if they were lost. */
MUST_CHECK bool authority_save(const Authority *authority, Error *err);

/* Whether the key of a CA that the store names is missing here. */
bool authority_is_missing(const Authority *authority);
/* Reads CA files that were added. */
void authority_files_changed(Authority *authority);

/* --- Rotation -------------------------------------------------------------------------------- */

const Rotation *authority_rotation(const Authority *authority);
/* Why the stored record cannot be read and how to repair it, or which CA it names that is missing
 * here. The CAs of this server work, but cannot be rotated. NULL if there is no problem. */
const char *authority_unreadable(const Authority *authority);
/* The nodes that the rotation waits for, as of the last check. */
const RotationWait *authority_waits(const Authority *authority, uint32_t *count);

/* Creates the next CA and starts a rotation. `done` is called once. ERROR_CONFLICT during a
 * rotation. */
void authority_begin(Authority *authority, ClusterDone *done, void *context);
/* Returns to the previous CA. ERROR_CONFLICT if it is too late, or no rotation is in progress. */
void authority_revert(Authority *authority, ClusterDone *done, void *context);
/* Excludes this node from the rotation in progress, which no longer waits for it. The node can no
 * longer connect if it returns later. ERROR_NOT_FOUND, or ERROR_CONFLICT for a server or without a
 * rotation. */
void authority_exclude(Authority *authority, Str node, ClusterDone *done, void *context);
/* Sets whether this server is the leader, which advances the rotation: `fence` must be valid until
 * this is called with NULL, the initial value. Requests from operators are executed by any
 * server. */
void authority_set_leader(Authority *authority, const StoreCompare *fence);
/* Checks the progress now, because a condition of the rotation may have changed. */
void authority_check(Authority *authority);
