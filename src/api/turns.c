#include "api/turns.h"

#include "base/bug.h"
#include "sys/clock.h"

static bool may_run(const Turns *turns, uint64_t caller)
{
    uint32_t total = 0, by_caller = 0;
    for (const Turn *turn = turns->running; turn != NULL; turn = turn->next) {
        total++;
        by_caller += turn->caller == caller;
    }
    return total < TURNS_TOTAL_MAX && by_caller < TURNS_CALLER_MAX;
}

/* Removes and returns the next request that may run; NULL: none. */
static Turn *next_turn(Turns *turns)
{
    for (Turn **link = &turns->waiting; *link != NULL; link = &(*link)->next) {
        Turn *turn = *link;
        if (may_run(turns, turn->caller)) {
            *link = turn->next;
            return turn;
        }
    }
    return NULL;
}

static void run_waiting(Turns *turns)
{
    for (Turn *turn; turns->spent_us < TURNS_SLICE_US && (turn = next_turn(turns)) != NULL;) {
        int64_t started_us = clock_monotonic_us();
        turns->order = turn->order;
        turn->is_waiting = false;
        turn->is_running = true;
        turn->next = turns->running;
        turns->running = turn;
        /* The next iteration starts with a new time slice. */
        loop_defer(turns->loop, &turns->task);
        turn->run(turn);
        turns->spent_us += clock_monotonic_us() - started_us;
    }
}

static void on_iteration(void *context)
{
    Turns *turns = context;
    turns->spent_us = 0;
    run_waiting(turns);
}

void turns_init(Turns *turns, Loop *loop)
{
    *turns = (Turns){ .loop = loop };
    loop_task_init(&turns->task, on_iteration, turns);
}

void turns_stop(Turns *turns)
{
    loop_task_stop(turns->loop, &turns->task);
    turns->waiting = NULL;
}

/* Each caller has one request per round, so the first request of a caller runs before the second
 * request of any other. */
void turns_enqueue(Turns *turns, Turn *turn)
{
    uint64_t order = turns->order;
    for (const Turn *other = turns->waiting; other != NULL; other = other->next) {
        order = other->caller == turn->caller && other->order > order ? other->order : order;
    }
    turn->order = order + 1;
    turn->is_waiting = true;
    Turn **link = &turns->waiting;
    while (*link != NULL && (*link)->order <= turn->order) {
        link = &(*link)->next;
    }
    turn->next = *link;
    *link = turn;
    run_waiting(turns);
}

void turns_end(Turns *turns, Turn *turn)
{
    BUG_IF(turn->is_waiting);
    if (!turn->is_running) {
        return;
    }
    turn->is_running = false;
    Turn **link = &turns->running;
    while (*link != turn) {
        link = &(*link)->next;
    }
    *link = turn->next;
    if (turns->waiting != NULL) {
        loop_defer(turns->loop, &turns->task);
    }
}
