/* Blocking work for code on a loop: items are executed on one thread, in the order they were added,
 * and completed on the loop. On a virtual loop they are executed on the loop. Loop thread. */
#pragma once

#include "sys/loop.h"

typedef struct WorkQueue WorkQueue;
typedef struct WorkItem WorkItem;

/* Embedded in its owner, which may free it in `done`. */
struct WorkItem {
    void (*run)(WorkItem *item);  /* on the thread: must only use what belongs to the item */
    void (*done)(WorkItem *item); /* on the loop, once, in a later iteration */
    bool is_canceled;             /* in `done`: the queue was freed before it was executed */
    WorkItem *next;               /* owned by the queue */
};

WorkQueue *work_queue_new(Loop *loop);
/* Waits for the item that is executed, and calls `done` of all items. NULL is allowed. */
void work_queue_free(WorkQueue *queue);
DEFINE_AUTO(WorkQueue, work_queue_free)

void work_queue_add(WorkQueue *queue, WorkItem *item);
/* The number of items whose `done` was not called yet. */
uint32_t work_queue_length(const WorkQueue *queue);
