/* The authority of a cluster as this server has it: its CAs on the disk, which of them signs, which
 * are trusted, and the way from one CA to the next. Loop thread.
 *
 * What follows when is decided in pki/rotation.h; here are the files, the store, and their order:
 *
 *     begin      ca-next.pem is written, then the store says that it is there
 *     a move     the store has the new state and what nodes are told in one transaction; then
 *                this server does as it says
 *     the end    the store names the only CA; then ca.pem becomes that one, ca-next.pem goes
 *
 * What another server writes is followed as soon as the state has it (cluster/state.h).
 *
 * So whatever a server finds that was killed in between, the store says where it was, and a file
 * that the store does not name is of no use to anybody. */
#pragma once

#include "cluster/ca_files.h"
#include "cluster/ca_set.h"
#include "cluster/cluster_store.h"
#include "pki/rotation.h"

typedef struct Authority Authority;

typedef struct AuthorityEvents {
    void (*ready)(void *context);   /* once: the CAs are known */
    void (*changed)(void *context); /* another CA signs, or others are trusted */
    /* It cannot go on. */
    void (*failed)(void *context, const Error *err);
    /* Whether all certificates of this server are from that CA. */
    bool (*is_from)(void *context, const Pin *ca);
    void *context;
} AuthorityEvents;

typedef struct AuthorityOptions {
    ClusterStore at;
    Str cluster; /* its name */
    Str node;    /* that of this server */
    const Directory *directory;
    AuthorityEvents events;
} AuthorityOptions;

/* What the options point to is borrowed until the store is closed. Fails for what it cannot read.
 * Only `failed` may be called within. */
MUST_CHECK bool authority_open(const AuthorityOptions *options, Authority **out, Error *err);
void authority_free(Authority *authority); /* before the state and the store; NULL is fine */
DEFINE_AUTO(Authority, authority_free)

/* From `ready` on. The place stays the same, what stands there changes. */
const CaSet *authority_cas(const Authority *authority);
/* For who trusts only the CA of before: what is sent behind a certificate of the issuer, ending in
 * that CA, and then the issuer. */
CertificateSet authority_chain(const Authority *authority);

/* Whether the files of the CAs that this server has are there; writes them, such as when they are not. */
bool authority_is_saved(const Authority *authority);
MUST_CHECK bool authority_save(const Authority *authority, Error *err);

/* --- Rotation -------------------------------------------------------------------------------- */

const Rotation *authority_rotation(const Authority *authority);
/* Why the store's record of it cannot be read, and how to repair it, or which CA it names that is not here:
 * the CAs that this server has work, and are not rotated. NULL: all is well. */
const char *authority_unreadable(const Authority *authority);
/* For whom it waits, as of the last look. */
const RotationWait *authority_waits(const Authority *authority, uint32_t *count);

/* Makes the next CA and begins. `done` is called once. ERROR_CONFLICT when it is under way. */
void authority_begin(Authority *authority, ClusterDone *done, void *context);
/* Back to the CA of the beginning: ERROR_CONFLICT when that is too late or nothing is under way. */
void authority_turn_back(Authority *authority, ClusterDone *done, void *context);
/* The rotation that is under way does not wait for this node, which is out when it comes again
 * later. ERROR_NOT_FOUND, or ERROR_CONFLICT for a server or when nothing is under way. */
void authority_leave(Authority *authority, Str node, ClusterDone *done, void *context);
/* Whether this server leads, which is who moves the rotation on: `fence` is borrowed until it is called with
 * NULL, as it is at first. What operators ask for is done by any server. */
void authority_lead(Authority *authority, const StoreCompare *fence);
/* Something that it waits for may have happened. */
void authority_look(Authority *authority);
