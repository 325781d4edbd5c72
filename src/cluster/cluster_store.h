/* Location of the records of a cluster. */
#pragma once

#include "store/store.h"

typedef struct Roster Roster;
typedef struct State State;

/* Must be valid until the call that it is passed to has completed. */
typedef struct ClusterStore {
    Loop *loop;
    Store *store;
    Str prefix;     /* of keys */
    State *state;   /* in-memory copy; NULL if there is none, such as during a restore */
    Roster *roster; /* view of the nodes; NULL in the same cases */
} ClusterStore;

/* For changes without a result: `err` is NULL on success. */
typedef void ClusterDone(void *context, const Error *err);
