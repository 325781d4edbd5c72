/* Where the records of a cluster are kept. */
#pragma once

#include "store/store.h"

/* Borrowed by whoever is given one, until what they were asked for is done. */
typedef struct ClusterStore {
    Loop *loop;
    Store *store;
    Str prefix; /* of keys */
} ClusterStore;

/* For changes that give nothing back: `err` is NULL when it is done. */
typedef void ClusterDone(void *context, const Error *err);
