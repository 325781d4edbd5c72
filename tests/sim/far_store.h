/* A remote store as a server sees it: requests and responses take time, get lost, and arrive while
 * the server is paused. Several servers share one in-memory store.
 *
 * It is a regular store backend. Callbacks of a server run only inside far_store_deliver(). */
#pragma once

#include "store/store.h"

typedef struct FarStore FarStore;

typedef struct FarCounts {
    uint64_t lost;    /* requests that never arrived */
    uint64_t unknown; /* performed, but the response was lost */
    uint64_t late;    /* writes performed after the caller was told that the outcome is unknown */
    uint64_t slow;    /* that took seconds */
    uint64_t broken;  /* watches that failed */
} FarCounts;

/* `loop` is the loop of the store and the network. */
FarStore *far_store_new(Loop *loop, Store *store, FarCounts *counts);
/* Call it when no messages are in transit. */
void far_store_free(FarStore *far);
Store *far_store_handle(FarStore *far);

/* A store without faults whose responses take a moment and are delivered automatically: like a
 * remote backend, on a virtual loop. Close it with store_close(), which also closes `store`. */
Store *far_store_new_steady(Loop *loop, Store *store);

typedef enum FarTrouble {
    FAR_WELL,
    FAR_STOPPED,   /* no responses and no errors until it runs again */
    FAR_READ_ONLY, /* and returns that error */
    FAR_SLOW,      /* every request takes seconds */
    FAR_LOST,      /* everything fails, including open watches */
} FarTrouble;
/* `until_ms` is when the trouble ends; the caller must then set FAR_WELL. */
void far_store_trouble(FarStore *far, FarTrouble trouble, int64_t until_ms);
/* Blocks all messages until then. */
void far_store_cut(FarStore *far, int64_t until_ms);
/* No more faults from now on. */
void far_store_calm(FarStore *far);
/* The server runs and receives what has arrived. */
void far_store_deliver(FarStore *far);
/* The process has ended: everything pending is answered before this returns, but messages in
 * transit may still reach the store. far_store_open() starts the next process. */
void far_store_close(FarStore *far);
void far_store_open(FarStore *far);
