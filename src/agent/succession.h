/* Restarts the agent after its program was upgraded.
 *
 * An upgrade may be run by a child of the agent, and would be killed with
 * it when systemd restarts the unit. So an upgrade only reports that the
 * program was replaced (a reload), and the agent exits by itself when it
 * has no child processes; systemd then starts the new program. Loop thread. */
#pragma once

#include "sys/loop.h"

enum {
    SUCCESSION_LOOK_MS = 1000, /* between two looks at who runs below, while that is waited for */
};

typedef struct SuccessionOptions {
    Loop *loop;
    const char *kernel; /* where proc and sys are: "/", but for tests */
    bool is_kept;       /* by systemd, which starts it again */
    /* The process that ends with the agent in order and need not be waited for; 0: there is none. */
    int64_t (*server)(void *context);
    LoopRun *due; /* it is time to end; at most once */
    void *context;
} SuccessionOptions;

typedef struct Succession {
    SuccessionOptions options;
    LoopTimer timer; /* until it looks again whether it is alone */
    bool told;       /* that there is another program */
} Succession;

void succession_init(Succession *succession, const SuccessionOptions *options);
/* The program may be another one. */
void succession_look(Succession *succession);
void succession_stop(Succession *succession); /* nothing is called any more */
