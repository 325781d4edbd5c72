/* The child between clone() and exec. It may share its parent's memory, so it makes only raw system
 * calls and allocates nothing. Internal to this directory. */
#pragma once

#include <sys/types.h>

/* For functions of the child: a sanitizer's view of its stack would be wrong. */
#ifdef __clang__
#define NO_SANITIZE __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define NO_SANITIZE __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))
#endif

/* Calls `run` in a new process with all signals blocked. `flags` as for clone(2); CLONE_PIDFD is
 * required. Returns 0, or an errno. With CLONE_VFORK, this thread is suspended until the child has
 * called exec or exited. */
int vfork_child_start(int (*run)(void *), void *context, int flags, pid_t *pid, int *pidfd);

/* In the child: default actions for all signals, none blocked. */
void vfork_child_reset_signals(void);
