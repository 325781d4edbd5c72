/* Blocking work for code on a loop: items are executed on one thread, one after another, and
 * completed on the loop. Those of the same owner are executed in the order they were added; owners
 * take turns, so that one with many items does not delay the others. On a virtual loop they are
 * executed on the loop. Loop thread. */
#pragma once

#include "sys/loop.h"

typedef struct WorkQueue WorkQueue;
typedef struct WorkItem WorkItem;

/* Embedded in its owner, which may free it in `done`. */
struct WorkItem {
    void (*run)(WorkItem *item);  /* on the thread: must only use what belongs to the item */
    void (*done)(WorkItem *item); /* on the loop, once, in a later iteration */
    bool is_canceled; /* in `done`: the queue is being freed, and it may not have been executed */
    uint64_t owner;   /* any number; the same for items that must stay in order */
    /* Owned by the queue. */
    uint64_t turn;
    WorkItem *next;
};

WorkQueue *work_queue_new(Loop *loop);
/* Waits for the item that is being executed, and calls `done` of all items. NULL is allowed. */
void work_queue_free(WorkQueue *queue);
DEFINE_AUTO(WorkQueue, work_queue_free)

/* `done` may add its item again, such as for the next part of long work. */
void work_queue_add(WorkQueue *queue, WorkItem *item);
/* The number of items whose `done` has not been called yet. */
uint32_t work_queue_length(const WorkQueue *queue);
