/* Browser sessions in the store. Loop thread. Each function calls `done`
 * exactly once, in a later turn or within, also when the store closes. */
#pragma once

#include "access/browser_session.h"
#include "cluster/cluster_store.h"

enum {
    BROWSER_SESSIONS_MAX = 20000,
    BROWSER_SESSIONS_OWN_MAX = 200, /* of them by one token or certificate */
};

/* `secret` is for the cookie, and not to be had again. */
typedef void BrowserSessionMade(void *context, const BrowserSecret *secret,
                                const BrowserRecord *record, const Error *err);
/* For who has shown a token or a certificate. ERROR_DENIED for any other; ERROR_LIMIT: how many there
 * are of the same token or certificate is part of the transaction, so that one credential cannot
 * use up the sessions of the others. */
void browser_sessions_create(const ClusterStore *at, const Principal *principal,
                             BrowserSessionMade *done, void *context);
/* Logging out, by the principal of the session. That it is gone already is fine. */
void browser_sessions_delete(const ClusterStore *at, const Principal *principal, ClusterDone *done,
                             void *context);
