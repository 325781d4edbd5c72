/* Notices that the date of this machine jumps: somebody set the clock, or the machine slept. Loop
 * thread.
 *
 * Durations and leases go by monotonic time and are not touched by it; certificates, tokens and what
 * people read in records are. */
#pragma once

#include "sys/loop.h"

enum {
    CLOCK_WATCH_MS = 10 * 1000, /* how often it looks */
    CLOCK_JUMP_MS = 2 * 1000,   /* from here on it is a jump; less is a clock being adjusted */
};

typedef struct ClockWatch {
    LoopTimer timer;
    int64_t offset_ms; /* of the date, from monotonic time, when it looked last */
    /* By so much, forward when positive. */
    void (*jumped)(void *context, int64_t by_ms);
    void *context;
} ClockWatch;

/* Starts it. */
void clock_watch_init(ClockWatch *watch, Loop *loop, void (*jumped)(void *context, int64_t by_ms),
                      void *context);
void clock_watch_stop(ClockWatch *watch); /* fine when it was never started */
