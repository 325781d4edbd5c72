#include "sys/throwaway.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/file_error.h"
#include "sys/signals.h"

static int wait_for(pid_t child, const sigset_t *signals)
{
    for (;;) {
        int status;
        int number = sigwaitinfo(signals, NULL);
        if (number > 0 && number != SIGCHLD) {
            kill(child, number);
        } else if (waitpid(child, &status, WNOHANG) == child) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
}

static bool run_in(const char *folder, int (*function)(void *context, const char *folder),
                   void *context, int *code, Error *err)
{
    sigset_t signals = signals_ending(), before;
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &before);
    /* The next child is the first process of a space of its own; when that one ends, so do all.
     * Those after it are ours again: nobody can be born into a space whose first has ended. */
    int ours = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    pid_t child = ours >= 0 && unshare(CLONE_NEWPID) == 0 ? fork() : -1;
    int number = errno;
    if (child == 0) {
        /* Ctrl-C is for the whole group of processes. In one of its own the child hears of it once,
         * from us; and may go on writing to the terminal. */
        setpgid(0, 0);
        signal(SIGTTOU, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        _exit(function(context, folder));
    }
    if (ours >= 0) {
        (void)setns(ours, CLONE_NEWPID);
        close(ours);
    }
    if (child > 0) {
        *code = wait_for(child, &signals);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child > 0 || file_error(err, number, "a process of its own");
}

bool throwaway_run(int (*function)(void *context, const char *folder), void *context, int *code,
                   Error *err)
{
    char folder[] = "/tmp/eden-try-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        return file_error(err, errno, folder);
    }
    bool ok = run_in(folder, function, context, code, err);
    (void)rmdir(folder);
    return ok;
}
