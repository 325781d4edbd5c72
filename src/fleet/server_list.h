/* The list of all nodes that templates on every node see: their names, labels, and the facts of
 * cluster/facts_digest.h. A list of files by their hashes (source/manifest.h), in memory:
 *
 *     servers/00.json ... servers/63.json     {"web1": {"labels": {...}, "facts": {...}}, ...}
 *
 * A node is always in the same file, so that nodes, which cache files, fetch only those that have
 * changed. The list is created on request, in large clusters at most once a second. Loop thread
 * only. */
#pragma once

#include "membership/roster.h"
#include "source/blob_store.h"

typedef struct ServerList ServerList;

enum {
    SERVER_LIST_FILES = 64,
    SERVER_LISTS_RETAINED = 8, /* number of earlier lists that nodes may still be fetching */
    SERVER_LIST_MS = 1000      /* minimum interval between two lists for 10,000 nodes */
};

/* `cluster_store` has a state and a roster, and is copied. */
ServerList *server_list_new(const ClusterStore *cluster_store);
/* Must be called before freeing the roster and the state. NULL is allowed. */
void server_list_free(ServerList *list);
DEFINE_AUTO(ServerList, server_list_free)

/* The delay before creating a list with all current data; 0: nothing has changed, or the last list
 * is old enough. */
int64_t server_list_delay_ms(const ServerList *list);
/* The SHA-256 of a manifest with all current data. Fails with ERROR_LIMIT if there are too many
 * nodes. */
MUST_CHECK bool server_list_make(ServerList *list, char out[BLOB_ID_TEXT + 1], Error *err);

/* Whether this is the manifest of the current list, or of an earlier one that is retained. */
bool server_list_has(const ServerList *list, Str manifest);
/* Returns a blob of that list, or the manifest itself; false if it is not part of it. Valid until
 * the next list is created. */
bool server_list_find(const ServerList *list, Str manifest, Str id, Str *out);
