/* Objects that are stored as their authors wrote them, under objects/<kind>/<name>. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "cluster/cluster_store.h"
#include "lang/value.h"

enum {
    STORED_OBJECT_MAX = 256 << 10, /* maximum size in bytes */
    STORED_UUID_MAX = 36
};

typedef struct StoredObject {
    char uuid[STORED_UUID_MAX + 1];
    int64_t created_ms;
    Value labels, annotations, spec; /* maps; in the first two, every value is a string */
    Value unknown;                   /* fields that a newer server wrote */
} StoredObject;

void stored_object_print(const StoredObject *object, Buf *out);
/* Everything is copied to the arena. Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool stored_object_read(Arena *arena, Str text, StoredObject *out, Error *err);

/* The settings of the cluster, as of the state: the spec of the Config 'cluster'. An empty map if
 * it does not exist or cannot be read. */
Value cluster_settings(Arena *arena, const ClusterStore *cluster_store);
