/* A simulated host: a forked child in its own namespaces becomes a host with the software of this
 * machine but its own name and address, and runs a daemon under its PID 1. The functions block, and
 * may only be called in that child, which must have no threads.
 *
 *     if (!container_enter(arena, &settings, &overlay, err)) ...
 *     ... run one-time tasks (sys/process.h), boot systemd (sys/container_init.h)
 *     return container_supervise(&daemon, channel); */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "sys/overlay.h"

typedef struct ContainerSettings {
    const char *directory; /* an empty directory outside */
    const char *name;
    const char *link; /* network interface, which exists already */
    const char *address;
    unsigned prefix;
    Str hosts;      /* content of /etc/hosts */
    Str machine_id; /* 32 hex digits */
    const OverlayBind *binds;
    uint32_t bind_count;
} ContainerSettings;

/* Opens a file outside for the daemon's log; call it before container_enter. */
MUST_CHECK bool container_open_log(const char *path, int *descriptor, Error *err);
/* `*out` lives in the arena. */
MUST_CHECK bool container_enter(Arena *arena, const ContainerSettings *settings, Overlay **out,
                                Error *err);

typedef struct ContainerDaemon {
    const char *program;
    const char *const *argv; /* ends with NULL */
    int log;                 /* its standard output and error */
    const Overlay *overlay;  /* from container_enter; refreshed when files of the machine change */
} ContainerDaemon;

/* Returns when the daemon exits or the other end of the channel is closed. Status messages of the
 * daemon (sys/daemon.h) are forwarded to the channel, one per line. Returns the exit code. */
int container_supervise(const ContainerDaemon *daemon, int channel);

/* Runs a program inside the node to which `process` belongs, in the foreground: with the terminal
 * of this process, which waits for it, and in the same directory if that exists inside. Both lists
 * end with NULL, `env` has "NAME=value". `*code` is the exit code. Fails with ERROR_NOT_FOUND,
 * ERROR_DENIED or ERROR_OS if it could not be started. The caller must have no threads. */
MUST_CHECK bool container_run(pid_t process, const char *const *argv, const char *const *env,
                              int *code, Error *err);

/* --- Private to sys/ ------------------------------------------------------------------------- */

/* Writes a file inside, replacing an existing one regardless of its owner. */
MUST_CHECK bool container_write_file(const char *path, Str text, Error *err);
/* Opens a notification socket like systemd's. It is abstract ("@eden-container"), so it belongs to
 * this network namespace and leaves no file. Reading does not block. */
MUST_CHECK bool container_open_notify_socket(const char *name, int *descriptor, Error *err);
