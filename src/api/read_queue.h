/* Fair scheduling of read requests. A list of ten thousand nodes blocks the loop for milliseconds,
 * and a list of large facts holds megabytes until it is sent, so a caller that sends hundreds of
 * such requests at once would delay all other callers and nodes. Therefore reads get a time slice
 * of each loop iteration, each caller may have only a few in progress, and waiting requests are
 * served round-robin by caller. Loop thread. */
#pragma once

#include "sys/loop.h"

enum {
    READ_SLICE_US = 20000, /* per iteration; a request that was started is finished */
    READ_CALLER_MAX = 4,   /* requests in progress per caller */
    READ_TOTAL_MAX = 32    /* requests in progress from all callers */
};

typedef struct QueuedRead QueuedRead;
struct QueuedRead {
    void (*run)(QueuedRead *read); /* called once, possibly within read_queue_add() */
    uint64_t caller;               /* identifies the caller */
    bool is_waiting, is_running;
    uint64_t order;   /* round in which it runs */
    QueuedRead *next; /* in `waiting` or `running` */
};

typedef struct ReadQueue {
    Loop *loop;
    LoopTask task;
    QueuedRead *waiting; /* sorted by `order` */
    QueuedRead *running;
    uint64_t order;   /* of the request that was started last */
    int64_t spent_us; /* time used in this iteration */
} ReadQueue;

void read_queue_init(ReadQueue *queue, Loop *loop);
/* Discards all waiting requests. */
void read_queue_stop(ReadQueue *queue);
/* Runs the request now if the limits allow it, otherwise later. */
void read_queue_add(ReadQueue *queue, QueuedRead *read);
/* Must be called before a request is freed; does nothing if it was never started. It must not be
 * waiting. */
void read_queue_end(ReadQueue *queue, QueuedRead *read);
