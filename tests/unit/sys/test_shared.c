#include "sys/shared.h"

#include <pthread.h>

#include "unit.h"

enum {
    THREADS = 4,
    ROUNDS = 2000
};

typedef struct Counter {
    int64_t value;
    int *cleared;
} Counter;

static void counter_clear(void *value)
{
    Counter *counter = value;
    (*counter->cleared)++;
}

static const SharedKind counter_kind = { sizeof(Counter), counter_clear };
static const SharedKind other_kind = { sizeof(int64_t), NULL };

static void *count(void *shared)
{
    for (int i = 0; i < ROUNDS; i++) {
        Counter *counter = shared_lock(shared, &counter_kind);
        counter->value++;
        shared_unlock(shared, &counter_kind);
    }
    return NULL;
}

static void one_thread_at_a_time_has_it(void **state)
{
    int cleared = 0;
    Shared *shared = shared_new();
    Counter *counter = shared_lock(shared, &counter_kind);
    assert_int_equal(counter->value, 0);
    counter->cleared = &cleared;
    shared_unlock(shared, &counter_kind);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count, shared), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    counter = shared_lock(shared, &counter_kind);
    assert_int_equal(counter->value, THREADS * ROUNDS);
    shared_unlock(shared, &counter_kind);
    shared_free(shared);
    assert_int_equal(cleared, 1);
}

static void kinds_are_independent(void **state)
{
    AUTO(Shared) *shared = shared_new();
    int64_t *other = shared_lock(shared, &other_kind);
    *other = 5;
    static const SharedKind same_size = { sizeof(int64_t), NULL };
    int64_t *third = shared_lock(shared, &same_size); /* while the first is held */
    assert_int_equal(*third, 0);
    *third = 6;
    shared_unlock(shared, &same_size);
    shared_unlock(shared, &other_kind);
    other = shared_lock(shared, &other_kind);
    assert_int_equal(*other, 5);
    shared_unlock(shared, &other_kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_at_a_time_has_it),
        cmocka_unit_test(kinds_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
