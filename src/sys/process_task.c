#include "sys/process_task.h"

#include <stdlib.h>

#include "base/memory.h"
#include "sys/worker.h"

struct ProcessTask {
    Loop *loop;
    ProcessSpec spec;
    atomic_bool canceled;
    Worker *worker;
    LoopTask done_task;
    ProcessTaskDone *done;
    void *context;
    Arena arena;
    bool started;
    ProcessResult result;
    Error err;
};

/* On the worker thread. */
static void work(void *context)
{
    ProcessTask *task = context;
    task->started = process_run(&task->arena, &task->spec, &task->result, &task->err);
    loop_post(task->loop, &task->done_task);
}

static void free_task(ProcessTask *task)
{
    worker_free(task->worker);
    loop_task_stop(task->loop, &task->done_task);
    arena_clear(&task->arena);
    free(task);
}

static void done_task(void *context)
{
    ProcessTask *task = context;
    task->done(task->context, task->started ? &task->result : NULL,
               task->started ? NULL : &task->err);
    free_task(task);
}

ProcessTask *process_task_start(Loop *loop, const ProcessSpec *spec, ProcessTaskDone *done,
                                void *context)
{
    ProcessTask *task = memory_new(sizeof *task);
    task->loop = loop;
    task->spec = *spec;
    task->spec.canceled = &task->canceled;
    task->done = done;
    task->context = context;
    arena_init(&task->arena, ARENA_UNLIMITED);
    loop_task_init(&task->done_task, done_task, task);
    task->worker = worker_new(work, task);
    worker_wake(task->worker);
    return task;
}

void process_task_end(ProcessTask *task)
{
    if (task != NULL) {
        atomic_store(&task->canceled, true);
        free_task(task);
    }
}
