#include "base/ordered.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"

struct OrderedLeaf {
    uint32_t count; /* never 0 */
    Str *items[ORDERED_LEAF_MAX];
};

/* The last leaf whose first key is at most `key`; 0 if there is none. */
static uint32_t find_leaf(const OrderedSet *ordered, Str key)
{
    uint32_t count =
        SEARCH(ordered->leaf_count, pos, str_compare(*ordered->leaves[pos]->items[0], key) <= 0);
    return count > 0 ? count - 1 : 0;
}

/* The first item of the leaf that is not before `key`. */
static uint32_t find_item(const OrderedLeaf *leaf, Str key)
{
    return SEARCH(leaf->count, pos, str_compare(*leaf->items[pos], key) < 0);
}

static bool find_position(const OrderedSet *ordered, Str key, OrderedCursor *out)
{
    *out = ordered_lower_bound(ordered, key);
    return out->leaf < ordered->leaf_count && out->item < ordered->leaves[out->leaf]->count &&
           str_eq(*ordered->leaves[out->leaf]->items[out->item], key);
}

OrderedCursor ordered_lower_bound(const OrderedSet *ordered, Str key)
{
    OrderedCursor cursor = { .leaf = find_leaf(ordered, key) };
    if (cursor.leaf < ordered->leaf_count) {
        cursor.item = find_item(ordered->leaves[cursor.leaf], key);
    }
    return cursor;
}

void *ordered_next(const OrderedSet *ordered, OrderedCursor *cursor)
{
    if (cursor->leaf < ordered->leaf_count &&
        cursor->item == ordered->leaves[cursor->leaf]->count) {
        cursor->leaf++;
        cursor->item = 0;
    }
    return cursor->leaf < ordered->leaf_count ? ordered->leaves[cursor->leaf]->items[cursor->item++]
                                              : NULL;
}

void *ordered_find(const OrderedSet *ordered, Str key)
{
    OrderedCursor cursor;
    return find_position(ordered, key, &cursor) ? ordered->leaves[cursor.leaf]->items[cursor.item]
                                                : NULL;
}

/* --- Modification ---------------------------------------------------------------------------- */

static OrderedLeaf *insert_leaf(OrderedSet *ordered, uint32_t pos)
{
    if (ordered->leaf_count == ordered->leaf_capacity) {
        ordered->leaf_capacity = ordered->leaf_capacity == 0 ? 16 : 2 * ordered->leaf_capacity;
        ordered->leaves =
            realloc(ordered->leaves, ordered->leaf_capacity * sizeof(ordered->leaves[0]));
        if (ordered->leaves == NULL) {
            memory_exhausted(ordered->leaf_capacity * sizeof(ordered->leaves[0]));
        }
    }
    memmove(ordered->leaves + pos + 1, ordered->leaves + pos,
            (ordered->leaf_count - pos) * sizeof(ordered->leaves[0]));
    ordered->leaf_count++;
    return ordered->leaves[pos] = memory_new(sizeof(OrderedLeaf));
}

/* Items added in order fill leaf after leaf; otherwise a full leaf is split in half. */
static void split_leaf(OrderedSet *ordered, OrderedCursor *cursor)
{
    OrderedLeaf *next = insert_leaf(ordered, cursor->leaf + 1),
                *full = ordered->leaves[cursor->leaf];
    bool is_last = cursor->item == ORDERED_LEAF_MAX && cursor->leaf + 2 == ordered->leaf_count;
    uint32_t left_count = is_last ? ORDERED_LEAF_MAX : ORDERED_LEAF_MAX / 2;
    next->count = ORDERED_LEAF_MAX - left_count;
    memcpy(next->items, full->items + left_count, next->count * sizeof(full->items[0]));
    full->count = left_count;
    if (cursor->item > left_count || is_last) {
        cursor->leaf++;
        cursor->item -= left_count;
    }
}

void *ordered_put(OrderedSet *ordered, Str *item)
{
    OrderedCursor cursor;
    if (find_position(ordered, *item, &cursor)) {
        Str *before = ordered->leaves[cursor.leaf]->items[cursor.item];
        ordered->leaves[cursor.leaf]->items[cursor.item] = item;
        return before;
    }
    if (ordered->leaf_count == 0) {
        (void)insert_leaf(ordered, 0);
    } else if (ordered->leaves[cursor.leaf]->count == ORDERED_LEAF_MAX) {
        split_leaf(ordered, &cursor);
    }
    OrderedLeaf *leaf = ordered->leaves[cursor.leaf];
    memmove(leaf->items + cursor.item + 1, leaf->items + cursor.item,
            (leaf->count - cursor.item) * sizeof(leaf->items[0]));
    leaf->items[cursor.item] = item;
    leaf->count++;
    ordered->count++;
    return NULL;
}

void *ordered_remove(OrderedSet *ordered, Str key)
{
    OrderedCursor cursor;
    if (!find_position(ordered, key, &cursor)) {
        return NULL;
    }
    OrderedLeaf *leaf = ordered->leaves[cursor.leaf];
    Str *item = leaf->items[cursor.item];
    leaf->count--;
    memmove(leaf->items + cursor.item, leaf->items + cursor.item + 1,
            (leaf->count - cursor.item) * sizeof(leaf->items[0]));
    if (leaf->count == 0) {
        free(leaf);
        ordered->leaf_count--;
        memmove(ordered->leaves + cursor.leaf, ordered->leaves + cursor.leaf + 1,
                (ordered->leaf_count - cursor.leaf) * sizeof(ordered->leaves[0]));
    }
    ordered->count--;
    return item;
}

void ordered_clear(OrderedSet *ordered)
{
    for (uint32_t i = 0; i < ordered->leaf_count; i++) {
        free(ordered->leaves[i]);
    }
    free(ordered->leaves);
    *ordered = (OrderedSet){ 0 };
}
