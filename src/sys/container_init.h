/* Boots systemd in a simulated host (sys/container.h): as PID 1 of its own PID namespace, in which
 * everything that the host's first process starts later runs too. Requires root. The functions
 * block, and may only be called in that process, which must have no threads.
 *
 * It has its own devices and /run, and sees kernel files read-only except for settings that belong
 * to the host's namespaces. Of the machine's units it starts only those that every boot needs, and
 * D-Bus; other enabled units are not started automatically. */
#pragma once

#include "base/error.h"

/* The systemd of this machine; NULL if it has none. */
const char *container_init_program(void);

typedef struct ContainerInit {
    const char *program; /* container_init_program() */
    int group;           /* cgroup_open() of a separate group */
    const char *run;     /* a directory in /run to preserve: "/run/eden" */
    int log;             /* its standard output and error */
} ContainerInit;

/* Call it after container_enter. Returns when systemd has booted. Fails if it exits instead, or
 * with ERROR_TIMEOUT. */
MUST_CHECK bool container_init_boot(const ContainerInit *init, Error *err);

/* Makes kernel settings that belong to the node's namespaces writable: net.*, host name, IPC
 * limits. For a /proc that is otherwise read-only; settings that the kernel does not have are
 * skipped. */
void container_open_settings(void);
