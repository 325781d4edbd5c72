#include "api/read_queue.h"

#include "base/bug.h"
#include "sys/clock.h"

static bool may_run(const ReadQueue *queue, uint64_t caller)
{
    uint32_t total = 0, by_caller = 0;
    for (const QueuedRead *read = queue->running; read != NULL; read = read->next) {
        total++;
        by_caller += read->caller == caller;
    }
    return total < READ_TOTAL_MAX && by_caller < READ_CALLER_MAX;
}

/* Removes and returns the next request that may run; NULL: none. */
static QueuedRead *next_read(ReadQueue *queue)
{
    for (QueuedRead **link = &queue->waiting; *link != NULL; link = &(*link)->next) {
        QueuedRead *read = *link;
        if (may_run(queue, read->caller)) {
            *link = read->next;
            return read;
        }
    }
    return NULL;
}

static void run_waiting(ReadQueue *queue)
{
    for (QueuedRead *read; queue->spent_us < READ_SLICE_US && (read = next_read(queue)) != NULL;) {
        int64_t started_us = clock_monotonic_us();
        queue->order = read->order;
        read->is_waiting = false;
        read->is_running = true;
        read->next = queue->running;
        queue->running = read;
        /* The next iteration starts with a new time slice. */
        loop_defer(queue->loop, &queue->task);
        read->run(read);
        queue->spent_us += clock_monotonic_us() - started_us;
    }
}

static void on_iteration(void *context)
{
    ReadQueue *queue = context;
    queue->spent_us = 0;
    run_waiting(queue);
}

void read_queue_init(ReadQueue *queue, Loop *loop)
{
    *queue = (ReadQueue){ .loop = loop };
    loop_task_init(&queue->task, on_iteration, queue);
}

void read_queue_stop(ReadQueue *queue)
{
    loop_task_stop(queue->loop, &queue->task);
    queue->waiting = NULL;
}

/* Each caller has one request per round, so the first request of a caller runs before the second
 * request of any other. */
void read_queue_add(ReadQueue *queue, QueuedRead *read)
{
    uint64_t order = queue->order;
    for (const QueuedRead *other = queue->waiting; other != NULL; other = other->next) {
        order = other->caller == read->caller && other->order > order ? other->order : order;
    }
    read->order = order + 1;
    read->is_waiting = true;
    QueuedRead **link = &queue->waiting;
    while (*link != NULL && (*link)->order <= read->order) {
        link = &(*link)->next;
    }
    read->next = *link;
    *link = read;
    run_waiting(queue);
}

void read_queue_end(ReadQueue *queue, QueuedRead *read)
{
    BUG_IF(read->is_waiting);
    if (!read->is_running) {
        return;
    }
    read->is_running = false;
    QueuedRead **link = &queue->running;
    while (*link != read) {
        link = &(*link)->next;
    }
    *link = read->next;
    if (queue->waiting != NULL) {
        loop_defer(queue->loop, &queue->task);
    }
}
