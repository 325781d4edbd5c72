/* Versions of the site on a node: fetches them from the server, blob by blob, and keeps the most
 * recent ones as directories. Loop thread; a separate thread reads and writes files.
 *
 *     blobs/ab/<sha256>    received blobs, verified
 *     sites/<version>/     all files of a version
 *
 * Only missing blobs are requested. Received blobs are kept, so a fetch that is interrupted by a
 * broken connection or a restart of the agent resumes. The contents of an existing directory are
 * verified on each fetch, because root executes them; a damaged one is recreated. */
#pragma once

#include "net/grpc_client.h"
#include "source/version.h"
#include "sys/directory.h"

typedef struct SiteCache SiteCache;
typedef struct SiteFetch SiteFetch;

enum {
    SITE_VERSIONS_RETAINED = 3,
    SITE_RETRY_MIN_MS = 1000,
    SITE_RETRY_MAX_MS = 30 * 1000,
};

typedef struct SiteCacheOptions {
    Loop *loop;
    const char *directory; /* directory of the agent; copied */
    /* The connection to a server, or NULL. */
    GrpcClient *(*client)(void *context);
    void *context;
} SiteCacheOptions;

/* Deletes everything that a cache has stored in this directory of an agent. */
void site_cache_delete(const Directory *agent);
/* Fails with ERROR_DENIED or ERROR_OS. */
MUST_CHECK bool site_cache_open(const SiteCacheOptions *options, SiteCache **out, Error *err);
/* Fetches in progress end without `done`. NULL is allowed. */
void site_cache_close(SiteCache *cache);
DEFINE_AUTO(SiteCache, site_cache_close)

typedef struct SiteRequest {
    const char *manifest; /* SHA-256 of the manifest */
    const char *version;  /* name of the version and its directory */
} SiteRequest;

/* `path` is the directory, valid during the call; NULL with an error: ERROR_NOT_FOUND if the server
 * does not have the version, ERROR_DENIED, ERROR_INVALID, or ERROR_OS if it cannot be stored. While
 * there is no connection the fetch waits and retries. */
typedef void SiteFetched(void *context, const char *path, const Error *err);

/* Calls `done` once, in a later iteration. Fetches are executed one after another. The directory is
 * retained until SITE_VERSIONS_RETAINED others were fetched after it. */
SiteFetch *site_cache_fetch(SiteCache *cache, const SiteRequest *request, SiteFetched *done,
                            void *context);
/* Must not be called after `done`, which is then not called. NULL is allowed. */
void site_fetch_cancel(SiteFetch *fetch);
/* Called when a connection is established: retries now. */
void site_cache_wake(SiteCache *cache);

typedef struct SiteFetchStatus {
    bool is_active;
    const char *version; /* version that is being fetched */
    uint32_t missing;    /* number of blobs still to be received */
    uint32_t received;
    Error why; /* reason for the wait; ERROR_NONE: it is not waiting */
} SiteFetchStatus;
SiteFetchStatus site_cache_status(const SiteCache *cache);
