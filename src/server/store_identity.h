/* Checks whether a store is the one that its server was created or restored with, and has this
 * version. A foreign file would be mistaken for the cluster, with unknown nodes and revisions; a
 * store of an earlier version is upgraded (cluster/key_migration.h). */
#pragma once

#include "cluster/cluster_store.h"
#include "pki/ca.h"
#include "server/server_settings.h"

typedef struct StoreIdentity {
    ClusterStore cluster_store;
    const char *state_dir;
    const ServerSettings *settings;
    /* on success: the enrollment of this server's node; empty if the store has none */
    char enrollment[ENROLLMENT_TEXT + 1];
    /* Called once, in a later iteration of the loop, or when the store is closed. `err` is NULL on
     * success. */
    void (*done)(void *context, const Error *err);
    void *context;
} StoreIdentity;

/* Nothing else may be read before `done`. A store that has no ID, because an earlier version
 * created it, is recognized by the record of its server, and gets one. `identity` must be valid
 * until `done`. Fails like store_txn. */
MUST_CHECK bool store_identity_check(StoreIdentity *identity, Error *err);

/* Sets the error for a missing store. Always returns false. */
bool store_identity_lost(const char *state_dir, Error *err);
