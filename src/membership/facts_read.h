/* Reads the facts of nodes from the store. Loop thread only. */
#pragma once

#include "cluster/cluster_store.h"

typedef struct NodeFacts {
    Str node;
    Str text; /* as sent by the node */
    int64_t revision;
} NodeFacts;

/* Valid during the call. */
typedef struct FactsPage {
    const NodeFacts *items;
    uint32_t count;
    Str next;         /* `after` of the next page; empty: this is the last page */
    int64_t revision; /* of the store, at which they were read */
} FactsPage;

typedef struct FactsQuery {
    Str after;        /* empty: the first page */
    uint32_t limit;   /* page size; at least 1 */
    int64_t revision; /* revision to read; if 0 or compacted, the current one */
} FactsQuery;

/* `done` is called exactly once, later or within the call. */
typedef void FactsListed(void *context, const FactsPage *page, const Error *err);
void facts_list(const ClusterStore *cluster_store, const FactsQuery *query, FactsListed *done,
                void *context);

/* Both `facts` and `err` are NULL if the node has sent none. */
typedef void FactsGetDone(void *context, const NodeFacts *facts, const Error *err);
void facts_get(const ClusterStore *cluster_store, Str node, FactsGetDone *done, void *context);
