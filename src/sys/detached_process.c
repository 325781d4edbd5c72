#include "sys/detached_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "sys/child.h"
#include "sys/file_io.h"
#include "sys/own_unit.h"
#include "sys/vfork_child.h"

struct DetachedProcess {
    DetachedProcessOptions options;
    pid_t pid;
    int descriptor; /* its pidfd */
    bool is_child;
    bool has_ended;
    Arena arena;
    const char *group; /* path of its cgroup; NULL: none */
    uv_poll_t poll;
};

/* --- Cgroups ---------------------------------------------------------------------------------- */

/* Only below a systemd unit with Delegate=: other cgroups are not ours to subdivide. */
static void find_group(DetachedProcess *process)
{
    Error err;
    if (process->options.name != NULL && own_unit_is_main_process() &&
        !cgroup_unit_path(&process->arena, process->options.name, &process->group, &err)) {
        process->group = NULL;
    }
}

void detached_process_sweep(bool (*is_left)(void *context, Str name), void *context)
{
    AUTO_CLEAR(Arena) arena;
    const char *path;
    Error none;
    arena_init(&arena, ARENA_UNLIMITED);
    if (own_unit_is_main_process() && cgroup_unit_path(&arena, "", &path, &none)) {
        cgroup_sweep(path, is_left, context);
    }
}

/* Returns a descriptor for cgroup_enter; -1: the process stays in the cgroup of its parent. */
static int make_group(DetachedProcess *process)
{
    Error err;
    int group = -1;
    find_group(process);
    if (process->group == NULL) {
        return -1;
    }
    (void)!cgroup_make(process->group, &err); /* it may already exist */
    if (!cgroup_limit(process->group, &process->options.limits, &err)) {
        log_debug("the process has no limits", LOG_C("why", err.text));
    }
    if (!cgroup_open(&process->arena, process->group, &group, &err)) {
        log_debug("the process stays in the cgroup of its parent", LOG_C("why", err.text));
        process->group = NULL;
        return -1;
    }
    return group;
}

/* --- Starting --------------------------------------------------------------------------------- */

