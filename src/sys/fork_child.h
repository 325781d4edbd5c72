/* A child process that continues with a function of this program, never outlives its parent, and is
 * connected with it by a stream socket. The function's return value becomes its exit code.
 *
 * The child has no file descriptors except the channel and the standard ones, and its own process
 * group, so that Ctrl-C reaches only the parent. Either process sees the end of the channel when
 * the other exits. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

typedef int ForkChildRun(void *context, int channel);

typedef struct ForkChildOptions {
    /* In separate namespaces: PID (the child is PID 1, and all processes in it exit with it),
     * mount, IPC, UTS and network. Requires root, in this or in a user namespace. */
    bool new_namespaces;
    ForkChildRun *run;
    void *context;
} ForkChildOptions;

/* The caller must have no threads, and closes the channel. */
MUST_CHECK bool fork_child_start(const ForkChildOptions *options, pid_t *process, int *channel,
                                 Error *err);
void fork_child_kill(pid_t process); /* sends SIGKILL */
/* waits until it has exited, with all processes of its PID namespace */
void fork_child_wait(pid_t process);

/* Makes this process root of a new user namespace with no other users; for a child of an
 * unprivileged user. Fails with ERROR_DENIED or ERROR_UNAVAILABLE, and a message that explains what
 * to do. */
MUST_CHECK bool fork_child_become_root(Error *err);
/* Moves this process into a new, empty network namespace. */
MUST_CHECK bool fork_child_leave_network(Error *err);
