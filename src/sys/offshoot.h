/* A process that goes on with a function of this program, and never outlives the one that started
 * it, which is connected with it by a stream socket. What it answers is its exit code.
 *
 * It has no other descriptors than the channel and the standard ones, and a process group of its own,
 * so that Ctrl-C is for its parent alone. The end of either is the end of the channel. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

typedef int OffshootRun(void *context, int channel);

typedef struct OffshootOptions {
    /* In namespaces of its own: processes, of which it is the first and all of which end with it,
     * mounts, IPC, host name and network. Takes the rights of root, or of a user namespace. */
    bool is_apart;
    OffshootRun *run;
    void *context;
} OffshootOptions;

/* The caller must have no threads. The channel is the caller's to close. */
MUST_CHECK bool offshoot_start(const OffshootOptions *options, pid_t *process, int *channel,
                               Error *err);
void offshoot_end(pid_t process);  /* at once */
void offshoot_wait(pid_t process); /* until it has ended, with all that is apart with it */

/* Makes this process root of a user namespace of its own, in which there is nobody else; for an
 * offshoot of a user without the rights of root. Fails with ERROR_DENIED or ERROR_UNAVAILABLE, and
 * what to do about it. */
MUST_CHECK bool offshoot_become_root(Error *err);
/* A network of its own, with nothing in it. */
MUST_CHECK bool offshoot_leave_network(Error *err);
