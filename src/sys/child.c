#include "sys/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/str.h"
#include "sys/file_io.h"

struct Child {
    ChildOptions options;
    pid_t pid;
    int descriptor; /* its pidfd */
    bool has_ended;
    uv_poll_t poll;
};

/* Variables that are only for the parent. */
static bool is_inherited(const char *variable)
{
    static const char *const kept_back[] = { "NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=",
                                             "LISTEN_FDS=", "LISTEN_PID=" };
    for (size_t i = 0; i < COUNT_OF(kept_back); i++) {
        if (strncmp(variable, kept_back[i], strlen(kept_back[i])) == 0) {
            return false;
        }
    }
    return true;
}

static char **inherited(void)
{
    size_t count = 0, kept = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **result = calloc(count + 1, sizeof *result);
    if (result == NULL) {
        memory_exhausted(count * sizeof *result);
    }
    for (size_t i = 0; i < count; i++) {
        if (is_inherited(environ[i])) {
            result[kept++] = environ[i];
        }
    }
    return result;
}

/* Default signal dispositions, whatever the parent has set. */
static void set_attributes(posix_spawnattr_t *attributes, bool is_foreground)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setflags(attributes, (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                 (is_foreground ? 0 : POSIX_SPAWN_SETPGROUP)));
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setpgroup(attributes, 0);
}

static int spawn(const ChildOptions *options, pid_t *pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    char **environment = inherited();
    char *const *given = options->env == NULL ? environment : (char *const *)options->env;
    set_attributes(&attributes, options->is_foreground);
    posix_spawn_file_actions_init(&actions);
    if (!options->is_foreground) {
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    int number = (options->is_foreground ? posix_spawnp : posix_spawn)(
        pid, options->program, &actions, &attributes, (char *const *)options->argv, given);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(environment);
    return number;
}

static ChildExit end_of(int status)
{
    return WIFSIGNALED(status) ? (ChildExit){ true, WTERMSIG(status) }
                               : (ChildExit){ false, WEXITSTATUS(status) };
}

static void readable(uv_poll_t *poll, int status, int events)
{
    Child *child = poll->data;
    int how = 0;
    if (waitpid(child->pid, &how, WNOHANG) != child->pid) {
        return;
    }
    child->has_ended = true;
    uv_poll_stop(poll);
    child->options.ended(child->options.context, end_of(how));
}

bool child_start(const ChildOptions *options, Child **out, Error *err)
{
    pid_t pid;
    /* If SIGCHLD was ignored, the parent would never learn the exit status. */
    signal(SIGCHLD, SIG_DFL);
    int number = spawn(options, &pid);
    if (number != 0) {
        return file_error(err, number, options->program);
    }
    int descriptor = (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by default */
    if (descriptor < 0) {
        number = errno;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return file_error(err, number, "pidfd_open");
    }
    Child *child = memory_new(sizeof *child);
    child->options = *options;
    child->pid = pid;
    child->descriptor = descriptor;
    int result = uv_poll_init(loop_uv(options->loop), &child->poll, descriptor);
    BUG_IF(result != 0);
    child->poll.data = child;
    result = uv_poll_start(&child->poll, UV_READABLE, readable);
    BUG_IF(result != 0);
    *out = child;
    return true;
}

static void closed(uv_handle_t *handle)
{
    Child *child = handle->data;
    close(child->descriptor);
    free(child);
}

void child_free(Child *child)
{
    if (child == NULL) {
        return;
    }
    if (!child->has_ended) {
        child_kill(child);
        waitpid(child->pid, NULL, 0);
        child->has_ended = true;
    }
    uv_close((uv_handle_t *)&child->poll, closed);
}

pid_t child_pid(const Child *child)
{
    return child->pid;
}

static void send_signal(const Child *child, int number)
{
    if (!child->has_ended) {
        (void)syscall(SYS_pidfd_send_signal, child->descriptor, number, NULL, 0);
    }
}

void child_terminate(const Child *child)
{
    send_signal(child, SIGTERM);
}

void child_kill(const Child *child)
{
    send_signal(child, SIGKILL);
}
