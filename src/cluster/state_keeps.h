/* What the state keeps of which keys. Pure. */
#pragma once

#include "cluster/state.h"

/* What is kept of a kind. */
typedef enum StateKeep {
    KEEP_NOTHING, /* there may be any number, and nobody looks for them here */
    KEEP_TELLING, /* the same, but who follows is told of new ones */
    KEEP_KEY,     /* its value may be large */
    KEEP_DIGEST,  /* cluster/facts_digest.h */
    KEEP_VALUE,
} StateKeep;

StateKeep state_keep_of(KeyKind kind);
/* Of such a key: whether its value is kept. */
bool state_keeps_value(const StateEvents *events, const StoreKv *kv, KeyKind kind,
                       const Str *parts);
