/* A private bus: a dbus-daemon that the test starts and stops. */
#pragma once

#include "scratch.h"

static const char *const bus_daemon_configuration =
    "<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen>"
    "<policy context='default'>"
    "<allow send_destination='*'/><allow send_type='signal'/><allow own='*'/>"
    "<allow receive_type='signal'/><allow receive_type='method_call'/>"
    "<allow receive_type='method_return'/><allow receive_type='error'/>"
    "<deny own='org.example.Forbidden'/>"
    "</policy></busconfig>\n";

/* Waits until the daemon reports its address, which is the system bus from then on. */
static inline bool bus_daemon_start(Scratch *scratch, pid_t *daemon)
{
    int ends[2];
    char address[512], print[32];
    scratch_put(scratch, "bus.conf", bus_daemon_configuration);
    const char *config = arena_format(&scratch->arena, "--config-file=%s%c",
                                      scratch_place(scratch, "bus.conf"), '\0')
                             .data;
    if (pipe(ends) != 0) {
        return false;
    }
    *daemon = fork();
    if (*daemon == 0) {
        close(ends[0]);
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        snprintf(print, sizeof print, "--print-address=%d", ends[1]);
        execlp("dbus-daemon", "dbus-daemon", config, "--nofork", print, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    ssize_t len = read(ends[0], address, sizeof address - 1);
    close(ends[0]);
    if (len <= 1) {
        print_error("dbus-daemon does not start; is the package dbus-daemon there?\n");
        return false;
    }
    address[len - 1] = '\0';
    return setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1) == 0;
}

static inline void bus_daemon_end(pid_t *daemon)
{
    if (*daemon > 0) {
        kill(*daemon, SIGKILL);
        waitpid(*daemon, NULL, 0);
        *daemon = 0;
    }
}
