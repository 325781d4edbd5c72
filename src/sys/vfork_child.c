#include "sys/vfork_child.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    STACK_SIZE = 64 << 10
};

#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer treats clone() as fork() regardless of its flags: in a child that shares our
 * memory it would forget our other threads and their mutexes and report false races. It does not
 * intercept the function under this name. */
int __clone(int (*function)(void *), void *stack, int flags, void *context, ...);
#define CLONE __clone
#else
#define CLONE clone
#endif

/* Signals are blocked until the child has reset them: a handler must not run in the child, on the
 * parent's memory. */
int vfork_child_start(int (*run)(void *), void *context, int flags, pid_t *pid, int *pidfd)
{
    char stack[STACK_SIZE] __attribute__((aligned(16)));
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *pid = CLONE(run, stack + sizeof stack, flags | SIGCHLD, context, pidfd);
    int number = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return *pid < 0 ? number : 0;
}

/* Handlers do not survive exec, but ignored signals would stay ignored. Uses the system call
 * because glibc refuses to touch the two signals it reserves for threads, which may have been
 * ignored when this process was started. */
NO_SANITIZE void vfork_child_reset_signals(void)
{
    struct {
        unsigned long handler, flags, restorer, mask;
    } standard = { 0 };
    for (int number = 1; number < NSIG; number++) {
        syscall(SYS_rt_sigaction, number, &standard, NULL, _NSIG / 8);
    }
    sigset_t none;
    sigemptyset(&none);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, _NSIG / 8);
}
