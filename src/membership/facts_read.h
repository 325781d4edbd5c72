/* Reads the facts of nodes from the store. Loop thread. */
#pragma once

#include "cluster/cluster_store.h"

typedef struct NodeFacts {
    Str node;
    Str text; /* as the node has sent it */
    int64_t revision;
} NodeFacts;

/* For the call only. */
typedef struct FactsPage {
    const NodeFacts *items;
    uint32_t count;
    Str next;         /* `after` of the next page; empty: that was all */
    int64_t revision; /* of the store, as of which they are so */
} FactsPage;

typedef struct FactsQuery {
    Str after;        /* empty: the first page */
    uint32_t limit;   /* of a page; 1 at least */
    int64_t revision; /* as of which; 0, or one that was compacted: as of now */
} FactsQuery;

/* `done` is called exactly once, in a later turn or within. */
typedef void FactsListed(void *context, const FactsPage *page, const Error *err);
void facts_list(const ClusterStore *at, const FactsQuery *query, FactsListed *done, void *context);

/* `facts` is NULL and so is `err` when the node has sent none. */
typedef void FactsGot(void *context, const NodeFacts *facts, const Error *err);
void facts_get(const ClusterStore *at, Str node, FactsGot *done, void *context);
