/* The etcd process of this server. It keeps running when the program that started it exits or is
 * upgraded, and the next program finds it again: etcd inherits a file lock and holds it until it
 * exits. The lock also ensures that at most one etcd runs per directory. Loop thread.
 *
 * In the directory:
 *
 *     etcd.lock    the lock; contains the PID
 *     etcd.log     its output, truncated when it becomes too large
 *     etcd.log.1   the last part of the truncated output */
#pragma once

#include "sys/cgroup.h"
#include "sys/directory.h"
#include "sys/loop.h"

typedef struct EtcdProcess EtcdProcess;

enum {
    ETCD_GRACE_MS = 15 * 1000, /* between SIGTERM and SIGKILL */
    ETCD_LOG_MAX = 8 << 20,
    ETCD_LOG_KEEP = 1 << 20,
};

typedef struct EtcdProcessOptions {
    Loop *loop;
    const Directory *directory; /* borrowed, like the strings */
    const char *program;        /* absolute path of etcd */
    bool as_user;               /* run as `uid` and `gid`; otherwise as this process */
    uid_t uid;
    gid_t gid;
    CgroupLimits limits;
    /* Called once per start, in a later loop iteration, when the process has exited. `why` is for
     * messages. */
    void (*ended)(void *context, const char *why);
    void *context;
} EtcdProcessOptions;

EtcdProcess *etcd_process_new(const EtcdProcessOptions *options);
/* The process keeps running, but is no longer monitored. NULL is allowed. */
void etcd_process_free(EtcdProcess *process);
DEFINE_AUTO(EtcdProcess, etcd_process_free)

/* Returns whether etcd is running. Also finds a process started by an earlier program, and monitors
 * it from then on. */
bool etcd_process_find(EtcdProcess *process);
/* The arguments and the environment end with NULL. Fails with ERROR_CONFLICT if the directory is
 * locked, or if the program cannot be started. */
MUST_CHECK bool etcd_process_start(EtcdProcess *process, const char *const *arguments,
                                   const char *const *environment, Error *err);
/* Sends SIGTERM, then SIGKILL after ETCD_GRACE_MS. If the process is running, `ended` is called
 * later. */
void etcd_process_stop(EtcdProcess *process);
pid_t etcd_process_pid(const EtcdProcess *process); /* 0: not running or not found */
