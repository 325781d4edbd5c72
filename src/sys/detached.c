#include "sys/detached.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/child.h"
#include "sys/file_io.h"

static int spawn(const char *const *argv, pid_t *pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int number =
        posix_spawn(pid, CHILD_SAME_PROGRAM, &actions, &attributes, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return number;
}

bool detached_run(const char *const *argv, int64_t wait_ms, bool *ended, Error *err)
{
    pid_t pid;
    signal(SIGCHLD, SIG_DFL);
    int number = spawn(argv, &pid);
    if (number != 0) {
        return file_error(err, number, CHILD_SAME_PROGRAM);
    }
    int descriptor = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd wait = { .fd = descriptor, .events = POLLIN };
    *ended = descriptor >= 0 && poll(&wait, 1, (int)wait_ms) == 1;
    if (descriptor >= 0) {
        close(descriptor);
    }
    if (*ended) {
        waitpid(pid, NULL, 0);
    }
    return true;
}
