#include "sys/scratch_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/file_io.h"
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

static bool run_in(const char *directory, int (*function)(void *context, const char *directory),
                   void *context, int *code, Error *err)
{
    sigset_t signals = signals_ending(), before;
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &before);
    /* The next child becomes PID 1 of a new PID namespace; when it exits, all processes in it are
     * killed. Later children are created in our namespace again: fork fails in a namespace whose
     * PID 1 has exited. */
    int ours = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    pid_t child = ours >= 0 && unshare(CLONE_NEWPID) == 0 ? fork() : -1;
    int number = errno;
    if (child == 0) {
        /* Ctrl-C signals the whole process group. In its own group the child gets it once, from us,
         * and may still write to the terminal. */
        setpgid(0, 0);
        signal(SIGTTOU, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        _exit(function(context, directory));
    }
    if (ours >= 0) {
        (void)setns(ours, CLONE_NEWPID);
        close(ours);
    }
    if (child > 0) {
        *code = wait_for(child, &signals);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child > 0 || file_error(err, number, "cannot create a process");
}

bool scratch_process_run(int (*function)(void *context, const char *directory), void *context,
                         int *code, Error *err)
{
    char directory[] = "/tmp/eden-try-XXXXXX";
    if (mkdtemp(directory) == NULL) {
        return file_error(err, errno, directory);
    }
    bool ok = run_in(directory, function, context, code, err);
    (void)rmdir(directory);
    return ok;
}
