/* A remote store as a server sees it: requests and responses are delayed, get lost, and arrive
 * while the server is paused. Several servers share one in-memory store.
 *
 * It is a regular store backend. Callbacks of a server run only inside remote_store_deliver(). */
#pragma once

#include "store/store.h"

typedef struct RemoteStore RemoteStore;

typedef struct RemoteCounts {
    uint64_t lost;    /* number of requests that never arrived */
    uint64_t unknown; /* number of requests that were performed, but whose response was lost */
    /* number of writes performed after the caller was notified that the outcome is unknown */
    uint64_t late;
    uint64_t slow;   /* number of requests that took seconds */
    uint64_t broken; /* number of watches that failed */
} RemoteCounts;

/* `loop` is the loop of the store and the network. */
RemoteStore *remote_store_new(Loop *loop, Store *store, RemoteCounts *counts);
/* Must be called when no messages are in transit. */
void remote_store_free(RemoteStore *remote);
Store *remote_store_handle(RemoteStore *remote);

/* A store without faults whose responses are delayed slightly and delivered automatically: like a
 * remote backend, on a virtual loop. Close it with store_close(), which also closes `store`. */
Store *remote_store_new_steady(Loop *loop, Store *store);

typedef enum RemoteFault {
    REMOTE_WELL,
    REMOTE_STOPPED,   /* no responses and no errors until it recovers */
    REMOTE_READ_ONLY, /* like the previous one, and requests fail with that error */
    REMOTE_SLOW,      /* every request takes seconds */
    REMOTE_LOST,      /* everything fails, including open watches */
} RemoteFault;
/* `until_ms` is the end of the fault; the caller must then set REMOTE_WELL. */
void remote_store_set_fault(RemoteStore *remote, RemoteFault fault, int64_t until_ms);
/* Blocks all messages until this time. */
void remote_store_block(RemoteStore *remote, int64_t until_ms);
/* Stops injecting faults. */
void remote_store_calm(RemoteStore *remote);
/* The server resumes and receives the messages that have arrived. */
void remote_store_deliver(RemoteStore *remote);
/* The process has ended: pending requests are completed before this returns, but messages in
 * transit may still reach the store. remote_store_open() starts the next process. */
void remote_store_close(RemoteStore *remote);
void remote_store_open(RemoteStore *remote);
