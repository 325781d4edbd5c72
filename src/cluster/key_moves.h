/* Keys that an earlier version has kept elsewhere: internal records were below objects/<kind>, among the
 * objects of the API, and are below internal/<kind> now. Loop thread. */
#pragma once

#include "cluster/cluster_store.h"

/* Moves those that are there, once for all: then it is noted that nothing is there to be moved any more, so
 * that later nobody can slip in a record by its former key. A chunk of them is one transaction, which
 * compares what was read: who is killed leaves every record in one place or the other, and the next one goes
 * on. Must have ended before anybody reads them or may write keys. `done` is called once; never within, but
 * when the store takes no calls. */
void key_moves_run(const ClusterStore *at, ClusterDone *done, void *context);

/* Where the record of such a key is now. False: it is none of them. Pure. */
bool key_moves_target(Arena *arena, Str prefix, Str key, Str *out);
