/* The key with which all servers of a cluster seal page tokens. It is in the store, so that other
 * servers, and this one after a restart, can open them. Loop thread only. */
#pragma once

#include "cluster/cluster_store.h"
#include "sys/seal.h"

typedef struct CursorKey CursorKey;

/* `key` is NULL if the store cannot be read; then `err` has the reason. */
typedef void CursorKeyReady(void *context, const SealKey *key, const Error *err);

/* `cluster_store` is copied, except for its prefix. Does not access the store yet. */
CursorKey *cursor_key_new(const ClusterStore *cluster_store);
/* Must be called before the store is closed. Pending callbacks run at the latest then. NULL is
 * allowed. */
void cursor_key_free(CursorKey *key);
DEFINE_AUTO(CursorKey, cursor_key_free)

/* Calls `done` once, within this call if the key is loaded. The first call ever in a cluster
 * creates the key. If the store accepts no writes, or while the state is stale, the key is only
 * valid for this process. */
void cursor_key_get(CursorKey *key, CursorKeyReady *done, void *context);
