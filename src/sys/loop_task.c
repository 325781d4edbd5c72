/* Tasks of a loop: two queues, one for its own thread and one for other threads. */
#include "base/bug.h"
#include "sys/loop_inner.h"

static void append(LoopQueue *queue, LoopTask *task)
{
    task->next = NULL;
    task->previous = queue->last;
    *(queue->last == NULL ? &queue->first : &queue->last->next) = task;
    queue->last = task;
}

static void take_out(LoopQueue *queue, LoopTask *task)
{
    *(task->previous == NULL ? &queue->first : &task->previous->next) = task->next;
    *(task->next == NULL ? &queue->last : &task->next->previous) = task->previous;
    task->next = task->previous = NULL;
}

/* A queued task is in the list of this iteration or the next. Which one matters only for the first
 * or last task of its list: the others are linked only to their neighbors. */
static void take_out_of(LoopQueue *queue, LoopQueue *runs, LoopTask *task)
{
    bool running = runs->first == task || runs->last == task;
    take_out(running ? runs : queue, task);
}

void loop_task_init(LoopTask *task, LoopRun *run, void *context)
{
    *task = (LoopTask){ .run = run, .context = context };
}

void loop_defer(Loop *loop, LoopTask *task)
{
    loop_check_thread(loop);
    if (task->queue != 0) {
        BUG_IF(task->queue != LOOP_DEFERRED);
        return;
    }
    task->queue = LOOP_DEFERRED;
    append(&loop->deferred, task);
    if (loop->deferred.first == task) {
        loop_tasks_wait(loop);
    }
}

void loop_post(Loop *loop, LoopTask *task)
{
    pthread_mutex_lock(&loop->mutex);
    bool was_empty = loop->posted.first == NULL;
    bool added = task->queue == 0;
    if (added) {
        task->queue = LOOP_POSTED;
        append(&loop->posted, task);
    }
    /* With the mutex held, so that the loop cannot be freed between queueing the task and this
     * call. */
    if (added && was_empty && !loop->is_virtual) {
        uv_async_send(&loop->uv_async);
    }
    pthread_mutex_unlock(&loop->mutex);
}

void loop_task_stop(Loop *loop, LoopTask *task)
{
    loop_check_thread(loop);
    pthread_mutex_lock(&loop->mutex);
    if (task->queue == LOOP_DEFERRED) {
        take_out_of(&loop->deferred, &loop->running, task);
    } else if (task->queue == LOOP_POSTED) {
        take_out_of(&loop->posted, &loop->posted_runs, task);
    }
    task->queue = 0;
    pthread_mutex_unlock(&loop->mutex);
}

bool loop_run_deferred(Loop *loop)
{
    loop->running = loop->deferred;
    loop->deferred = (LoopQueue){ 0 };
    bool any = loop->running.first != NULL;
    for (LoopTask *task; (task = loop->running.first) != NULL;) {
        take_out(&loop->running, task);
        task->queue = 0;
        task->run(task->context);
    }
    return any;
}

bool loop_run_posted(Loop *loop)
{
    pthread_mutex_lock(&loop->mutex);
    loop->posted_runs = loop->posted;
    loop->posted = (LoopQueue){ 0 };
    bool any = loop->posted_runs.first != NULL;
    for (LoopTask *task; (task = loop->posted_runs.first) != NULL;) {
        take_out(&loop->posted_runs, task);
        task->queue = 0;
        LoopRun *run = task->run;
        void *context = task->context;
        pthread_mutex_unlock(&loop->mutex);
        run(context);
        pthread_mutex_lock(&loop->mutex);
    }
    pthread_mutex_unlock(&loop->mutex);
    return any;
}
