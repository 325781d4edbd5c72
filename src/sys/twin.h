/* A twin of this machine: an offshoot that is apart becomes a host of its own, with all that is
 * installed here, another name and another address, and keeps a daemon running as its first process
 * does. Blocking; in that process, without threads.
 *
 *     if (!twin_become(arena, &settings, &overlay, err)) ...
 *     ... run what is to be done once (sys/process.h), boot a systemd (sys/twin_init.h)
 *     return twin_keep(&daemon, channel);
 */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "sys/overlay.h"

typedef struct TwinSettings {
    const char *folder; /* an empty directory outside */
    const char *name;
    const char *link; /* of the network, which is there already */
    const char *address;
    unsigned prefix;
    Str hosts;      /* of /etc/hosts */
    Str machine_id; /* 32 hexadecimal digits */
    const OverlayPlace *places;
    uint32_t place_count;
} TwinSettings;

/* A file outside to which the daemon's log goes; before twin_become. */
MUST_CHECK bool twin_open_log(const char *path, int *descriptor, Error *err);
/* `*out` lives in the arena. */
MUST_CHECK bool twin_become(Arena *arena, const TwinSettings *settings, Overlay **out, Error *err);

typedef struct TwinDaemon {
    const char *program;
    const char *const *argv; /* ends with NULL */
    int log;                 /* its standard output and error */
    const Overlay *overlay;  /* of twin_become: kept as the machine's files are */
} TwinDaemon;

/* Until it ends, or whoever holds the other end of the channel does. What the daemon tells its
 * surroundings (sys/daemon.h) goes to the channel, one line each. Returns the exit code. */
int twin_keep(const TwinDaemon *daemon, int channel);

/* Runs a program inside of a twin, of which that process is one, for the user: with the terminal of
 * this process, which waits for it, and in the same directory when that is there too. Both lists end
 * with NULL, `env` has "NAME=value". `*code` is its exit code. Fails with ERROR_NOT_FOUND,
 * ERROR_DENIED or ERROR_OS when it could not be started. The caller must have no threads. */
MUST_CHECK bool twin_run(pid_t process, const char *const *argv, const char *const *env, int *code,
                         Error *err);

/* --- Between files of this folder ------------------------------------------------------------ */

/* A file of the twin, in place of the one that is there, whoever owned that. */
MUST_CHECK bool twin_write_file(const char *path, Str text, Error *err);
/* Where a daemon tells how it is, as systemd's notify socket does: abstract ("@eden-twin"), so that it is of
 * this network alone and leaves no file. Reading it does not wait. */
MUST_CHECK bool twin_open_notes(const char *name, int *descriptor, Error *err);
