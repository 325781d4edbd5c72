/* Provides what a run on this node needs from the cluster: the files of its site
 * (agent/site_cache.h), and if its templates mention `servervars` or `servers_get_by_label`, the
 * list of all nodes (fleet/server_list.h). Loop thread; a separate thread reads files.
 *
 *     sites/, blobs/           versions of the site
 *     servers/sites/<list>/    lists of all nodes */
#pragma once

#include "agent/site_cache.h"

typedef struct SiteSupply SiteSupply;

/* Deletes everything that is stored in this directory of an agent. */
void site_supply_delete(const Directory *agent);
/* Fails with ERROR_DENIED or ERROR_OS. */
MUST_CHECK bool site_supply_open(const SiteCacheOptions *options, SiteSupply **out, Error *err);
/* Work in progress ends with ERROR_UNAVAILABLE, within this call. NULL is allowed. */
void site_supply_close(SiteSupply *supply);
DEFINE_AUTO(SiteSupply, site_supply_close)

/* Directories, valid during the call. `path` is NULL on error; `servers` is NULL if templates
 * use no list of nodes, or the server is too old to provide one. */
typedef void SiteSupplyDone(void *context, const char *path, const char *servers, const Error *err);

/* Calls `done` once, in a later iteration. The directories are retained until
 * SITE_VERSIONS_RETAINED others have been fetched after them. The list of nodes is the current one:
 * without a connection this fails with ERROR_UNAVAILABLE. */
void site_supply_fetch(SiteSupply *supply, Str manifest, Str version, SiteSupplyDone *done,
                       void *context);
/* Called when a connection is established. */
void site_supply_wake(SiteSupply *supply);

/* Whether any file under `root` mentions the list of all nodes. Blocks; any thread. Fails with
 * ERROR_OS and others. */
MUST_CHECK bool site_mentions_servers(const char *root, bool *out, Error *err);
