/* What a daemon and its surroundings say to each other: signals that ask it to stop or to read its
 * files anew, and what systemd wants to be told (READY, STATUS, the watchdog). Loop thread. */
#pragma once

#include "base/error.h"
#include "base/own.h"
#include "sys/loop.h"

typedef struct Daemon Daemon;

typedef struct DaemonEvents {
    LoopRun *stop;      /* SIGTERM or SIGINT; again for each that comes */
    LoopRun *interrupt; /* SIGINT, when that is to be told apart; NULL: it is not */
    LoopRun *reload;    /* SIGHUP; NULL: nothing happens */
    void *context;
} DaemonEvents;

/* Takes the signals, and as many descriptors as the process is allowed. While it lives, systemd's watchdog is fed as often as it wants: a loop that
 * hangs does not. */
Daemon *daemon_new(Loop *loop, const DaemonEvents *events);
void daemon_free(Daemon *daemon); /* before the loop; NULL is fine */
DEFINE_AUTO(Daemon, daemon_free)

/* Each does nothing when nobody wants to know ($NOTIFY_SOCKET). */
void daemon_ready(Daemon *daemon);
void daemon_reloading(Daemon *daemon); /* until it is ready again */
void daemon_stopping(Daemon *daemon);
/* One line for people, in `systemctl status`. */
PRINTF_LIKE(2, 3) void daemon_status(Daemon *daemon, const char *format, ...);
