/* Who is served when. The loop of a server does one thing at a time, a list of ten thousand nodes takes
 * milliseconds, and one of large facts takes megabytes until it is sent: a caller who sends hundreds of
 * such requests at once would keep all others waiting, also nodes. So requests that read get a share of
 * each iteration of the loop, and each caller has a few under way; the rest waits, and callers take
 * turns. Loop thread. */
#pragma once

#include "sys/loop.h"

enum {
    TURNS_SHARE_US = 20000, /* of an iteration; one that has begun is finished */
    TURNS_CALLER_MAX = 4,   /* under way */
    TURNS_ALL_MAX = 32      /* the same, of all callers */
};

typedef struct Turn Turn;
struct Turn {
    void (*run)(Turn *turn); /* once, perhaps within turns_take */
    uint64_t caller;         /* a number for each */
    bool waits, is_running;
    uint64_t order; /* of those that wait */
    Turn *next;     /* of those that wait, or of those under way */
};

typedef struct Turns {
    Loop *loop;
    LoopTask task;
    Turn *waiting; /* in order */
    Turn *running;
    uint64_t order;   /* of the last one that was served */
    int64_t spent_us; /* in this iteration */
} Turns;

void turns_init(Turns *turns, Loop *loop);
/* Nobody is served any more. */
void turns_stop(Turns *turns);
/* Now, if the limits allow it. */
void turns_take(Turns *turns, Turn *turn);
/* It is no longer under way, and its memory may go; also for one that never was. None that waits. */
void turns_end(Turns *turns, Turn *turn);
