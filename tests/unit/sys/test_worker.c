#include "sys/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "unit.h"

typedef struct Work {
    pthread_mutex_t mutex;
    pthread_cond_t change;
    unsigned wakes, seen; /* with the mutex */
    bool blocked;
} Work;

static void work(void *context)
{
    Work *work = context;
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    pthread_mutex_lock(&work->mutex);
    work->blocked = sigismember(&set, SIGTERM) == 1;
    work->seen = work->wakes;
    pthread_cond_signal(&work->change);
    pthread_mutex_unlock(&work->mutex);
}

/* However wakes and calls overlap, after a wake there is a call that sees everything done before
 * it. */
static void no_wake_is_lost(void **state)
{
    Work shared = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, false };
    Worker *worker = worker_new(work, &shared);
    for (unsigned i = 1; i <= 5000; i++) {
        pthread_mutex_lock(&shared.mutex);
        shared.wakes = i;
        pthread_mutex_unlock(&shared.mutex);
        worker_wake(worker);
        pthread_mutex_lock(&shared.mutex);
        while (i % 7 == 0 && shared.seen < i) {
            pthread_cond_wait(&shared.change, &shared.mutex);
        }
        pthread_mutex_unlock(&shared.mutex);
    }
    worker_free(worker);
    assert_true(shared.seen >= 4998 / 7 * 7);
    assert_true(shared.blocked);
    worker_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_wake_is_lost) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
