/* Fair scheduling of read requests. A list of ten thousand nodes blocks the loop for milliseconds,
 * and a list of large facts holds megabytes until it is sent, so a caller that sends hundreds of
 * such requests at once would delay all other callers and nodes. Therefore reads get a time slice
 * of each loop iteration, each caller may have only a few in progress, and waiting requests are
 * served round-robin by caller. Loop thread. */
#pragma once

#include "sys/loop.h"

enum {
    TURNS_SLICE_US = 20000, /* per iteration; a request that was started is finished */
    TURNS_CALLER_MAX = 4,   /* requests in progress per caller */
    TURNS_TOTAL_MAX = 32    /* requests in progress of all callers */
};

typedef struct Turn Turn;
struct Turn {
    void (*run)(Turn *turn); /* called once, possibly within turns_enqueue() */
    uint64_t caller;         /* identifies the caller */
    bool is_waiting, is_running;
    uint64_t order; /* round in which it runs */
    Turn *next;     /* in `waiting` or `running` */
};

typedef struct Turns {
    Loop *loop;
    LoopTask task;
    Turn *waiting; /* sorted by `order` */
    Turn *running;
    uint64_t order;   /* of the request that was started last */
    int64_t spent_us; /* time used in this iteration */
} Turns;

void turns_init(Turns *turns, Loop *loop);
/* Discards all waiting requests. */
void turns_stop(Turns *turns);
/* Runs the request now if the limits allow it, otherwise later. */
void turns_enqueue(Turns *turns, Turn *turn);
/* Must be called before a request is freed; does nothing if it was never started. It must not be
 * waiting. */
void turns_end(Turns *turns, Turn *turn);
