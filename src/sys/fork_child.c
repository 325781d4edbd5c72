#include "sys/fork_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/file_io.h"

static void close_all_but(int kept)
{
    if (kept > STDERR_FILENO + 1) {
        close_range(STDERR_FILENO + 1, (unsigned)kept - 1, 0);
    }
    close_range((unsigned)kept + 1, ~0U, 0);
}

/* Processes that may signal this one may also enter its namespaces, and changing credentials must
 * not clear the parent-death signal. */
static void bind_to_parent(void)
{
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

_Noreturn static void run(const ForkChildOptions *options, int channel)
{
    sigset_t none;
    sigemptyset(&none);
    close_all_but(channel);
    bind_to_parent();
    struct pollfd parent = { .fd = channel, .events = 0 };
    if (poll(&parent, 1, 0) != 0) {
        _exit(1); /* the parent exited before the signal was set up */
    }
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN);
    sigprocmask(SIG_SETMASK, &none, NULL);
    _exit(options->run(options->context, channel));
}

bool fork_child_start(const ForkChildOptions *options, pid_t *process, int *channel, Error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return file_error(err, errno, "a socket");
    }
    unsigned long spaces = options->new_namespaces ? CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC |
                                                         CLONE_NEWUTS | CLONE_NEWNET
                                                   : 0;
    /* Like fork, which cannot create namespaces. unshare(CLONE_NEWPID) would not do: a process can
     * do that only once unless it can return to its old namespace. */
    pid_t child = (pid_t)syscall(SYS_clone, spaces | SIGCHLD, NULL, NULL, NULL, NULL);
    int number = errno;
    if (child == 0) {
        run(options, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return file_error(err, number, "cannot create a process");
    }
    *process = child;
    *channel = ends[0];
    return true;
}

void fork_child_wait(pid_t process)
{
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {
    }
}

void fork_child_kill(pid_t process)
{
    kill(process, SIGKILL);
}

/* --- Namespaces ------------------------------------------------------------------------------ */

static bool write_text(const char *path, const char *text, Error *err)
{
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = descriptor >= 0 && write(descriptor, text, strlen(text)) == (ssize_t)strlen(text);
    int number = errno;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return ok || file_error(err, number, path);
}

static bool setting_is(const char *path, char wanted)
{
    char found = '\0';
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)!read(descriptor, &found, 1);
        close(descriptor);
    }
    return found == wanted;
}

/* Checks the settings that forbid user namespaces: one of Debian's kernels, one of Ubuntu's, and
 * the mainline kernel's. */
static bool report_errno(int number, Error *err)
{
    static const char instead[] = "run it as root, or allow unprivileged user namespaces";
    if (setting_is("/proc/sys/kernel/unprivileged_userns_clone", '0')) {
        return error_set(err, ERROR_DENIED, "%s: 'sysctl kernel.unprivileged_userns_clone=1'",
                         instead);
    }
    if (setting_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1')) {
        return error_set(err, ERROR_DENIED,
                         "%s: 'sysctl kernel.apparmor_restrict_unprivileged_userns=0'", instead);
    }
    if (setting_is("/proc/sys/user/max_user_namespaces", '0')) {
        return error_set(err, ERROR_DENIED, "%s: 'sysctl user.max_user_namespaces=10000'", instead);
    }
    return error_set(
        err, number == EPERM ? ERROR_DENIED : ERROR_UNAVAILABLE,
        "cannot create a user namespace (%s): run it as root, or outside of this container",
        strerror(number));
}

bool fork_child_become_root(Error *err)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "0 %u 1\n", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1\n", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER) != 0) {
        return report_errno(errno, err);
    }
    Error denied;
    bool ok = write_text("/proc/self/setgroups", "deny", &denied) &&
              write_text("/proc/self/uid_map", users, &denied) &&
              write_text("/proc/self/gid_map", groups, &denied);
    bind_to_parent();
    return ok || report_errno(EPERM, err);
}

bool fork_child_leave_network(Error *err)
{
    return unshare(CLONE_NEWNET) == 0 ||
           file_error(err, errno,
                      "cannot create a network namespace (run it as root, outside of containers)");
}
