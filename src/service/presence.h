/* Which nodes are alive: nodes/<node>/alive, a key with a lease that sessions renew. It is written
 * only here, and deleted with the node's record. Loop thread only.
 *
 * The presence of a node is held by one session: a later session takes it over, and the earlier one
 * is notified. Without a session, the key stays until the lease expires, so a node that reconnects
 * soon is never reported as offline, and continues with the same lease. */
#pragma once

#include "store/store.h"

typedef struct Presence Presence;
typedef struct NodePresence NodePresence;

/* The strings must be valid until presence_free. */
Presence *presence_new(Loop *loop, Store *store, Str prefix, Str server);
/* All sessions must have released their presence. NULL is allowed. */
void presence_free(Presence *presence);
DEFINE_AUTO(Presence, presence_free)

typedef struct PresenceHolder {
    Str node, boot_id, version; /* copied */
    /* Called at most once, never within a function of this module: another session holds the
     * presence now, here or on another server, or the node was removed. The handle must not be used
     * afterwards. */
    void (*evicted)(void *context, const Error *why);
    void *context;
} PresenceHolder;

NodePresence *presence_claim(Presence *presence, const PresenceHolder *holder);
/* Called every few seconds, and immediately after the claim: writes the key if necessary, and
 * renews its lease. */
void presence_renew(NodePresence *live);
void presence_release(NodePresence *live);
/* Whether the node is still considered alive although its session has ended, and the start of the
 * current state. */
bool presence_is_released(const Presence *presence, Str node, int64_t *since_ms);
