/* A process that continues when the daemon that started it exits, is killed or is replaced, and
 * that the next daemon can find again by its PID. Its exit is reported through a pidfd. Loop
 * thread.
 *
 * It has a session and a process group of its own, no terminal, and its output goes to a file. It
 * leaves no core files. If the daemon is the main process of a systemd unit, the process starts in
 * its own cgroup below that of the unit, so that all of its descendants can be killed and
 * limited. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/own.h"
#include "sys/cgroup.h"
#include "sys/file_lock.h"
#include "sys/loop.h"

typedef struct DetachedProcess DetachedProcess;

typedef struct DetachedProcessExit {
    bool has_status; /* otherwise it was not a child of this process */
    bool by_signal;
    int status; /* exit code or signal number */
} DetachedProcessExit;

typedef struct DetachedProcessOptions {
    Loop *loop;
    const char *program; /* a path; NULL: that of this process */
    const char *name;    /* of its cgroup; NULL: none */
    const char *input;   /* a named pipe (sys/fifo.h) as standard input; NULL: none */
    CgroupLimits limits; /* of that cgroup; for detached_process_start */
    /* The options up to `lock` are also used only by detached_process_start. */
    const char *const *env; /* "NAME=value", ends with NULL; NULL: inherits the environment */
    bool appends;           /* appends to the output file instead of truncating it */
    bool as_user;           /* runs as `uid` without capabilities, with `gid` as its only group */
    uid_t uid;
    gid_t gid;
    /* A lock that the process holds until it exits. Its PID is written into the lock file, so that
     * the next daemon finds it there; it is valid while the lock is held. NULL: none */
    const FileLock *lock;
    /* Called once, in a later iteration of the loop. May release the process. */
    void (*ended)(void *context, DetachedProcessExit end);
    void *context;
} DetachedProcessOptions;

/* Starts the program. `argv` ends with NULL; `output` is the path of a file that is created (0600),
 * and truncated unless the options say otherwise. Fails with ERROR_OS and the like. */
MUST_CHECK bool detached_process_start(const DetachedProcessOptions *options,
                                       const char *const *argv, const char *output,
                                       DetachedProcess **out, Error *err);
/* Follows a running process that an earlier daemon started. Fails with ERROR_NOT_FOUND if there is
 * no such process. */
MUST_CHECK bool detached_process_find(const DetachedProcessOptions *options, pid_t pid,
                                      DetachedProcess **out, Error *err);
/* Stops following it; the process continues. NULL is allowed. */
void detached_process_release(DetachedProcess *process);
DEFINE_AUTO(DetachedProcess, detached_process_release)

/* Removes the cgroups of processes that have exited, unless any of their descendants are still
 * running. `is_left` selects the cgroups by name. */
void detached_process_sweep(bool (*is_left)(void *context, Str name), void *context);

pid_t detached_process_pid(const DetachedProcess *process);
/* Sends SIGINT to the process, which handles it as it sees fit; with `again` also SIGTERM. */
void detached_process_interrupt(const DetachedProcess *process, bool again);
/* Sends SIGKILL to its process group, and to its entire cgroup if it has one. */
void detached_process_kill(const DetachedProcess *process);
