/* The member of the datastore on this server: prepares the data directory, starts etcd once this
 * server has been added as a member, restarts it when it exits, and archives the data of a removed
 * member. start_plan() decides what to do. Loop thread.
 *
 *     checking -> waiting -> checking ...
 *        |
 *        v
 *     running -> checking ...        stopping -> stopped
 *
 * In its directory, besides the files of etcd_process.h:
 *
 *     member.json     the marker (start_plan.h), readable by all users
 *     data/           etcd's data directory
 *     removed/        the data of the most recently removed member */
#pragma once

#include "datastore/start_plan.h"
#include "etcd/client.h"
#include "sys/cgroup.h"

typedef struct LocalMember LocalMember;

enum {
    LOCAL_RETRY_MS = 2000,        /* minimum delay between attempts to start */
    LOCAL_REFUSED_MS = 60 * 1000, /* delay until the next attempt if an operator must act */
    LOCAL_POLL_MS = 1000,         /* interval of polling a started member until it responds */
    LOCAL_STABLE_MS = 60 * 1000,  /* uptime after which earlier failures are ignored */
};

typedef enum LocalState {
    LOCAL_CHECKING,
    LOCAL_WAITING, /* etcd is not running; `why` contains the reason */
    LOCAL_RUNNING,
    LOCAL_STOPPING,
    LOCAL_STOPPED,
} LocalState;

typedef struct LocalMemberOptions {
    Loop *loop;
    /* Path of the datastore's directory. Borrowed, like the other pointers. */
    const char *path;
    const char *certificates; /* path of the directory with the certificate; NULL: `path` */
    const char *program;      /* path of etcd */
    Str node;
    Address client, peer; /* IP addresses to listen on */
    bool is_new_cluster;  /* this is the first member of a new cluster */
    const char *token;    /* name of the eden cluster */
    TlsContext *tls;      /* for datastore clients, protocol "h2" */
    bool as_user;         /* run etcd as `uid` and `gid` */
    uid_t uid;
    gid_t gid;
    CgroupLimits limits;
    int64_t quota_bytes;                /* 0: ETCD_QUOTA_BYTES */
    uint32_t heartbeat_ms, election_ms; /* 0: etcd's defaults */
    int64_t retry_ms;                   /* 0: LOCAL_RETRY_MS */
    /* Fills in the client addresses of other possible members, at most ETCD_ENDPOINTS_MAX, and
     * returns their number. */
    uint32_t (*endpoints)(void *context, Address *out);
    /* The state has changed. Must not stop or free the member. May be NULL. */
    void (*changed)(void *context);
    void *context;
} LocalMemberOptions;

/* Starts checking, and finds etcd if it is already running. Fails if the directory is not
 * usable. */
MUST_CHECK bool local_member_new(const LocalMemberOptions *options, LocalMember **out, Error *err);
/* etcd keeps running. NULL is allowed. */
void local_member_free(LocalMember *member);
DEFINE_AUTO(LocalMember, local_member_free)

/* Checks again without waiting, because something may have changed. */
void local_member_wake(LocalMember *member);
/* Stops etcd; it is not restarted. The final state is LOCAL_STOPPED. */
void local_member_stop(LocalMember *member);

typedef struct LocalMemberStatus {
    LocalState state;
    pid_t pid;               /* of etcd; 0 if it is not running */
    uint64_t data_member_id; /* member whose data this server has; 0: none or unknown */
    const char *why;         /* why etcd is not running; empty if it is */
    bool needs_operator;     /* an operator must act */
} LocalMemberStatus;
LocalMemberStatus local_member_status(const LocalMember *member);
