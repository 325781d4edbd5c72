#include "sys/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bug.h"
#include "base/memory.h"

struct Worker {
    void (*work)(void *context);
    void *context;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    bool woken, ending;
};

static void *run(void *context)
{
    Worker *worker = context;
    pthread_mutex_lock(&worker->mutex);
    while (!worker->ending) {
        if (!worker->woken) {
            pthread_cond_wait(&worker->change, &worker->mutex);
            continue;
        }
        worker->woken = false;
        pthread_mutex_unlock(&worker->mutex);
        worker->work(worker->context);
        pthread_mutex_lock(&worker->mutex);
    }
    pthread_mutex_unlock(&worker->mutex);
    return NULL;
}

Worker *worker_new(void (*work)(void *context), void *context)
{
    Worker *worker = memory_new(sizeof *worker);
    worker->work = work;
    worker->context = context;
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->change, NULL);
    /* Signals belong to the thread that handles them; a new thread inherits the mask of its
     * creator. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&worker->thread, NULL, run, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0) {
        BUG("cannot start a thread: %s", strerror(result));
    }
    return worker;
}

void worker_free(Worker *worker)
{
    if (worker == NULL) {
        return;
    }
    pthread_mutex_lock(&worker->mutex);
    worker->ending = true;
    pthread_cond_signal(&worker->change);
    pthread_mutex_unlock(&worker->mutex);
    pthread_join(worker->thread, NULL);
    pthread_cond_destroy(&worker->change);
    pthread_mutex_destroy(&worker->mutex);
    free(worker);
}

void worker_wake(Worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    worker->woken = true;
    pthread_cond_signal(&worker->change);
    pthread_mutex_unlock(&worker->mutex);
}

void worker_sleep(Worker *worker, int64_t duration_us)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t ns = end.tv_nsec + duration_us % 1000000 * 1000;
    end.tv_sec += duration_us / 1000000 + ns / 1000000000;
    end.tv_nsec = ns % 1000000000;
    pthread_mutex_lock(&worker->mutex);
    int result = 0;
    worker->woken = false;
    while (!worker->woken && !worker->ending && result == 0) {
        result = pthread_cond_clockwait(&worker->change, &worker->mutex, CLOCK_MONOTONIC, &end);
    }
    pthread_mutex_unlock(&worker->mutex);
}
