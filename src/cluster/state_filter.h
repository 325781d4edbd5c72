/* Which parts of which keys the state stores. Pure. */
#pragma once

#include "cluster/state.h"

/* How much of a kind is stored. */
typedef enum StateRetention {
    RETAIN_NOTHING, /* unbounded in number, and not read from the state */
    RETAIN_EVENTS,  /* not stored, but views are notified of new keys */
    RETAIN_KEY,     /* only the key and revision, because the value may be large */
    RETAIN_DIGEST,  /* the digest of the value; see cluster/facts_digest.h */
    RETAIN_VALUE,
} StateRetention;

StateRetention state_retention(KeyKind kind);
/* Whether the value of such a key is stored. */
bool state_retains_value(const StateEvents *events, const StoreKv *kv, KeyKind kind,
                         const Str *parts);