static bool is_for_daemon(const char *variable)
{
    static const char *const names[] = { "NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=",
                                         "LISTEN_FDS=",    "LISTEN_PID=",    "SYSTEMD_EXEC_PID=" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

static char **environment(Arena *arena)
{
    size_t count = 0, kept = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **result = ARENA_ARRAY(arena, char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (!is_for_daemon(environ[i])) {
            result[kept++] = environ[i];
        }
    }
    result[kept] = NULL;
    return result;
}

static const char *program_of(const DetachedProcess *process)
{
    const char *program = process->options.program;
    return program == NULL ? CHILD_SAME_PROGRAM : program;
}

/* Prepared by the parent; `failure` is set by the child. */
typedef struct Launch {
    const char *program;
    const char *input, *output;
    char *const *argv;
    char *const *environment;
    int group; /* -1: none */
    int flags; /* to open the input */
    int output_flags;
    bool as_user;
    uid_t uid;
    gid_t gid;
    int lock; /* -1: none */
    int failure;
} Launch;

/* A core dump would contain the secrets of a site. Programs started by the process may raise the
 * limit again. */
NO_SANITIZE static void disable_core_dumps(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = 0;
        (void)setrlimit(RLIMIT_CORE, &limit);
    }
}

/* The lock belongs to the open file, which stays open. */
NO_SANITIZE static bool keep_lock(int lock)
{
    char digits[24];
    size_t at = sizeof digits;
    for (pid_t left = getpid(); left > 0; left /= 10) {
        digits[--at] = (char)('0' + left % 10);
    }
    return ftruncate(lock, 0) == 0 &&
           pwrite(lock, digits + at, sizeof digits - at, 0) == (ssize_t)(sizeof digits - at) &&
           fcntl(lock, F_SETFD, 0) == 0;
}

/* The functions of libc would also change the threads of the parent. */
NO_SANITIZE static bool become_user(const Launch *child)
{
    gid_t group = child->gid;
    uid_t user = child->uid;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           (geteuid() == user || (syscall(SYS_setgroups, 1, &group) == 0 &&
                                  syscall(SYS_setresgid, group, group, group) == 0 &&
                                  syscall(SYS_setresuid, user, user, user) == 0));
}

/* In the child. It is in its cgroup before it can start processes of its own. */
NO_SANITIZE static int launch(void *context)
{
    Launch *child = context;
    vfork_child_reset_signals();
    disable_core_dumps();
    if (child->group >= 0) {
        (void)!write(child->group, "0", 1);
    }
    setsid();
    int input = open(child->input, child->flags);
    int output = input < 0 ? -1 : open(child->output, child->output_flags, 0600);
    if (output >= 0 && (child->lock < 0 || keep_lock(child->lock)) &&
        (!child->as_user || become_user(child)) && dup2(input, STDIN_FILENO) >= 0 &&
        dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0) {
        execve(child->program, child->argv, child->environment);
    }
    child->failure = errno;
    _exit(127);
}

static int spawn(DetachedProcess *process, const char *const *argv, const char *output)
{
    const DetachedProcessOptions *options = &process->options;
    const char *input = options->input;
    Launch child = {
        .program = program_of(process),
        .input = input == NULL ? "/dev/null" : input,
        .output = output,
        /* A pipe is opened for reading and writing, so that it stays open when the daemon exits. */
        .flags = input == NULL ? O_RDONLY | O_CLOEXEC : O_RDWR | O_NONBLOCK | O_CLOEXEC,
        .argv = (char *const *)argv,
        .environment =
            options->env == NULL ? environment(&process->arena) : (char *const *)options->env,
        .output_flags =
            O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (options->appends ? 0 : O_TRUNC),
        .as_user = options->as_user,
        .uid = options->uid,
        .gid = options->gid,
        .lock = options->lock == NULL ? -1 : options->lock->descriptor,
        .group = make_group(process)
    };
    int number = vfork_child_start(launch, &child, CLONE_VM | CLONE_VFORK | CLONE_PIDFD,
                                   &process->pid, &process->descriptor);
    if (number == 0 && child.failure != 0) {
        number = child.failure;
        close(process->descriptor);
        (void)waitpid(process->pid, NULL, 0);
    }
    if (child.group >= 0) {
        close(child.group);
    }
    return number;
}

/* --- Following -------------------------------------------------------------------------------- */

static DetachedProcessExit report_exit(const DetachedProcess *process)
{
    int status = 0;
    DetachedProcessExit end = {
        .has_status = process->is_child && waitpid(process->pid, &status, WNOHANG) == process->pid
    };
    if (end.has_status) {
        end.by_signal = WIFSIGNALED(status);
        end.status = end.by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    return end;
}

/* A process that a step has left running, such as a daemon that was started without systemd, keeps
 * the cgroup: detached_process_sweep() removes it later. */
static void readable(uv_poll_t *poll, int status, int events)
{
    DetachedProcess *process = poll->data;
    process->has_ended = true;
    uv_poll_stop(poll);
    if (process->group != NULL) {
        (void)rmdir(process->group);
    }
    process->options.ended(process->options.context, report_exit(process));
}

static void follow(DetachedProcess *process)
{
    int result = uv_poll_init(loop_uv(process->options.loop), &process->poll, process->descriptor);
    BUG_IF(result != 0);
    process->poll.data = process;
    result = uv_poll_start(&process->poll, UV_READABLE, readable);
    BUG_IF(result != 0);
}

static DetachedProcess *detached_process_new(const DetachedProcessOptions *options)
{
    DetachedProcess *process = memory_new(sizeof *process);
    process->options = *options;
    arena_init(&process->arena, ARENA_UNLIMITED);
    return process;
}

static bool discard(DetachedProcess *process)
{
    arena_clear(&process->arena);
    free(process);
    return false;
}

bool detached_process_start(const DetachedProcessOptions *options, const char *const *argv,
                            const char *output, DetachedProcess **out, Error *err)
{
    DetachedProcess *process = detached_process_new(options);
    process->is_child = true;
    signal(SIGCHLD, SIG_DFL); /* if SIGCHLD were ignored, the exit status would be lost */
    int number = spawn(process, argv, output);
    if (number != 0) {
        file_error(err, number, program_of(process));
        return discard(process);
    }
    follow(process);
    *out = process;
    return true;
}

bool detached_process_find(const DetachedProcessOptions *options, pid_t pid, DetachedProcess **out,
                           Error *err)
{
    DetachedProcess *process = detached_process_new(options);
    process->pid = pid;
    process->descriptor = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process->descriptor < 0) {
        error_set(err, ERROR_NOT_FOUND, "process %d does not exist", (int)pid);
        return discard(process);
    }
    find_group(process);
    follow(process);
    *out = process;
    return true;
}

static void closed(uv_handle_t *handle)
{
    DetachedProcess *process = handle->data;
    close(process->descriptor);
    (void)discard(process);
}

void detached_process_release(DetachedProcess *process)
{
    if (process != NULL) {
        uv_close((uv_handle_t *)&process->poll, closed);
    }
}

pid_t detached_process_pid(const DetachedProcess *process)
{
    return process->pid;
}

/* Two different signals, because equal pending signals are merged. */
void detached_process_interrupt(const DetachedProcess *process, bool again)
{
    if (!process->has_ended) {
        (void)syscall(SYS_pidfd_send_signal, process->descriptor, SIGINT, NULL, 0);
    }
    if (again && !process->has_ended) {
        (void)syscall(SYS_pidfd_send_signal, process->descriptor, SIGTERM, NULL, 0);
    }
}

/* The process group has the PID of the process, which is not reused until its exit was reported. */
void detached_process_kill(const DetachedProcess *process)
{
    if (process->has_ended) {
        return;
    }
    if (process->group != NULL) {
        cgroup_kill(process->group);
    }
    (void)kill(-process->pid, SIGKILL);
    (void)syscall(SYS_pidfd_send_signal, process->descriptor, SIGKILL, NULL, 0);
}
