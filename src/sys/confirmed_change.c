#include "sys/confirmed_change.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "sys/clock.h"

/* Messages on the socket between the two processes. */
enum {
    MESSAGE_NONE = 0,      /* the peer has exited */
    MESSAGE_APPLIED = 'm', /* the change was applied */
    MESSAGE_FAILED = 'f',  /* the change failed */
    MESSAGE_KEEP = 'k',    /* request, and its confirmation */
    MESSAGE_UNDO = 'u',    /* same */
    MESSAGE_UNDO_FAILED = 'x',
};

enum {
    ERROR_OUTPUT_MAX = 4096,
    CHANGE_TIMEOUT_MS = 60000 /* time limit of the first run */
};

struct ConfirmedChange {
    pid_t pid;
    int socket;
    int error_output; /* a memfd: standard error of the program */
    int64_t timeout_ms;
};

/* Receives a message; MESSAGE_NONE if the peer has exited or on timeout. */
static char receive_message(int socket, int64_t timeout_ms)
{
    int64_t deadline_us = clock_monotonic_us() + timeout_ms * 1000;
    for (;;) {
        struct pollfd polled = { .fd = socket, .events = POLLIN };
        int64_t left_ms = (deadline_us - clock_monotonic_us() + 999) / 1000;
        int ready = left_ms <= 0 ? 0 : poll(&polled, 1, left_ms > INT_MAX ? INT_MAX : (int)left_ms);
        char message = MESSAGE_NONE;
        if (ready > 0 && recv(socket, &message, 1, 0) >= 0) {
            return message;
        }
        if (left_ms <= 0 || (ready != 0 && errno != EINTR)) {
            return MESSAGE_NONE;
        }
    }
}

/* --- The monitor process ---------------------------------------------------------------------- */

/* It is forked from a process with threads, so it must not allocate memory or take locks. */
typedef struct Monitor {
    const ConfirmedChangeSpec *spec;
    int change, restore; /* standard inputs of the two runs */
    int error_output;
    int socket;
} Monitor;

enum {
    MONITOR_SOCKET = 3,
    MONITOR_CHANGE = 4,
    MONITOR_RESTORE = 5,
    MONITOR_DESCRIPTORS = 6
};

/* Moves every descriptor to its final number, via numbers above all of them. */
static void monitor_move_descriptors(const Monitor *monitor)
{
    int from[MONITOR_DESCRIPTORS] = {
        [0] = open("/dev/null", O_RDWR),    [1] = -1,
        [2] = monitor->error_output,        [MONITOR_SOCKET] = monitor->socket,
        [MONITOR_CHANGE] = monitor->change, [MONITOR_RESTORE] = monitor->restore
    };
    from[1] = from[0];
    for (int i = 0; i < MONITOR_DESCRIPTORS; i++) {
        from[i] = fcntl(from[i], F_DUPFD, 64);
    }
    for (int i = 0; i < MONITOR_DESCRIPTORS; i++) {
        /* Only the first three are inherited by the program. */
        dup3(from[i], i, i > 2 ? O_CLOEXEC : 0);
    }
    syscall(SYS_close_range, (unsigned)MONITOR_DESCRIPTORS, ~0u, 0u);
}

