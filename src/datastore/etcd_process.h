/* The etcd process of this server. It continues when the program that started it ends or is
 * replaced, and the next one finds it again: etcd itself holds a lock in the directory for as long
 * as it runs. So there are never two for one directory. Loop thread.
 *
 * In the directory:
 *
 *     etcd.lock    the lock; contains the process id
 *     etcd.log     its output, truncated when it gets too long
 *     etcd.log.1   the last part of what was removed from it */
#pragma once

#include "sys/cgroup.h"
#include "sys/directory.h"
#include "sys/loop.h"

typedef struct EtcdProcess EtcdProcess;

enum {
    ETCD_GRACE_MS = 15 * 1000, /* to stop gracefully before it is killed */
    ETCD_LOG_MAX = 8 << 20,
    ETCD_LOG_KEEP = 1 << 20,
};

typedef struct EtcdProcessOptions {
    Loop *loop;
    const Directory *directory; /* borrowed, like the strings */
    const char *program;        /* a path */
    bool as_user;               /* otherwise as this process */
    uid_t uid;
    gid_t gid;
    CgroupLimits limits;
    /* It has ended; called once for each start, in a later iteration. `why` is for messages. */
    void (*ended)(void *context, const char *why);
    void *context;
} EtcdProcessOptions;

EtcdProcess *etcd_process_new(const EtcdProcessOptions *options);
/* Stops following it; the process continues. NULL is allowed. */
void etcd_process_free(EtcdProcess *process);
DEFINE_AUTO(EtcdProcess, etcd_process_free)

/* Whether it is running; follows one that was started by an earlier process. */
bool etcd_process_find(EtcdProcess *process);
/* The arguments and the environment end with NULL. Fails with ERROR_CONFLICT if the directory is
 * locked, and with the errors of starting a program. */
MUST_CHECK bool etcd_process_start(EtcdProcess *process, const char *const *arguments,
                                   const char *const *environment, Error *err);
/* Asks it to end, and kills it if it does not. `ended` follows if it is running. */
void etcd_process_stop(EtcdProcess *process);
pid_t etcd_process_pid(const EtcdProcess *process); /* 0: not running, or not found */
