#include "sys/pool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/memory.h"

typedef struct Job {
    PoolFunction function;
    void *task;
    struct Job *next;
} Job;

typedef struct Queue {
    Job *first, *last;
} Queue;

struct Pool {
    pthread_mutex_t mutex;
    pthread_cond_t work;
    Queue waiting, finished;
    uint32_t idle;   /* threads waiting for a task */
    uint32_t queued; /* tasks waiting for a thread */
    bool closing;
    int signal; /* an eventfd: counts finished tasks */
    pthread_t *threads;
    uint32_t thread_count, workers;
};

static void queue_push(Queue *queue, Job *job)
{
    job->next = NULL;
    if (queue->first == NULL) {
        queue->first = job;
    } else {
        queue->last->next = job;
    }
    queue->last = job;
}

static Job *queue_pop(Queue *queue)
{
    Job *job = queue->first;
    if (job != NULL) {
        queue->first = job->next;
    }
    return job;
}

static void finish(Pool *pool, Job *job)
{
    queue_push(&pool->finished, job);
    uint64_t one = 1;
    BUG_IF(write(pool->signal, &one, sizeof one) != (ssize_t)sizeof one);
}

static void *work(void *context)
{
    Pool *pool = context;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        Job *job = queue_pop(&pool->waiting);
        if (job == NULL) {
            if (pool->closing) {
                break;
            }
            pool->idle++;
            pthread_cond_wait(&pool->work, &pool->mutex);
            pool->idle--;
            continue;
        }
        pool->queued--;
        pthread_mutex_unlock(&pool->mutex);
        job->function(job->task);
        pthread_mutex_lock(&pool->mutex);
        finish(pool, job);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

Pool *pool_new(uint32_t workers)
{
    Pool *pool = memory_new(sizeof *pool);
    pool->workers = workers;
    pool->threads = workers == 0 ? NULL : calloc(workers, sizeof *pool->threads);
    BUG_IF(workers > 0 && pool->threads == NULL);
    pool->signal = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    BUG_IF(pool->signal < 0);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    return pool;
}

void pool_free(Pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->mutex);
    pool->closing = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < pool->thread_count; i++) {
        pthread_join(pool->threads[i], NULL);
    }
    for (Job *job; (job = queue_pop(&pool->finished)) != NULL;) {
        free(job);
    }
    close(pool->signal);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->threads);
    free(pool);
}

/* If the system cannot create another thread, the existing ones do the work; only the first must
 * start. */
static void add_worker(Pool *pool)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (pthread_create(&pool->threads[pool->thread_count], NULL, work, pool) == 0) {
        pool->thread_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    BUG_IF(pool->thread_count == 0);
}

void pool_submit(Pool *pool, PoolFunction function, void *task)
{
    Job *job = malloc(sizeof *job);
    BUG_IF(job == NULL);
    *job = (Job){ function, task, NULL };
    if (pool->workers == 0) {
        function(task);
        finish(pool, job);
        return;
    }
    pthread_mutex_lock(&pool->mutex);
    queue_push(&pool->waiting, job);
    pool->queued++;
    bool more = pool->queued > pool->idle && pool->thread_count < pool->workers;
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    if (more) {
        add_worker(pool);
    }
}

void *pool_wait(Pool *pool, int64_t timeout_ms, int watched)
{
    struct pollfd waits[] = { { .fd = pool->signal, .events = POLLIN },
                              { .fd = watched, .events = POLLIN } };
    struct timespec time = { timeout_ms / 1000, timeout_ms % 1000 * 1000000 };
    if (ppoll(waits, 2, timeout_ms < 0 ? NULL : &time, NULL) < 1 || waits[0].revents == 0) {
        return NULL;
    }
    uint64_t one;
    if (read(pool->signal, &one, sizeof one) != (ssize_t)sizeof one) {
        return NULL;
    }
    pthread_mutex_lock(&pool->mutex);
    Job *job = queue_pop(&pool->finished);
    pthread_mutex_unlock(&pool->mutex);
    BUG_IF(job == NULL);
    void *task = job->task;
    free(job);
    return task;
}
