/* A process that continues when the daemon that started it exits, is killed or is replaced, and
 * that the next daemon finds again by its number. Its exit is reported through a pidfd. Loop
 * thread.
 *
 * It has a session and a process group of its own, no terminal, and its output goes to a file. It
 * leaves no core files. Where the daemon is the main process of a systemd unit, it starts in a
 * cgroup under that of the unit, so that all of its descendants can be killed, and have the limits
 * that the unit can set. */
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
    /* All of these are for detached_process_start, too. */
    const char *const *env; /* "NAME=value", ends with NULL; NULL: inherits the environment */
    bool appends;           /* to the output file, instead of truncating it */
    bool as_user;           /* as this user without capabilities, with the group as its only one */
    uid_t uid;
    gid_t gid;
    /* A lock that the process keeps until it ends; its number is written into the file, so that the
     * next daemon finds it there: while the lock is held, it is that of its holder. NULL: none */
    const FileLock *lock;
    /* Called once, in a later iteration; the process may be released in it. */
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
/* Stops following it; the process continues. NULL is fine. */
void detached_process_release(DetachedProcess *process);
DEFINE_AUTO(DetachedProcess, detached_process_release)

/* Removes cgroups of processes that have ended, if nothing that they have started is left in them
 * either. `is_left` is asked for each name. */
void detached_process_sweep(bool (*is_left)(void *context, Str name), void *context);

pid_t detached_process_pid(const DetachedProcess *process);
/* SIGINT to the process, which passes it on as it sees fit; with `again` also SIGTERM. */
void detached_process_interrupt(const DetachedProcess *process, bool again);
/* SIGKILL to its process group, and to all of its cgroup if it has one. */
void detached_process_kill(const DetachedProcess *process);
