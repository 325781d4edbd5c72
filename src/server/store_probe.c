#include "server/store_probe.h"

#include "base/log.h"
#include "cluster/cluster_keys.h"

static void probed(void *context, const StoreReply *reply, const Error *err)
{
    if (err == NULL && store_status(context).writable) {
        log_info("store is writable again");
    }
}

void store_probe(Store *store, Str server)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    Str key = cluster_key_probe(&arena, KEYS_PREFIX, server);
    if (!store_check_status(store).writable &&
        !store_put(store, key, STR("1"), 0, probed, store, &err)) {
        log_debug("store not probed", LOG_C("error", err.text));
    }
}
