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
    WORD_NONE = 0,     /* the peer has exited */
    WORD_MADE = 'm',   /* the change was applied */
    WORD_FAILED = 'f', /* the change failed */
    WORD_KEEP = 'k',   /* request, and its confirmation */
    WORD_UNDO = 'u',   /* same */
    WORD_UNDO_FAILED = 'x',
};

enum {
    MESSAGE_MAX = 4096,
    CHANGE_MS_MAX = 60000 /* time limit of the first run */
};

struct ConfirmedChange {
    pid_t pid;
    int socket;
    int messages; /* a memfd: standard error of the program */
    int64_t timeout_ms;
};

/* Receives a message; WORD_NONE if the peer has exited or on timeout. */
static char listen_to(int socket, int64_t timeout_ms)
{
    int64_t deadline_us = clock_monotonic_us() + timeout_ms * 1000;
    for (;;) {
        struct pollfd polled = { .fd = socket, .events = POLLIN };
        int64_t left_ms = (deadline_us - clock_monotonic_us() + 999) / 1000;
        int ready = left_ms <= 0 ? 0 : poll(&polled, 1, left_ms > INT_MAX ? INT_MAX : (int)left_ms);
        char word = WORD_NONE;
        if (ready > 0 && recv(socket, &word, 1, 0) >= 0) {
            return word;
        }
        if (left_ms <= 0 || (ready != 0 && errno != EINTR)) {
            return WORD_NONE;
        }
    }
}

/* --- The monitor process ---------------------------------------------------------------------- */

/* It is forked from a process with threads, so it must not allocate memory or take locks. */
typedef struct Monitor {
    const ConfirmedChangeSpec *spec;
    int change, restore; /* standard inputs of the two runs */
    int messages;
    int socket;
} Monitor;

enum {
    SUPERVISOR_SOCKET = 3,
    SUPERVISOR_CHANGE = 4,
    SUPERVISOR_RESTORE = 5,
    SUPERVISOR_FILES = 6
};

/* Moves every descriptor to its final number, via numbers above all of them. */
static void monitor_take_descriptors(const Monitor *monitor)
{
    int from[SUPERVISOR_FILES] = { [0] = open("/dev/null", O_RDWR),
                                   [1] = -1,
                                   [2] = monitor->messages,
                                   [SUPERVISOR_SOCKET] = monitor->socket,
                                   [SUPERVISOR_CHANGE] = monitor->change,
                                   [SUPERVISOR_RESTORE] = monitor->restore };
    from[1] = from[0];
    for (int i = 0; i < SUPERVISOR_FILES; i++) {
        from[i] = fcntl(from[i], F_DUPFD, 64);
    }
    for (int i = 0; i < SUPERVISOR_FILES; i++) {
        /* Only the first three are inherited by the program. */
        dup3(from[i], i, i > 2 ? O_CLOEXEC : 0);
    }
    syscall(SYS_close_range, (unsigned)SUPERVISOR_FILES, ~0u, 0u);
}

/* Stopping the terminal or the service must not leave a half-configured firewall. */
static void monitor_take_signals(void)
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

