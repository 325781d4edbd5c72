#include "sys/container.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/container_init.h"
#include "sys/file_io.h"
#include "sys/kernel_guard.h"
#include "sys/link.h"

enum {
    NOTIFICATION_MAX = 1024,
    REFRESH_MS = 1000 /* maximum age of the machine's files as seen inside */
};

#define NOTIFY_NAME "@eden-container"

/* --- Setup ----------------------------------------------------------------------------------- */

bool container_open_log(const char *path, int *descriptor, Error *err)
{
    *descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return *descriptor >= 0 || file_error(err, errno, path);
}

bool container_write_file(const char *path, Str text, Error *err)
{
    (void)unlink(path);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    bool ok = descriptor >= 0 && write(descriptor, text.data, text.len) == (ssize_t)text.len;
    int number = errno;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return ok || file_error(err, number, path);
}

bool container_enter(Arena *arena, const ContainerSettings *settings, Overlay **out, Error *err)
{
    OverlaySettings overlay = { .directory = settings->directory,
                                .has_namespaces = true,
                                .binds = settings->binds,
                                .bind_count = settings->bind_count };
    if (!link_add_address(settings->link, settings->address, settings->prefix, err) ||
        !link_set_up(settings->link, err)) {
        return false;
    }
    if (sethostname(settings->name, strlen(settings->name)) != 0) {
        return file_error(err, errno, "cannot set the host name");
    }
    if (!overlay_enter(arena, &overlay, out, err)) {
        return false;
    }
    container_open_settings();
    return container_write_file("/etc/hostname", arena_format(arena, "%s\n", settings->name),
                                err) &&
           container_write_file("/etc/hosts", settings->hosts, err) &&
           container_write_file(
               "/etc/machine-id",
               arena_format(arena, "%" STR_FMT "\n", STR_ARG(settings->machine_id)), err);
}

/* --- The init process ------------------------------------------------------------------------ */

bool container_open_notify_socket(const char *name, int *descriptor, Error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    address.sun_path[0] = '\0';
    *descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*descriptor >= 0 && bind(*descriptor, (struct sockaddr *)&address, len) == 0) {
        return true;
    }
    file_error(err, errno, name);
    if (*descriptor >= 0) {
        close(*descriptor);
    }
    *descriptor = -1;
    return false;
}

/* The caller's environment does not apply inside. */
static int start(const ContainerDaemon *daemon, pid_t *process)
{
    static const char *const environment[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
        "NOTIFY_SOCKET=" NOTIFY_NAME, NULL
    };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, daemon->log, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, daemon->log, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    posix_spawnattr_setsigmask(&attributes, &none);
    int number = posix_spawn(process, daemon->program, &actions, &attributes,
                             (char *const *)daemon->argv, (char *const *)environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return number;
}

/* The channel expects one line per message. */
static void forward_notifications(int notifications, int channel)
{
    char notification[NOTIFICATION_MAX + 1];
    for (ssize_t len; (len = recv(notifications, notification, NOTIFICATION_MAX, 0)) > 0;) {
        for (ssize_t i = 0; i < len; i++) {
            notification[i] = notification[i] == '\n' ? ' ' : notification[i];
        }
        notification[len] = '\n';
        (void)!send(channel, notification, (size_t)len + 1, MSG_NOSIGNAL);
    }
}

/* Also reaps orphans, whose parent is now PID 1. */
static bool reap(pid_t awaited, int *code)
{
    int status;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (ended == awaited) {
            *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            return true;
        }
    }
    return false;
}

int container_supervise(const ContainerDaemon *daemon, int channel)
{
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    int ends = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK), notifications, code = 1;
    pid_t process;
    Error err;
    if (ends < 0 || !container_open_notify_socket(NOTIFY_NAME, &notifications, &err) ||
        start(daemon, &process) != 0) {
        return 1;
    }
    struct pollfd polled[] = { { .fd = notifications, .events = POLLIN },
                               { .fd = ends, .events = POLLIN },
                               { .fd = channel, .events = 0 } };
    for (;;) {
        struct signalfd_siginfo info;
        if (poll(polled, COUNT_OF(polled), REFRESH_MS) == 0) {
            overlay_refresh(daemon->overlay);
        }
        (void)!read(ends, &info, sizeof info);
        forward_notifications(notifications, channel);
        if (reap(process, &code) || polled[2].revents != 0) {
            return code;
        }
    }
}

/* --- Running programs inside ----------------------------------------------------------------- */

static int open_proc(pid_t process, const char *name, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)process, name);
    return open(path, flags | O_CLOEXEC);
}

/* The root of the node differs from that of its mount namespace if it was created by a process in a
 * chroot. */
static bool enter(pid_t process, Error *err)
{
    char *here = getcwd(NULL, 0);
    int descriptor = (int)syscall(SYS_pidfd_open, process, 0);
    int root = open_proc(process, "root", O_PATH | O_DIRECTORY);
    /* the PID namespace of its systemd */
    int processes = open_proc(process, "ns/pid_for_children", O_RDONLY);
    int spaces = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET |
                 (geteuid() == 0 ? 0 : CLONE_NEWUSER);
    bool entered = descriptor >= 0 && root >= 0 && processes >= 0 &&
                   setns(descriptor, spaces) == 0 && setns(processes, CLONE_NEWPID) == 0 &&
                   fchdir(root) == 0 && chroot(".") == 0;
    int number = errno;
    const int opened[] = { descriptor, root, processes };
    for (size_t i = 0; i < COUNT_OF(opened); i++) {
        if (opened[i] >= 0) {
            close(opened[i]);
        }
    }
    if (entered && here != NULL) {
        (void)!chdir(here);
    }
    free(here);
    return entered ? kernel_guard_raise(false, err)
                   : file_error(err, number, "cannot enter the namespaces of the node");
}

static int wait_code(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

_Noreturn static void give_up(const Error *err, int report)
{
    (void)!write(report, err, sizeof *err);
    _exit(1);
}

/* Resets signals as for a new program. */
_Noreturn static void become_program(const char *const *argv, const char *const *env, int report)
{
    static const int numbers[] = { SIGINT, SIGQUIT, SIGPIPE };
    Error err;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        signal(numbers[i], SIG_DFL);
    }
    overlay_refresh(NULL); /* /proc lists the processes of the node, which include only this one */
    execvpe(argv[0], (char *const *)argv, (char *const *)env);
    file_error(&err, errno, argv[0]);
    give_up(&err, report);
}

/* A PID namespace applies only to children, so an intermediate process is needed. It exits without
 * cleanup, because leak checkers do not expect such a process. */
_Noreturn static void run_inside(pid_t process, const char *const *argv, const char *const *env,
                                 int report)
{
    Error err;
    if (!enter(process, &err)) {
        give_up(&err, report);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    pid_t child = fork();
    if (child == 0) {
        become_program(argv, env, report);
    }
    if (child < 0) {
        file_error(&err, errno, "cannot create a process in the node");
        give_up(&err, report);
    }
    close(report);
    _exit(wait_code(child));
}

bool container_run(pid_t process, const char *const *argv, const char *const *env, int *code,
                   Error *err)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        return file_error(err, errno, "a pipe");
    }
    /* Signals from the terminal are for the program. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    pid_t child = fork();
    if (child == 0) {
        run_inside(process, argv, env, report[1]);
    }
    int number = errno;
    close(report[1]);
    bool ok = child > 0 && read(report[0], err, sizeof *err) != sizeof *err;
    close(report[0]);
    if (child < 0) {
        return file_error(err, number, "a process");
    }
    *code = wait_code(child);
    return ok;
}
