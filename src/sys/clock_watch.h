/* Detects that the wall clock of this machine jumps: it was set, or the machine was suspended. Loop
 * thread.
 *
 * Durations and leases use monotonic time and are not affected; certificates, tokens and timestamps
 * in records are. */
#pragma once

#include "sys/loop.h"

enum {
    CLOCK_WATCH_MS = 10 * 1000, /* interval between checks */
    CLOCK_JUMP_MS = 2 * 1000, /* larger differences are a jump; smaller ones are clock adjustment */
};

typedef struct ClockWatch {
    LoopTimer timer;
    int64_t offset_ms; /* wall clock minus monotonic time at the last check */
    /* The difference; positive: forward. */
    void (*jumped)(void *context, int64_t by_ms);
    void *context;
} ClockWatch;

void clock_watch_init(ClockWatch *watch, Loop *loop, void (*jumped)(void *context, int64_t by_ms),
                      void *context);
void clock_watch_stop(ClockWatch *watch); /* does nothing if it was never started */
