#include "api/turns.h"

#include "base/bug.h"
#include "sys/clock.h"

static bool may_run(const Turns *turns, uint64_t caller)
{
    uint32_t all = 0, own = 0;
    for (const Turn *one = turns->running; one != NULL; one = one->next) {
        all++;
        own += one->caller == caller;
    }
    return all < TURNS_ALL_MAX && own < TURNS_CALLER_MAX;
}

/* Takes out the next one that may run; NULL: none. */
static Turn *next_turn(Turns *turns)
{
    for (Turn **place = &turns->waiting; *place != NULL; place = &(*place)->next) {
        Turn *turn = *place;
        if (may_run(turns, turn->caller)) {
            *place = turn->next;
            return turn;
        }
    }
    return NULL;
}

static void serve(Turns *turns)
{
    for (Turn *turn; turns->spent_us < TURNS_SHARE_US && (turn = next_turn(turns)) != NULL;) {
        int64_t began_us = clock_monotonic_us();
        turns->order = turn->order;
        turn->waits = false;
        turn->is_running = true;
        turn->next = turns->running;
        turns->running = turn;
        /* The next iteration has a share of its own. */
        loop_defer(turns->loop, &turns->task);
        turn->run(turn);
        turns->spent_us += clock_monotonic_us() - began_us;
    }
}

static void go_on(void *context)
{
    Turns *turns = context;
    turns->spent_us = 0;
    serve(turns);
}

void turns_init(Turns *turns, Loop *loop)
{
    *turns = (Turns){ .loop = loop };
    loop_task_init(&turns->task, go_on, turns);
}

void turns_stop(Turns *turns)
{
    loop_task_stop(turns->loop, &turns->task);
    turns->waiting = NULL;
}

/* Each caller has one place in every round: the first one of whoever comes goes before the second ones
 * of all others. */
void turns_take(Turns *turns, Turn *turn)
{
    uint64_t order = turns->order;
    for (const Turn *other = turns->waiting; other != NULL; other = other->next) {
        order = other->caller == turn->caller && other->order > order ? other->order : order;
    }
    turn->order = order + 1;
    turn->waits = true;
    Turn **place = &turns->waiting;
    while (*place != NULL && (*place)->order <= turn->order) {
        place = &(*place)->next;
    }
    turn->next = *place;
    *place = turn;
    serve(turns);
}

void turns_end(Turns *turns, Turn *turn)
{
    BUG_IF(turn->waits);
    if (!turn->is_running) {
        return;
    }
    turn->is_running = false;
    Turn **place = &turns->running;
    while (*place != turn) {
        place = &(*place)->next;
    }
    *place = turn->next;
    if (turns->waiting != NULL) {
        loop_defer(turns->loop, &turns->task);
    }
}
