/* Items in the order of their keys: found, put, removed and walked, quickly also when there are a hundred
 * thousand of them. The items belong to whoever puts them; each begins with its key.
 *
 *     typedef struct Node { Str key; ... } Node;
 *     before = ordered_put(&nodes, &node->key);
 *     for (OrderedPlace at = ordered_from(&nodes, prefix); (node = ordered_next(&nodes, &at)) != NULL;)
 *
 * They stand in leaves of up to ORDERED_LEAF pointers, so that one that comes or goes moves a leaf and
 * not everything. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
    ORDERED_LEAF = 256
};

typedef struct OrderedLeaf OrderedLeaf;

typedef struct Ordered {
    OrderedLeaf **leaves;
    uint32_t leaf_count, leaf_room;
    uint32_t count; /* of items */
} Ordered;

/* Where a walk goes on; valid as long as nothing is put or removed. */
typedef struct OrderedPlace {
    uint32_t leaf, item;
} OrderedPlace;

/* An item is a pointer to its key, which does not change. NULL: there is none of that key. */
void *ordered_find(const Ordered *ordered, Str key);
/* Returns the one of the same key that it replaces, or NULL. */
void *ordered_put(Ordered *ordered, Str *item);
/* Returns the one that was removed, or NULL. */
void *ordered_remove(Ordered *ordered, Str key);
/* Only what Ordered has itself; the items stay. */
void ordered_clear(Ordered *ordered);

/* The first whose key is `key` or comes after it. */
OrderedPlace ordered_from(const Ordered *ordered, Str key);
/* NULL at the end. */
void *ordered_next(const Ordered *ordered, OrderedPlace *place);
