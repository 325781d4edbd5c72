/* Restarts the agent after its program was upgraded.
 *
 * An upgrade may be run by a child of the agent, and would be killed with
 * it when systemd restarts the unit. So an upgrade only reports that the
 * program was replaced (a reload), and the agent exits by itself when it
 * has no child processes; systemd then starts the new program. Loop thread. */
#pragma once

#include "sys/loop.h"

enum {
    UPGRADE_RESTART_CHECK_MS = 1000, /* interval of checking for child processes */
    UPGRADE_RESTART_EXCLUDED = 2,
};

typedef struct UpgradeRestartOptions {
    Loop *loop;
    const char *kernel;     /* root of proc and sys: "/", except in tests */
    bool will_be_restarted; /* systemd supervises it and restarts it */
    /* Fills in the process ids of children that are not waited for: the server, which exits with
     * the agent, and etcd, which continues to run; 0: none. */
    void (*excluded)(void *context, int64_t out[UPGRADE_RESTART_EXCLUDED]);
    LoopRun *due; /* it is time to exit; called at most once */
    void *context;
} UpgradeRestartOptions;

typedef struct UpgradeRestart {
    UpgradeRestartOptions options;
    LoopTimer timer; /* until the next check for child processes */
    bool is_logged;  /* the replacement was logged */
} UpgradeRestart;

void upgrade_restart_init(UpgradeRestart *upgrade_restart, const UpgradeRestartOptions *options);
/* Checks whether the program was replaced. */
void upgrade_restart_check(UpgradeRestart *upgrade_restart);
void upgrade_restart_stop(UpgradeRestart *upgrade_restart); /* no callbacks afterwards */
