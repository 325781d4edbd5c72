/* Follows one git repository: fetches its newest commit on a thread of its own, when a poll is due
 * or a request arrives, and records its status. One that hangs or is gone delays no other. Loop
 * thread only. */
#pragma once

#include "cluster/change.h"
#include "source/git_secrets.h"
#include "source/git_tree.h"
#include "source/versions.h"
#include "sys/work_queue.h"

typedef struct GitFollower GitFollower;

typedef struct GitFollowerOptions {
    ClusterStore at; /* with a state */
    Versions *versions;
    SourceVault *vault;
    const char *directory;          /* of the server: mirrors are below it */
    StoreCompare fence;             /* leader_fence() */
    void (*fetched)(void *context); /* there is a result, perhaps a failure */
    /* A proposed commit was fetched; `tree` is borrowed, and NULL if it failed. */
    void (*proposed)(void *context, GitFollower *follower, int64_t request, GitTree *tree,
                     const Error *err);
    /* The status could not be recorded; ERROR_CONFLICT: this server no longer leads. */
    void (*failed)(void *context, const Error *err);
    void *context;
} GitFollowerOptions;

/* Others read the first part and change nothing. */
struct GitFollower {
    GitSource source;
    bool is_readable; /* otherwise only its name is known */
    int64_t revision; /* of the configuration */
    int64_t secrets_revision;
    GitSourceStatus status;
    GitTree *tree; /* newest commit; NULL: this server has not fetched any */

    const GitFollowerOptions *options;
    Arena arena, status_arena; /* of the configuration, and of the status */
    const char *directory;     /* of the mirror */
    LoopTimer due;
    WorkQueue *queue;
    struct GitFetch *fetch; /* NULL: none in progress */
    bool fetches_again, is_stopped;
    /* The mirror rejected the newest commit, for a reason that has changed. */
    bool clears_rejection;
    bool lacks_manifest;           /* the list of the files of the newest valid version was lost */
    uint32_t failures;             /* in a row */
    int64_t proposed;              /* revision of the newest proposal; 0: none */
    bool proposes;                 /* it is not fetched yet */
    struct SiteProposal *proposal; /* in progress; NULL: none. */
    int64_t requested, fetched; /* revisions: the newest request, and that the last fetch covers */
    Change *change;             /* of the status; NULL: none in progress */
    Arena change_arena;
    Str change_text;
};

/* The options must outlive it. Fetches nothing yet. */
GitFollower *git_follower_new(const GitFollowerOptions *options, Str name);
/* Kills git and waits for it. With `is_removed`, its files are removed. */
void git_follower_free(GitFollower *follower, bool is_removed);

/* Takes over a configuration or secrets that are new or changed; the first fetch follows after the
 * delay. */
void git_follower_configure(GitFollower *follower, const GitSourceEntry *entry, int64_t delay_ms);
/* Fetches now if there is a new request or proposal. */
void git_follower_check_request(GitFollower *follower);
/* Fetches now. Contents of files that have been lost are read again. */
void git_follower_fetch(GitFollower *follower);
/* No more fetches are started. */
void git_follower_stop(GitFollower *follower);

/* The time changes only with the rest. */
void git_follower_set_status(GitFollower *follower, const GitSourceStatus *next);
/* Records the status, and that the requests until the last fetch are handled. */
void git_follower_settle(GitFollower *follower);
