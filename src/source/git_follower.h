/* Follows one git repository: fetches its newest commit on a separate thread, when a poll is due or
 * a request arrives, and records its status. A repository that hangs or is unreachable does not
 * delay others. Loop thread only. */
#pragma once

#include "cluster/change.h"
#include "source/git_secrets.h"
#include "source/git_tree.h"
#include "source/versions.h"
#include "sys/work_queue.h"

typedef struct GitFollower GitFollower;

typedef struct GitFollowerOptions {
    ClusterStore cluster_store; /* with a state */
    Versions *versions;
    SourceVault *vault;
    const char *directory;          /* directory of the server, with the mirrors below it */
    StoreCompare fence;             /* leader_fence() */
    void (*fetched)(void *context); /* a fetch has ended, possibly with a failure */
    /* A proposed commit was fetched; `tree` is borrowed, and NULL if it failed. */
    void (*proposed)(void *context, GitFollower *follower, int64_t request, GitTree *tree,
                     const Error *err);
    /* The status could not be recorded; ERROR_CONFLICT: this server is no longer the leader. */
    void (*failed)(void *context, const Error *err);
    void *context;
} GitFollowerOptions;

/* The first part is read-only for others. */
struct GitFollower {
    GitSource source;
    bool is_readable; /* false: only the name of the source is known */
    int64_t revision; /* revision of the configuration */
    int64_t secrets_revision;
    GitSourceStatus status;
    GitTree *tree; /* newest commit; NULL: this server has not fetched any yet */

    const GitFollowerOptions *options;
    Arena arena, status_arena; /* hold the configuration and the status */
    const char *directory;     /* directory of the mirror */
    LoopTimer due;
    WorkQueue *queue;
    struct GitFetch *fetch; /* NULL: none in progress */
    bool fetch_pending, is_stopped;
    /* The newest commit in the mirror was rejected, but the reason may no longer apply. */
    bool clears_rejection;
    bool lacks_manifest;           /* the manifest of the newest valid version was lost */
    uint32_t failures;             /* number of consecutive failures */
    int64_t proposed;              /* revision of the newest proposal; 0: none */
    bool proposes;                 /* that proposal is not fetched yet */
    struct SiteProposal *proposal; /* request in progress; NULL: none */
    /* revision of the newest request, and of the newest one that the last fetch covers */
    int64_t requested, fetched;
    Change *change; /* write of the status; NULL: none in progress */
    Arena change_arena;
    Str change_text;
};

/* The options must outlive the result. Starts no fetch yet. */
GitFollower *git_follower_new(const GitFollowerOptions *options, Str name);
/* Kills git and waits for it. With `is_removed`, the mirror is deleted. */
void git_follower_free(GitFollower *follower, bool is_removed);

/* Applies a new or changed configuration or secrets; the first fetch starts after the delay. */
void git_follower_configure(GitFollower *follower, const GitSourceEntry *entry, int64_t delay_ms);
/* Fetches now if there is a new request or proposal. */
void git_follower_check_request(GitFollower *follower);
/* Fetches now. Contents of files that have been lost are read again. */
void git_follower_fetch(GitFollower *follower);
/* Starts no further fetches. */
void git_follower_stop(GitFollower *follower);

/* Sets the status; its time changes only together with other fields. */
void git_follower_set_status(GitFollower *follower, const GitSourceStatus *next);
/* Records the status, and that all requests up to the last fetch are handled. */
void git_follower_report_results(GitFollower *follower);
