#include "sys/daemon.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "base/memory.h"
#include "base/str.h"

enum {
    SIGNALS = 3,
    NOTIFICATION_MAX = 512,
};

struct Daemon {
    Loop *loop;
    DaemonEvents events;
    uv_signal_t signals[SIGNALS];
    uint32_t open_count;
    LoopTimer watchdog;
    int64_t watchdog_ms; /* 0: no watchdog */
};

/* --- systemd --------------------------------------------------------------------------------- */

/* Address of the notification socket: a path, or "@" and an abstract name. */
static bool notify_address(struct sockaddr_un *address, socklen_t *len)
{
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL || (path[0] != '/' && path[0] != '@') ||
        strlen(path) >= sizeof address->sun_path) {
        return false;
    }
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path, path, strlen(path));
    if (path[0] == '@') {
        address->sun_path[0] = '\0';
    }
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    return true;
}

/* A failed notification is not fatal. */
static void notify(const char *note)
{
    struct sockaddr_un address;
    socklen_t len;
    if (!notify_address(&address, &len)) {
        return;
    }
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor >= 0) {
        (void)sendto(descriptor, note, strlen(note), MSG_NOSIGNAL, (struct sockaddr *)&address,
                     len);
        close(descriptor);
    }
}

static int64_t watchdog_interval_ms(void)
{
    const char *text = getenv("WATCHDOG_USEC"), *process = getenv("WATCHDOG_PID");
    uint64_t us, pid;
    if (text == NULL || !str_to_u64(str_from_c(text), &us) || us / 2000 == 0 ||
        us > (uint64_t)INT64_MAX) {
        return 0;
    }
    bool is_ours =
        process == NULL || (str_to_u64(str_from_c(process), &pid) && pid == (uint64_t)getpid());
    return is_ours ? (int64_t)(us / 2000) : 0;
}

static void watchdog_due(void *context)
{
    Daemon *daemon = context;
    notify("WATCHDOG=1");
    loop_timer_start(&daemon->watchdog, daemon->watchdog_ms);
}

void daemon_ready(Daemon *daemon)
{
    notify("READY=1");
}

void daemon_reloading(Daemon *daemon)
{
    struct timespec now;
    char note[NOTIFICATION_MAX];
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(note, sizeof note, "RELOADING=1\nMONOTONIC_USEC=%lld",
             (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    notify(note);
}

void daemon_stopping(Daemon *daemon)
{
    notify("STOPPING=1");
}

void daemon_status(Daemon *daemon, const char *format, ...)
{
    char note[NOTIFICATION_MAX] = "STATUS=";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(note + strlen(note), sizeof note - strlen(note), format, arguments);
    va_end(arguments);
    for (char *at = note; *at != '\0'; at++) {
        *at = *at == '\n' ? ' ' : *at;
    }
    notify(note);
}

/* --- Signals --------------------------------------------------------------------------------- */

static void signal_received(uv_signal_t *handle, int number)
{
    const Daemon *daemon = handle->data;
    const DaemonEvents *events = &daemon->events;
    LoopRun *run = number == SIGHUP                                ? events->reload
                   : number == SIGINT && events->interrupt != NULL ? events->interrupt
                                                                   : events->stop;
    if (run != NULL) {
        run(events->context);
    }
}

/* Thousands of connections exceed the default limit of most systems. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

Daemon *daemon_new(Loop *loop, const DaemonEvents *events)
{
    static const int numbers[SIGNALS] = { SIGTERM, SIGINT, SIGHUP };
    raise_descriptor_limit();
    Daemon *daemon = memory_new(sizeof *daemon);
    daemon->loop = loop;
    daemon->events = *events;
    for (uint32_t i = 0; i < SIGNALS; i++) {
        uv_signal_init(loop_uv(loop), &daemon->signals[i]);
        daemon->signals[i].data = daemon;
        daemon->open_count++;
        uv_signal_start(&daemon->signals[i], signal_received, numbers[i]);
    }
    daemon->watchdog_ms = watchdog_interval_ms();
    loop_timer_init(&daemon->watchdog, loop, watchdog_due, daemon);
    if (daemon->watchdog_ms > 0) {
        loop_timer_start(&daemon->watchdog, daemon->watchdog_ms);
    }
    return daemon;
}

static void signal_closed(uv_handle_t *handle)
{
    Daemon *daemon = handle->data;
    if (--daemon->open_count == 0) {
        free(daemon);
    }
}

void daemon_free(Daemon *daemon)
{
    if (daemon == NULL) {
        return;
    }
    loop_timer_stop(&daemon->watchdog);
    for (uint32_t i = 0; i < SIGNALS; i++) {
        uv_close((uv_handle_t *)&daemon->signals[i], signal_closed);
    }
}
