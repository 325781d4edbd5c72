/* The store as a server sees it that is not beside it: requests and answers take time, get lost, and come
 * when the server does not run. Several servers share one store in memory.
 *
 * It is a backend like others. What a server waits for is called in far_store_deliver() only. */
#pragma once

#include "store/store.h"

typedef struct FarStore FarStore;

typedef struct FarCounts {
    uint64_t lost;    /* requests that never came */
    uint64_t unknown; /* that were performed, and nobody was told */
    uint64_t late;    /* of writes: performed after somebody was told that nobody knows */
    uint64_t slow;    /* that took seconds */
    uint64_t broken;  /* watches that failed */
} FarCounts;

/* `loop` is that of the store, and of the network. */
FarStore *far_store_new(Loop *loop, Store *store, FarCounts *counts);
/* When nothing is on its way any more. */
void far_store_free(FarStore *far);
Store *far_store_handle(FarStore *far);

/* One without faults, whose answers take a moment and come by themselves: a backend like those that are
 * elsewhere, on a virtual loop. Closed with store_close(), as is `store` then. */
Store *far_store_new_steady(Loop *loop, Store *store);

typedef enum FarTrouble {
    FAR_WELL,
    FAR_STOPPED,   /* it answers nothing, and nothing fails, until it runs again */
    FAR_READ_ONLY, /* and says so */
    FAR_SLOW,      /* every request takes seconds */
    FAR_LOST,      /* everything fails, also a watch that is there */
} FarTrouble;
/* `until_ms` is when it will end, which must be said then with FAR_WELL. */
void far_store_trouble(FarStore *far, FarTrouble trouble, int64_t until_ms);
/* Nothing gets through until then. */
void far_store_cut(FarStore *far, int64_t until_ms);
/* From now on all goes well. */
void far_store_calm(FarStore *far);
/* The server runs and hears what has come. */
void far_store_deliver(FarStore *far);
/* The process has ended: all that waits is answered, within, and what is on its way may still come to the
 * store. The next one begins with far_store_open. */
void far_store_close(FarStore *far);
void far_store_open(FarStore *far);
