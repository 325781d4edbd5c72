/* Since when a node is silent. */
#include <stdlib.h>

#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/liveness.h"
#include "cluster/nodes.h"
#include "rpc/session_server.h"

typedef struct Noting {
    ClusterDone *done;
    void *context;
} Noting;

static void noted(void *context, const StoreReply *reply, const Error *err)
{
    Noting *noting = context;
    noting->done(noting->context, err);
    free(noting);
}

void nodes_note_silent(const ClusterStore *at, const StoreCompare *fence, Str name,
                       ClusterDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    /* It was heard of last when its lease began anew. */
    Liveness silent = { .since_ms = loop_wall_ms(at->loop) - (int64_t)SESSION_LEASE_S * 1000 };
    Buf value = buf_make_in(&arena, BUF_UNLIMITED);
    record_print(&silent_format, &silent, &value);
    const StoreCompare compares[] = {
        { STORE_VERSION, STORE_GREATER, cluster_key_node(&arena, at->prefix, name), 0 },
        { STORE_VERSION, STORE_EQUAL, cluster_key_alive(&arena, at->prefix, name), 0 },
        *fence,
    };
    const StoreOp put = { .kind = STORE_PUT,
                          .key = cluster_key_silent(&arena, at->prefix, name),
                          .value = buf_str(&value) };
    StoreTxn txn = { .compares = compares,
                     .compare_count = COUNT_OF(compares),
                     .success = &put,
                     .success_count = 1 };
    Noting *noting = memory_new(sizeof *noting);
    Error err;
    *noting = (Noting){ done, context };
    if (!store_txn(at->store, &txn, noted, noting, &err)) {
        noted(noting, NULL, &err);
    }
}
