/* The loop on libuv. */
#include "sys/loop.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/bug.h"
#include "base/memory.h"
#include "sys/clock.h"
#include "sys/loop_inner.h"

static void timer_fired(uv_timer_t *handle);

static void arm_timer(Loop *loop)
{
    int64_t due = loop_timers_due_ms(loop);
    if (due == INT64_MAX || due >= loop->uv_timer_due_ms) {
        return;
    }
    /* libuv counts from its cached time, which is that of the start of the iteration. */
    int64_t turn = (int64_t)uv_now(&loop->uv);
    loop->uv_timer_due_ms = due;
    uv_timer_start(&loop->uv_timer, timer_fired, due > turn ? (uint64_t)(due - turn) : 0, 0);
}

/* The handle may fire for a timer that has been stopped since; that is cheaper than rearming it for
 * every stop. */
static void timer_fired(uv_timer_t *handle)
{
    Loop *loop = handle->data;
    loop->uv_timer_due_ms = INT64_MAX;
    loop_timers_run(loop, loop_now_ms(loop));
    arm_timer(loop);
}

static void idle_fired(uv_idle_t *handle)
{
    Loop *loop = handle->data;
    uv_idle_stop(handle);
    loop_run_deferred(loop);
}

static void async_fired(uv_async_t *handle)
{
    Loop *loop = handle->data;
    loop_run_posted(loop);
    if (atomic_load(&loop->stopping)) {
        uv_stop(&loop->uv);
    }
}

static void started(int result, const char *what)
{
    if (result != 0) {
        BUG("cannot create an event loop: %s: %s", what, uv_strerror(result));
    }
}

static Loop *make(bool is_virtual)
{
    Loop *loop = memory_new(sizeof *loop);
    loop->is_virtual = is_virtual;
    loop->thread = pthread_self();
    loop->uv_timer_due_ms = INT64_MAX;
    pthread_mutex_init(&loop->mutex, NULL);
    return loop;
}

Loop *loop_new(void)
{
    Loop *loop = make(false);
    started(uv_loop_init(&loop->uv), "uv_loop_init");
    started(uv_timer_init(&loop->uv, &loop->uv_timer), "uv_timer_init");
    started(uv_idle_init(&loop->uv, &loop->uv_idle), "uv_idle_init");
    started(uv_async_init(&loop->uv, &loop->uv_async, async_fired), "uv_async_init");
    loop->uv_timer.data = loop->uv_idle.data = loop->uv_async.data = loop;
    return loop;
}

Loop *loop_new_virtual(uint64_t seed)
{
    Loop *loop = make(true);
    loop->virtual_random = seed;
    return loop;
}

void loop_free(Loop *loop)
{
    if (loop == NULL) {
        return;
    }
    BUG_IF(loop->timer_count > 0);
    if (!loop->is_virtual) {
        uv_close((uv_handle_t *)&loop->uv_timer, NULL);
        uv_close((uv_handle_t *)&loop->uv_idle, NULL);
        uv_close((uv_handle_t *)&loop->uv_async, NULL);
        uv_run(&loop->uv, UV_RUN_DEFAULT);
        int result = uv_loop_close(&loop->uv);
        if (result != 0) {
            BUG("an event loop is freed while in use: %s", uv_strerror(result));
        }
    }
    BUG_IF(loop->deferred.first != NULL || loop->posted.first != NULL);
    pthread_mutex_destroy(&loop->mutex);
    free(loop->timers);
    free(loop);
}

void loop_run(Loop *loop)
{
    loop->thread = pthread_self();
    if (loop->is_virtual) {
        loop_run_virtual_until(loop, INT64_MAX);
        return;
    }
    if (!atomic_load(&loop->stopping)) {
        uv_run(&loop->uv, UV_RUN_DEFAULT);
    }
    atomic_store(&loop->stopping, false);
}

void loop_stop(Loop *loop)
{
    atomic_store(&loop->stopping, true);
    if (!loop->is_virtual) {
        uv_async_send(&loop->uv_async);
    }
}

int64_t loop_now_ms(const Loop *loop)
{
    /* Not uv_now(), which does not change during an iteration. */
    return loop->is_virtual ? loop->virtual_ms : (int64_t)(uv_hrtime() / 1000000);
}

int64_t loop_wall_ms(const Loop *loop)
{
    return loop->is_virtual ? loop->virtual_ms + loop->virtual_wall_ms : clock_now_ms();
}

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t virtual_random(Loop *loop)
{
    uint64_t z = loop->virtual_random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t loop_random(Loop *loop)
{
    if (loop->is_virtual) {
        return virtual_random(loop);
    }
    if (loop->random_left == 0) {
        /* Never short: the kernel returns up to 256 bytes at once. */
        if (getrandom(loop->random, sizeof loop->random, 0) != (ssize_t)sizeof loop->random) {
            BUG("the kernel returned no random bytes");
        }
        loop->random_left = LOOP_RANDOM_WORDS;
    }
    /* Used once and not left in memory. */
    uint64_t word = loop->random[--loop->random_left];
    loop->random[loop->random_left] = 0;
    return word;
}

void *loop_uv(Loop *loop)
{
    return loop->is_virtual ? NULL : &loop->uv;
}

void loop_timers_earlier(Loop *loop)
{
    if (!loop->is_virtual) {
        arm_timer(loop);
    }
}

void loop_tasks_wait(Loop *loop)
{
    if (!loop->is_virtual) {
        uv_idle_start(&loop->uv_idle, idle_fired);
    }
}

void loop_check_thread(const Loop *loop)
{
    if (UNLIKELY(!pthread_equal(loop->thread, pthread_self()))) {
        BUG("an event loop is used by a thread other than its own");
    }
}
