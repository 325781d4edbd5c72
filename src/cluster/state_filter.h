/* Which parts of which keys the state stores. Pure. */
#pragma once

#include "cluster/state.h"

/* How much of a kind is stored. */
typedef enum StateRetention {
    RETAIN_NOTHING, /* unbounded in number, and not read from the state */
    RETAIN_EVENTS,  /* the same, but views are notified of new ones */
    RETAIN_KEY,     /* its value may be large */
    RETAIN_DIGEST,  /* cluster/facts_digest.h */
    RETAIN_VALUE,
} StateRetention;

StateRetention state_retention(KeyKind kind);
/* For such a key: whether its value is stored. */
bool state_retains_value(const StateEvents *events, const StoreKv *kv, KeyKind kind,
                         const Str *parts);
