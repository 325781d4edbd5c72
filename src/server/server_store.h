/* The store that the settings of a server name: a file in its directory, or an etcd cluster. */
#pragma once

#include "net/tls.h"
#include "server/server_settings.h"
#include "store/store.h"
#include "sys/file_lock.h"

typedef struct ServerStore {
    Loop *loop;
    const char *state_dir;
    const ServerSettings *settings; /* both must be valid until it is closed */
    Store *store;
    TlsContext *tls; /* of connections to etcd; otherwise NULL */
    bool is_locked;
    FileLock lock; /* of the process */
    /* digest of the files that `tls` was made from */
    char material[64 + 1];
} ServerStore;

/* Before opening, for the process that is the server: if the store is in etcd, ensures that there
 * is one such process; a file has its own lock. Fails with ERROR_CONFLICT. */
MUST_CHECK bool server_store_lock(ServerStore *store, const Directory *server,
                                  const ServerSettings *settings, Error *err);
/* `out` keeps its lock. `local` applies to a file, and to etcd as described in etcd_store.h; may be
 * NULL. Fails like store_open_sqlite, or if the files for etcd cannot be used; whether etcd
 * responds is known after the first call. */
MUST_CHECK bool server_store_open(Loop *loop, const char *state_dir, const ServerSettings *settings,
                                  const StoreSettings *local, ServerStore *out, Error *err);
/* NULL store: nothing is open. */
void server_store_close(ServerStore *store);
DEFINE_AUTO_CLEAR(ServerStore, server_store_close)

/* New connections to etcd use the certificate and CA that the files contain now, if they have
 * changed. A failure is logged. */
void server_store_reload(ServerStore *store);

/* For an etcd cluster that is to hold a new store. Blocks. Fails with ERROR_CONFLICT if it holds
 * anything, and with ERROR_LIMIT if it does not accept requests as large as store.h permits. */
MUST_CHECK bool server_store_check_unused(const ServerStore *store, Error *err);

/* Detects when a store that accepts no writes accepts them again: writes a key of this server then.
 * Only a write shows whether the disk has space again, and there may be no other writes. */
void store_probe(Store *store, Str server);
