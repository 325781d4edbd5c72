/* The key with which all servers of a cluster seal page
 * tokens. It is in the store, so that other servers, and
 * this one after a restart, can open them. Loop thread. */
#pragma once

#include "cluster/cluster_store.h"
#include "sys/seal.h"

typedef struct CursorKey CursorKey;

/* `key` is NULL when the store cannot be asked; then `err` says why. */
typedef void CursorKeyKnown(void *context, const SealKey *key, const Error *err);

/* `at` is copied, but not its prefix. Nothing is asked yet. */
CursorKey *cursor_key_new(const ClusterStore *at);
/* Before the store is closed. Who waits is still called, at the latest then. NULL is allowed. */
void cursor_key_free(CursorKey *key);
DEFINE_AUTO(CursorKey, cursor_key_free)

/* Calls `done` once: within, as soon as it is known. The first who ever asks in a cluster makes it; in
 * a store that takes nothing, or while the state is stale, it is good for this process only. */
void cursor_key_get(CursorKey *key, CursorKeyKnown *done, void *context);
