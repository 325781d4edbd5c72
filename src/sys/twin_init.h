/* A systemd as the init of a twin (sys/twin.h): it boots in a namespace of processes of its own, of
 * which it is the first, and everything that the twin's first process starts afterwards lives there
 * too. Takes root; blocking, in that process, without threads.
 *
 * It sees devices and a /run of its own and the kernel's files read-only, but for the settings that
 * belong to the twin's namespaces. Of the units of the machine it starts what every boot needs, and
 * D-Bus; whatever else is enabled stays down until somebody starts it. */
#pragma once

#include "base/error.h"

/* The systemd of this machine; NULL: it has none. */
const char *twin_init_program(void);

typedef struct TwinInit {
    const char *program; /* twin_init_program() */
    int group;           /* cgroup_open() of a group of its own */
    const char *run;     /* a directory of /run that stays: "/run/eden" */
    int log;             /* its standard output and error */
} TwinInit;

/* After twin_become. Returns when it has booted; fails when it ends instead, and with ERROR_TIMEOUT. */
MUST_CHECK bool twin_init_boot(const TwinInit *init, Error *err);

/* Settings of the kernel that belong to the namespaces of a twin can be changed in it: net.*, names of
 * the host, limits of IPC. For a /proc that is read-only otherwise; as far as the kernel has them. */
void twin_open_settings(void);
