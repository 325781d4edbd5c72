/* Browser sessions in the store. Loop thread only. Each function calls `done` exactly once, later
 * or within the call, even if the store is closing. */
#pragma once

#include "access/browser_session.h"
#include "cluster/cluster_store.h"

enum {
    BROWSER_SESSIONS_MAX = 20000,
    BROWSER_SESSIONS_OWN_MAX = 200, /* per token or certificate */
};

/* `secret` is for the cookie and cannot be retrieved later. */
typedef void BrowserSessionCreated(void *context, const BrowserSecret *secret,
                                   const BrowserRecord *record, const Error *err);
/* Logs in a principal that is authenticated by a token or certificate; ERROR_DENIED for others.
 * ERROR_LIMIT: the number of sessions per credential is checked in the transaction, so that one
 * credential cannot use up the sessions of the others. */
void browser_sessions_create(const ClusterStore *cluster_store, const Principal *principal,
                             BrowserSessionCreated *done, void *context);
/* Logs out, by the principal of the session. Succeeds if it is already gone. */
void browser_sessions_delete(const ClusterStore *cluster_store, const Principal *principal,
                             ClusterDone *done, void *context);
