#include "sys/clock.h"

#include <sys/random.h>
#include <time.h>

int64_t clock_now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec;
}

int64_t clock_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_monotonic_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

enum {
    CANCEL_POLL_US = 50000 /* an interrupt should take effect without a noticeable delay */
};

bool clock_sleep_ms(int64_t duration_ms, const atomic_bool *canceled)
{
    int64_t now = clock_monotonic_us();
    int64_t end = duration_ms > (INT64_MAX - now) / 1000 ? INT64_MAX : now + duration_ms * 1000;
    for (; now < end; now = clock_monotonic_us()) {
        if (canceled != NULL && atomic_load_explicit(canceled, memory_order_relaxed)) {
            return false;
        }
        int64_t piece = end - now;
        if (canceled != NULL && piece > CANCEL_POLL_US) {
            piece = CANCEL_POLL_US;
        }
        struct timespec rest = { piece / 1000000, piece % 1000000 * 1000 };
        nanosleep(&rest, NULL);
    }
    return true;
}

uint64_t random_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        seed = (uint64_t)clock_now_seconds();
    }
    return seed;
}
