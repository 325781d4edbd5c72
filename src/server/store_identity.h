/* Whether a store is the one that its server was created or restored with, and has
 * this version. A foreign file would be mistaken for the cluster, with unknown nodes
 * and revisions; a store of an earlier version is upgraded (cluster/key_moves.h). */
#pragma once

#include "cluster/cluster_store.h"
#include "pki/ca.h"
#include "server/server_settings.h"

typedef struct StoreIdentity {
    ClusterStore at;
    const char *state_dir;
    const ServerSettings *settings;
    char enrolment[ENROLMENT_TEXT + 1]; /* then: that of its node; empty: the store knows none */
    /* Called once, in a later turn, or when the store is closed. NULL: it is. */
    void (*done)(void *context, const Error *err);
    void *context;
} StoreIdentity;

/* Nothing else is to be read before `done`. A store of before there were ids is known by
 * the record of its server, and gets one. `identity` stays until `done`. Fails as store_txn does. */
MUST_CHECK bool store_identity_check(StoreIdentity *identity, Error *err);

/* What is said of one that is not there. Always false. */
bool store_identity_lost(const char *state_dir, Error *err);
