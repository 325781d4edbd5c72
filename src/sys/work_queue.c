#include "sys/work_queue.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "sys/worker.h"

typedef struct WorkList {
    WorkItem *first, **last;
} WorkList;

struct WorkQueue {
    Loop *loop;
    Worker *worker; /* NULL on a virtual loop */
    LoopTask finished;
    uint32_t length;
    pthread_mutex_t mutex; /* of the lists and the turn */
    uint64_t turn;         /* of the item that was taken last */
    WorkList waiting, executed;
};

static void list_clear(WorkList *list)
{
    list->first = NULL;
    list->last = &list->first;
}

static void list_append(WorkList *list, WorkItem *item)
{
    item->next = NULL;
    *list->last = item;
    list->last = &item->next;
}

/* Each owner has one item per turn, so the first item of an owner is executed before the second of
 * any other. */
static void list_insert(WorkList *list, WorkItem *item, uint64_t turn)
{
    WorkItem **link = &list->first;
    for (const WorkItem *other = list->first; other != NULL; other = other->next) {
        turn = other->owner == item->owner && other->turn > turn ? other->turn : turn;
    }
    item->turn = turn + 1;
    while (*link != NULL && (*link)->turn <= item->turn) {
        link = &(*link)->next;
    }
    item->next = *link;
    *link = item;
    list->last = item->next == NULL ? &item->next : list->last;
}

static WorkItem *list_take(WorkQueue *queue, WorkList *list)
{
    pthread_mutex_lock(&queue->mutex);
    WorkItem *item = list->first;
    if (item != NULL) {
        list->first = item->next;
        if (list->first == NULL) {
            list->last = &list->first;
        }
        queue->turn = list == &queue->waiting ? item->turn : queue->turn;
    }
    pthread_mutex_unlock(&queue->mutex);
    return item;
}

static void execute(void *context)
{
    WorkQueue *queue = context;
    for (WorkItem *item; (item = list_take(queue, &queue->waiting)) != NULL;) {
        item->run(item);
        pthread_mutex_lock(&queue->mutex);
        list_append(&queue->executed, item);
        pthread_mutex_unlock(&queue->mutex);
        if (queue->worker != NULL) {
            loop_post(queue->loop, &queue->finished);
        }
    }
}

/* The queue may be freed within the last `done`. */
static void complete(void *context)
{
    WorkQueue *queue = context;
    if (queue->worker == NULL) {
        execute(queue);
    }
    pthread_mutex_lock(&queue->mutex);
    WorkItem *item = queue->executed.first;
    list_clear(&queue->executed);
    pthread_mutex_unlock(&queue->mutex);
    for (WorkItem *at = item; at != NULL; at = at->next) {
        queue->length--;
    }
    for (WorkItem *next; item != NULL; item = next) {
        next = item->next;
        item->done(item);
    }
}

WorkQueue *work_queue_new(Loop *loop)
{
    WorkQueue *queue = memory_new(sizeof *queue);
    queue->loop = loop;
    list_clear(&queue->waiting);
    list_clear(&queue->executed);
    pthread_mutex_init(&queue->mutex, NULL);
    loop_task_init(&queue->finished, complete, queue);
    queue->worker = loop_is_virtual(loop) ? NULL : worker_new(execute, queue);
    return queue;
}

void work_queue_free(WorkQueue *queue)
{
    if (queue == NULL) {
        return;
    }
    WorkList waiting;
    list_clear(&waiting);
    for (WorkItem *item; (item = list_take(queue, &queue->waiting)) != NULL;) {
        list_append(&waiting, item);
    }
    worker_free(queue->worker);
    loop_task_stop(queue->loop, &queue->finished);
    for (WorkItem *item; (item = list_take(queue, &queue->executed)) != NULL;) {
        item->is_canceled = true;
        item->done(item);
    }
    for (WorkItem *item; (item = waiting.first) != NULL;) {
        waiting.first = item->next;
        item->is_canceled = true;
        item->done(item);
    }
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

void work_queue_add(WorkQueue *queue, WorkItem *item)
{
    item->is_canceled = false;
    queue->length++;
    pthread_mutex_lock(&queue->mutex);
    list_insert(&queue->waiting, item, queue->turn);
    pthread_mutex_unlock(&queue->mutex);
    if (queue->worker != NULL) {
        worker_wake(queue->worker);
    } else {
        loop_defer(queue->loop, &queue->finished);
    }
}

uint32_t work_queue_length(const WorkQueue *queue)
{
    return queue->length;
}
