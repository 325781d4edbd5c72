/* An index of watches by their ranges: finds the watches of a key without visiting all others. A
 * WatchNode is embedded in its owner. Pure. */
#pragma once

#include <stdint.h>

#include "base/str.h"

typedef struct WatchNode WatchNode;
struct WatchNode {
    WatchNode *left, *right;
    uint64_t number;   /* creation order, for ranges with the same start */
    uint64_t priority; /* random */
    Str key;
    Str end;               /* excluded; empty: no end */
    const WatchNode *last; /* the one with the last end in this subtree */
};

void watch_index_add(WatchNode **root, WatchNode *node);
void watch_index_remove(WatchNode **root, WatchNode *node);
/* Calls `found` for nodes whose range contains `key`. The index must not be modified in the
 * meantime. */
void watch_index_find(WatchNode *root, Str key, void (*found)(WatchNode *node, void *context),
                      void *context);