static void monitor_report(char word)
{
    while (send(SUPERVISOR_SOCKET, &word, 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

static _Noreturn void monitor_main(const Monitor *monitor)
{
    setsid();
    monitor_take_signals();
    monitor_take_descriptors(monitor);
    prctl(PR_SET_NAME, "eden-trial");
    if (chdir("/") != 0 || !monitor_run(monitor, SUPERVISOR_CHANGE)) {
        monitor_report(WORD_FAILED);
        _exit(1);
    }
    monitor_report(WORD_MADE);
    if (listen_to(SUPERVISOR_SOCKET, monitor->spec->timeout_ms) == WORD_KEEP) {
        monitor_report(WORD_KEEP);
        _exit(0);
    }
    monitor_report(monitor_run(monitor, SUPERVISOR_RESTORE) ? WORD_UNDO : WORD_UNDO_FAILED);
    _exit(0);
}

/* --- Parent side ----------------------------------------------------------------------------- */

static int open_text(Str text)
{
    int descriptor = memfd_create("trial", MFD_CLOEXEC);
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

static Str read_messages(Arena *arena, const ConfirmedChange *trial)
{
    char text[MESSAGE_MAX];
    ssize_t got = pread(trial->messages, text, sizeof text, 0);
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

static bool start_monitor(const ConfirmedChangeSpec *spec, ConfirmedChange *trial, Error *err)
{
    int sockets[2] = { -1, -1 };
    Monitor monitor = { .spec = spec,
                        .change = open_text(spec->change),
                        .restore = open_text(spec->restore),
                        .messages = memfd_create("messages", MFD_CLOEXEC) };
    bool ok = monitor.change >= 0 && monitor.restore >= 0 && monitor.messages >= 0 &&
              socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0;
    monitor.socket = sockets[1];
    /* Our signal handlers must not run in the monitor. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    trial->pid = ok ? fork() : -1;
    if (trial->pid == 0) {
        monitor_main(&monitor);
    }
    int number = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    int given[] = { monitor.change, monitor.restore, sockets[1] };
    close_descriptors(given, COUNT_OF(given));
    trial->socket = sockets[0];
    trial->messages = monitor.messages;
    return trial->pid > 0 ||
           error_set(err, ERROR_OS, "cannot start a process: %s", strerror(number));
}

static void reap(const ConfirmedChange *trial)
{
    while (waitpid(trial->pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

static void discard(ConfirmedChange *trial)
{
    int own[] = { trial->socket, trial->messages };
    close_descriptors(own, COUNT_OF(own));
    free(trial);
}

bool confirmed_change_start(Arena *arena, const ConfirmedChangeSpec *spec, ConfirmedChange **out,
                            Str *messages, Error *err)
{
    ConfirmedChange *trial = memory_new(sizeof *trial);
    trial->timeout_ms = spec->timeout_ms;
    if (!start_monitor(spec, trial, err)) {
        discard(trial);
        return false;
    }
    char word = listen_to(trial->socket, CHANGE_MS_MAX);
    if (word == WORD_MADE) {
        *out = trial;
        return true;
    }
    if (messages != NULL) {
        *messages = read_messages(arena, trial);
    }
    if (word == WORD_FAILED) {
        reap(trial);
        error_set(err, ERROR_OS, "%s failed", spec->argv[0]);
    } else {
        error_set(err, ERROR_TIMEOUT, "%s did not finish; its changes will be undone",
                  spec->argv[0]);
    }
    discard(trial);
    return false;
}

/* Sends the message and returns the reply. Frees the trial. */
static char settle(ConfirmedChange **trial, char word)
{
    ConfirmedChange *own = *trial;
    *trial = NULL;
    /* If the monitor does not receive it, it has decided already, and its message is pending. */
    (void)!send(own->socket, &word, 1, MSG_NOSIGNAL);
    char answer = listen_to(own->socket, CHANGE_MS_MAX);
    if (answer != WORD_NONE) {
        reap(own);
    }
    discard(own);
    return answer;
}

bool confirmed_change_keep(ConfirmedChange **trial, Error *err)
{
    int64_t timeout_ms = (*trial)->timeout_ms;
    char answer = settle(trial, WORD_KEEP);
    if (answer == WORD_KEEP) {
        return true;
    }
    if (answer == WORD_UNDO) {
        return error_set(err, ERROR_TIMEOUT, "undone after %g s because it was not confirmed",
                         (double)timeout_ms / 1000);
    }
    return error_set(err, ERROR_OS, "it is unknown whether the change was undone");
}

bool confirmed_change_undo(ConfirmedChange **trial, Error *err)
{
    return settle(trial, WORD_UNDO) == WORD_UNDO ||
           error_set(err, ERROR_OS, "the change could not be undone");
}

void confirmed_change_close(ConfirmedChange *trial)
{
    Error err;
    if (trial != NULL) {
        (void)!confirmed_change_undo(&trial, &err);
    }
}
