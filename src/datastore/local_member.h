/* The member of the datastore on this server: prepares its data directory, starts etcd when this
 * server was made a member, restarts it when it ends, and moves the data of a removed member away.
 * What to do is decided by start_plan(). Loop thread.
 *
 *     checking -> waiting -> checking ...
 *        |
 *        v
 *     running -> checking ...        stopping -> stopped
 *
 * In its directory, besides the files of etcd_process.h and certificate.h:
 *
 *     member.json     the marker
 *     data/           of etcd
 *     removed/        the data of the last member that was removed */
#pragma once

#include "datastore/start_plan.h"
#include "etcd/client.h"
#include "sys/cgroup.h"

typedef struct LocalMember LocalMember;

enum {
    LOCAL_RETRY_MS = 2000,        /* between attempts to start, at least */
    LOCAL_REFUSED_MS = 60 * 1000, /* after etcd was not started because of its data */
    LOCAL_POLL_MS = 1000,         /* until a new member responds */
    LOCAL_STABLE_MS = 60 * 1000,  /* after which earlier failures no longer count */
};

typedef enum LocalState {
    LOCAL_CHECKING,
    LOCAL_WAITING, /* etcd is not started, for the reason in `why` */
    LOCAL_RUNNING,
    LOCAL_STOPPING,
    LOCAL_STOPPED,
} LocalState;

typedef struct LocalMemberOptions {
    Loop *loop;
    /* Path of its directory, which contains the certificate; borrowed, like the others. */
    const char *path;
    const char *program; /* etcd: a path */
    Str node;
    Address client, peer; /* IP addresses to listen on */
    bool creates;         /* it is the first member of a new cluster */
    const char *token;    /* the name of the cluster of nodes */
    TlsContext *tls;      /* of a client of the datastore, for "h2" */
    bool as_user;         /* etcd runs as this user */
    uid_t uid;
    gid_t gid;
    CgroupLimits limits;
    int64_t quota_bytes;                /* 0: ETCD_QUOTA_BYTES */
    uint32_t heartbeat_ms, election_ms; /* 0: etcd's defaults */
    int64_t retry_ms;                   /* 0: LOCAL_RETRY_MS */
    /* Fills in where other members may listen for clients, at most ETCD_ENDPOINTS_MAX, and returns
     * their number. */
    uint32_t (*endpoints)(void *context, Address *out);
    /* The state has changed. Must not stop or free the member. May be NULL. */
    void (*changed)(void *context);
    void *context;
} LocalMemberOptions;

/* Starts checking; finds etcd if it is running already. Fails if the directory cannot be used. */
MUST_CHECK bool local_member_new(const LocalMemberOptions *options, LocalMember **out, Error *err);
/* etcd continues to run. NULL is allowed. */
void local_member_free(LocalMember *member);
DEFINE_AUTO(LocalMember, local_member_free)

/* Ends a wait: something may be different now. */
void local_member_wake(LocalMember *member);
/* Stops etcd for good; the state becomes LOCAL_STOPPED. */
void local_member_stop(LocalMember *member);

typedef struct LocalMemberStatus {
    LocalState state;
    pid_t pid;        /* of etcd; 0: not running */
    uint64_t data_of; /* the member whose data is here; 0: none, or not known yet */
    const char *why;  /* why etcd is not running, or why it was not the last time */
    bool is_refused;  /* an operator must act */
} LocalMemberStatus;
LocalMemberStatus local_member_status(const LocalMember *member);
