/* The interface of a daemon to its environment: signals to stop or reload, and systemd's
 * notification protocol (READY, STATUS, watchdog). Loop thread. */
#pragma once

#include "base/error.h"
#include "base/own.h"
#include "sys/loop.h"

typedef struct Daemon Daemon;

typedef struct DaemonEvents {
    LoopRun *stop;      /* SIGTERM or SIGINT; called for every signal */
    LoopRun *interrupt; /* SIGINT, to handle it separately; NULL: same as stop */
    LoopRun *reload;    /* SIGHUP; NULL: ignored */
    void *context;
} DaemonEvents;

/* Installs the signal handlers and raises the limit of open files to the maximum. While the daemon
 * runs, the loop feeds systemd's watchdog, so a loop that hangs is restarted. */
Daemon *daemon_new(Loop *loop, const DaemonEvents *events);
void daemon_free(Daemon *daemon); /* free before the loop; NULL is allowed */
DEFINE_AUTO(Daemon, daemon_free)

/* These do nothing without $NOTIFY_SOCKET. */
void daemon_ready(Daemon *daemon);
void daemon_reloading(Daemon *daemon); /* until it is ready again */
void daemon_stopping(Daemon *daemon);
/* One line, shown by `systemctl status`. */
PRINTF_LIKE(2, 3) void daemon_status(Daemon *daemon, const char *format, ...);
