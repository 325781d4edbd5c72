/* A set of items sorted by key, efficient for a hundred thousand of them. Items belong to the
 * caller; each begins with its key.
 *
 *     typedef struct Node { Str key; ... } Node;
 *     before = ordered_put(&nodes, &node->key);
 *     OrderedCursor cursor = ordered_lower_bound(&nodes, prefix);
 *     while ((node = ordered_next(&nodes, &cursor)) != NULL) ...
 *
 * Items are in leaves of up to ORDERED_LEAF_MAX pointers, so that adding or removing one moves only
 * the items of a leaf. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
    ORDERED_LEAF_MAX = 256
};

typedef struct OrderedLeaf OrderedLeaf;

typedef struct OrderedSet {
    OrderedLeaf **leaves;
    uint32_t leaf_count, leaf_capacity;
    uint32_t count; /* number of items */
} OrderedSet;

/* The position of an iteration; valid until an item is added or removed. */
typedef struct OrderedCursor {
    uint32_t leaf, item;
} OrderedCursor;

/* An item is a pointer to its key, which must not change. NULL if there is none with that key. */
void *ordered_find(const OrderedSet *ordered, Str key);
/* Returns the item with the same key that it replaces, or NULL. */
void *ordered_put(OrderedSet *ordered, Str *item);
/* Returns the removed item, or NULL. */
void *ordered_remove(OrderedSet *ordered, Str key);
/* Frees the set itself; the items are not freed. */
void ordered_clear(OrderedSet *ordered);

/* The first item whose key is not before `key`. */
OrderedCursor ordered_lower_bound(const OrderedSet *ordered, Str key);
/* NULL at the end. */
void *ordered_next(const OrderedSet *ordered, OrderedCursor *cursor);