/* Stopping the terminal or the service must not leave a half-configured firewall. */
static void monitor_set_signals(void)
{
    struct sigaction standard = { .sa_handler = SIG_DFL }, ignored = { .sa_handler = SIG_IGN };
    for (int number = 1; number < NSIG; number++) {
        bool ends = number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGPIPE;
        sigaction(number, ends ? &ignored : &standard, NULL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs the program with that input and waits; returns true if it succeeds. */
static bool monitor_run(const Monitor *monitor, int input)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(input, 0);
        execve(monitor->spec->program, (char *const *)monitor->spec->argv,
               (char *const *)monitor->spec->env);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void monitor_report(char message)
{
    while (send(MONITOR_SOCKET, &message, 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

static _Noreturn void monitor_main(const Monitor *monitor)
{
    setsid();
    monitor_set_signals();
    monitor_move_descriptors(monitor);
    prctl(PR_SET_NAME, "eden-change");
    if (chdir("/") != 0 || !monitor_run(monitor, MONITOR_CHANGE)) {
        monitor_report(MESSAGE_FAILED);
        _exit(1);
    }
    monitor_report(MESSAGE_APPLIED);
    if (receive_message(MONITOR_SOCKET, monitor->spec->timeout_ms) == MESSAGE_KEEP) {
        monitor_report(MESSAGE_KEEP);
        _exit(0);
    }
    monitor_report(monitor_run(monitor, MONITOR_RESTORE) ? MESSAGE_UNDO : MESSAGE_UNDO_FAILED);
    _exit(0);
}

/* --- Parent side ----------------------------------------------------------------------------- */

static int open_text(Str text)
{
    int descriptor = memfd_create("change", MFD_CLOEXEC);
    for (size_t at = 0; descriptor >= 0 && at < text.len;) {
        ssize_t put = pwrite(descriptor, text.data + at, text.len - at, (off_t)at);
        if (put < 0 && errno != EINTR) {
            close(descriptor);
            return -1;
        }
        at += put > 0 ? (size_t)put : 0;
    }
    return descriptor;
}

static Str read_error_output(Arena *arena, const ConfirmedChange *change)
{
    char text[ERROR_OUTPUT_MAX];
    ssize_t got = pread(change->error_output, text, sizeof text, 0);
    return got > 0 ? arena_copy(arena, str_from(text, (size_t)got)) : STR_EMPTY;
}

static void close_descriptors(const int *descriptors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (descriptors[i] >= 0) {
            close(descriptors[i]);
        }
    }
}

static bool start_monitor(const ConfirmedChangeSpec *spec, ConfirmedChange *change, Error *err)
{
    int sockets[2] = { -1, -1 };
    Monitor monitor = { .spec = spec,
                        .change = open_text(spec->change),
                        .restore = open_text(spec->restore),
                        .error_output = memfd_create("error_output", MFD_CLOEXEC) };
    bool ok = monitor.change >= 0 && monitor.restore >= 0 && monitor.error_output >= 0 &&
              socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0;
    monitor.socket = sockets[1];
    /* Our signal handlers must not run in the monitor. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    change->pid = ok ? fork() : -1;
    if (change->pid == 0) {
        monitor_main(&monitor);
    }
    int number = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    int given[] = { monitor.change, monitor.restore, sockets[1] };
    close_descriptors(given, COUNT_OF(given));
    change->socket = sockets[0];
    change->error_output = monitor.error_output;
    return change->pid > 0 ||
           error_set(err, ERROR_OS, "cannot start a process: %s", strerror(number));
}

static void reap(const ConfirmedChange *change)
{
    while (waitpid(change->pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

static void free_change(ConfirmedChange *change)
{
    int own[] = { change->socket, change->error_output };
    close_descriptors(own, COUNT_OF(own));
    free(change);
}

bool confirmed_change_start(Arena *arena, const ConfirmedChangeSpec *spec, ConfirmedChange **out,
                            Str *error_output, Error *err)
{
    ConfirmedChange *change = memory_new(sizeof *change);
    change->timeout_ms = spec->timeout_ms;
    if (!start_monitor(spec, change, err)) {
        free_change(change);
        return false;
    }
    char message = receive_message(change->socket, CHANGE_TIMEOUT_MS);
    if (message == MESSAGE_APPLIED) {
        *out = change;
        return true;
    }
    if (error_output != NULL) {
        *error_output = read_error_output(arena, change);
    }
    if (message == MESSAGE_FAILED) {
        reap(change);
        error_set(err, ERROR_OS, "%s failed", spec->argv[0]);
    } else {
        error_set(err, ERROR_TIMEOUT, "%s did not finish; its changes will be undone",
                  spec->argv[0]);
    }
    free_change(change);
    return false;
}

/* Sends the message and returns the reply. Frees the change. */
static char decide(ConfirmedChange **change, char message)
{
    ConfirmedChange *own = *change;
    *change = NULL;
    /* If the monitor cannot receive it, the monitor has already decided and its message is
     * pending. */
    (void)!send(own->socket, &message, 1, MSG_NOSIGNAL);
    char reply = receive_message(own->socket, CHANGE_TIMEOUT_MS);
    if (reply != MESSAGE_NONE) {
        reap(own);
    }
    free_change(own);
    return reply;
}

bool confirmed_change_keep(ConfirmedChange **change, Error *err)
{
    int64_t timeout_ms = (*change)->timeout_ms;
    char reply = decide(change, MESSAGE_KEEP);
    if (reply == MESSAGE_KEEP) {
        return true;
    }
    if (reply == MESSAGE_UNDO) {
        return error_set(err, ERROR_TIMEOUT, "undone after %g s because it was not confirmed",
                         (double)timeout_ms / 1000);
    }
    return error_set(err, ERROR_OS, "it is unknown whether the change was undone");
}

bool confirmed_change_undo(ConfirmedChange **change, Error *err)
{
    return decide(change, MESSAGE_UNDO) == MESSAGE_UNDO ||
           error_set(err, ERROR_OS, "the change could not be undone");
}

void confirmed_change_close(ConfirmedChange *change)
{
    Error err;
    if (change != NULL) {
        (void)!confirmed_change_undo(&change, &err);
    }
}
