/* Where the records of a cluster are kept. */
#pragma once

#include "store/store.h"

typedef struct Roster Roster;
typedef struct State State;

/* Borrowed by whoever is given one, until what they were asked for is done. */
typedef struct ClusterStore {
    Loop *loop;
    Store *store;
    Str prefix;     /* of keys */
    State *state;   /* of what is there; NULL: none is kept, as when a cluster is restored */
    Roster *roster; /* of the nodes among that; NULL too then */
} ClusterStore;

/* For changes that give nothing back: `err` is NULL when it is done. */
typedef void ClusterDone(void *context, const Error *err);
