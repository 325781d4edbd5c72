#include "sys/pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "unit.h"

enum {
    TASKS = 200
};

typedef struct Task {
    pthread_t thread;
    atomic_int *gate; /* waits until it is open */
    int number;
    int done;
} Task;

static void note(void *context)
{
    Task *task = context;
    task->thread = pthread_self();
    while (task->gate != NULL && atomic_load(task->gate) == 0) {
    }
    task->done = task->number + 1;
}

static void every_task_is_returned_once(void **state)
{
    AUTO(Pool) *pool = pool_new(4);
    Task tasks[TASKS] = { 0 };
    for (int i = 0; i < TASKS; i++) {
        tasks[i].number = i;
        pool_submit(pool, note, &tasks[i]);
    }
    int seen[TASKS] = { 0 };
    for (int i = 0; i < TASKS; i++) {
        Task *task = pool_wait(pool, -1, -1);
        assert_non_null(task);
        assert_int_equal(task->done, task->number + 1);
        seen[task->number]++;
    }
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(seen[i], 1);
    }
    assert_null(pool_wait(pool, 0, -1));
}

static void a_blocked_task_does_not_delay_others(void **state)
{
    AUTO(Pool) *pool = pool_new(2);
    atomic_int gate = 0;
    Task held = { .gate = &gate, .number = 1 };
    Task free_one = { .number = 2 };
    pool_submit(pool, note, &held);
    pool_submit(pool, note, &free_one);
    assert_ptr_equal(pool_wait(pool, -1, -1), &free_one);
    atomic_store(&gate, 1);
    assert_ptr_equal(pool_wait(pool, -1, -1), &held);
}

static void without_workers_the_owner_works(void **state)
{
    AUTO(Pool) *pool = pool_new(0);
    Task task = { .number = 7 };
    pool_submit(pool, note, &task);
    assert_int_equal(task.done, 8);
    assert_true(pthread_equal(task.thread, pthread_self()));
    assert_ptr_equal(pool_wait(pool, -1, -1), &task);
}

static void a_watched_descriptor_ends_the_wait(void **state)
{
    AUTO(Pool) *pool = pool_new(1);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_null(pool_wait(pool, -1, ends[0]));
    close(ends[0]);
    close(ends[1]);
}

static void freeing_finishes_submitted_tasks(void **state)
{
    Pool *pool = pool_new(1);
    Task tasks[3] = { 0 };
    for (int i = 0; i < 3; i++) {
        tasks[i].number = i;
        pool_submit(pool, note, &tasks[i]);
    }
    pool_free(pool);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tasks[i].done, i + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_is_returned_once),
        cmocka_unit_test(a_blocked_task_does_not_delay_others),
        cmocka_unit_test(without_workers_the_owner_works),
        cmocka_unit_test(a_watched_descriptor_ends_the_wait),
        cmocka_unit_test(freeing_finishes_submitted_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
