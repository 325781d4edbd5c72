#include "run/executor.h"

#include "run/run_control.h"
#include "run/waiting.h"
#include "sys/clock.h"
#include "sys/pool.h"
#include "sys/signals.h"

enum {
    THREADS_MAX = 256,        /* including steps whose action only waits */
    INTERRUPT_POLL_US = 5000, /* how often to check for interrupts */
    TICK_US = 200000          /* how often the view is updated while nothing happens */
};

struct Executor {
    RunCoreSettings settings;
    Arena *arena;
    RunCore *core;
    Pool *pool;
    int interrupts;
    RunControl *control;           /* NULL: none */
    int64_t interrupts_checked_us; /* when interrupts were last checked */
    int64_t start_us, end_us;
};

/* Checks for interrupts, unless it did so recently: thousands of steps may take less time than
 * that. The first lets running steps finish, the second stops them. */
static void take_interrupts(Executor *executor, int64_t now_us)
{
    int number;
    if (executor->interrupts < 0 || now_us < executor->interrupts_checked_us + INTERRUPT_POLL_US) {
        return;
    }
    executor->interrupts_checked_us = now_us;
    uint32_t count = signals_take(executor->interrupts, &number);
    count += executor->control != NULL ? run_control_take(executor->control) : 0;
    for (; count > 0; count--) {
        if (run_core_was_interrupted(executor->core)) {
            run_core_cancel(executor->core);
        } else {
            run_core_interrupt(executor->core);
        }
    }
}

static void start_task(Executor *executor, const CoreAction *action)
{
    if (action->runs_inline) {
        task_run(&action->start->task);
        run_core_ended(executor->core, action->start, clock_monotonic_us());
    } else {
        pool_submit(executor->pool, task_run, &action->start->task);
    }
}

/* In milliseconds, rounded up. */
static int64_t wait_ms(int64_t now_us, int64_t until_us)
{
    int64_t end_us = now_us + TICK_US;
    if (until_us >= 0 && until_us < end_us) {
        end_us = until_us;
    }
    return end_us > now_us ? (end_us - now_us + 999) / 1000 : 0;
}

static void wait_for_event(Executor *executor, int64_t until_us)
{
    int64_t now_us = clock_monotonic_us();
    RunningTask *running =
        pool_wait(executor->pool, wait_ms(now_us, until_us), executor->interrupts);
    executor->interrupts_checked_us = 0; /* the wait may have been ended by an interrupt */
    if (running != NULL) {
        run_core_ended(executor->core, running, clock_monotonic_us());
        return;
    }
    run_core_due(executor->core, clock_monotonic_us());
    waiting_tick(&executor->settings, executor->arena);
}

void executor_run(Executor *executor, int interrupts, RunControl *control)
{
    CoreAction action = { .kind = CORE_AGAIN };
    executor->interrupts = interrupts;
    executor->control = control;
    while (action.kind != CORE_END) {
        int64_t now_us = clock_monotonic_us();
        take_interrupts(executor, now_us);
        action = run_core_next(executor->core, now_us);
        if (action.kind == CORE_START) {
            start_task(executor, &action);
        } else if (action.kind == CORE_WAIT) {
            wait_for_event(executor, action.until_us);
        }
    }
    executor->end_us = clock_monotonic_us();
}

Executor *executor_new(Arena *arena, const RunCoreSettings *settings)
{
    Executor *executor = ARENA_NEW(arena, Executor);
    executor->settings = *settings;
    executor->arena = arena;
    executor->interrupts = -1;
    executor->start_us = clock_monotonic_us();
    executor->core = run_core_new(arena, settings, executor->start_us);
    executor->pool = pool_new(THREADS_MAX);
    return executor;
}

void executor_free(Executor *executor)
{
    if (executor != NULL) {
        pool_free(executor->pool);
        run_core_free(executor->core);
    }
}

const RunCore *executor_core(const Executor *executor)
{
    return executor->core;
}

int64_t executor_duration_us(const Executor *executor)
{
    return executor->end_us - executor->start_us;
}
