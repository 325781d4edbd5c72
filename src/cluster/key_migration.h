/* Migrates keys of an earlier version: internal records were under objects/<kind>, among the
 * objects of the API, and are under internal/<kind> now. Loop thread only. */
#pragma once

#include "cluster/cluster_store.h"

/* Moves existing records, once and for all: completion is recorded, so that no one can plant a
 * record under its former key later. Each chunk is one transaction that compares what was read, so
 * after a crash every record is in exactly one of the two locations, and the next start continues.
 * Must complete before any of them is read, and before clients may write keys. `done` is called
 * once, and never within this call unless the store accepts no calls. */
void key_migration_run(const ClusterStore *cluster_store, ClusterDone *done, void *context);

/* The current key of a record under a former key. Returns false for other keys. Pure. */
bool key_migration_target(Arena *arena, Str prefix, Str key, Str *out);
