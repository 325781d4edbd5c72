#include "base/ordered.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"

struct OrderedLeaf {
    uint32_t count; /* never 0 */
    Str *items[ORDERED_LEAF];
};

/* The last leaf whose first key is at most `key`; 0 if there is none. */
static uint32_t find_leaf(const Ordered *ordered, Str key)
{
    uint32_t count =
        SEARCH(ordered->leaf_count, at, str_compare(*ordered->leaves[at]->items[0], key) <= 0);
    return count > 0 ? count - 1 : 0;
}

/* The first item of the leaf that is not before `key`. */
static uint32_t find_item(const OrderedLeaf *leaf, Str key)
{
    return SEARCH(leaf->count, at, str_compare(*leaf->items[at], key) < 0);
}

static bool find_place(const Ordered *ordered, Str key, OrderedCursor *out)
{
    *out = ordered_from(ordered, key);
    return out->leaf < ordered->leaf_count && out->item < ordered->leaves[out->leaf]->count &&
           str_eq(*ordered->leaves[out->leaf]->items[out->item], key);
}

OrderedCursor ordered_from(const Ordered *ordered, Str key)
{
    OrderedCursor place = { .leaf = find_leaf(ordered, key) };
    if (place.leaf < ordered->leaf_count) {
        place.item = find_item(ordered->leaves[place.leaf], key);
    }
    return place;
}

void *ordered_next(const Ordered *ordered, OrderedCursor *place)
{
    if (place->leaf < ordered->leaf_count && place->item == ordered->leaves[place->leaf]->count) {
        place->leaf++;
        place->item = 0;
    }
    return place->leaf < ordered->leaf_count ? ordered->leaves[place->leaf]->items[place->item++]
                                             : NULL;
}

void *ordered_find(const Ordered *ordered, Str key)
{
    OrderedCursor place;
    return find_place(ordered, key, &place) ? ordered->leaves[place.leaf]->items[place.item] : NULL;
}

/* --- Modification ---------------------------------------------------------------------------- */

static OrderedLeaf *insert_leaf(Ordered *ordered, uint32_t at)
{
    if (ordered->leaf_count == ordered->leaf_room) {
        ordered->leaf_room = ordered->leaf_room == 0 ? 16 : 2 * ordered->leaf_room;
        ordered->leaves = realloc(ordered->leaves, ordered->leaf_room * sizeof(ordered->leaves[0]));
        if (ordered->leaves == NULL) {
            memory_exhausted(ordered->leaf_room * sizeof(ordered->leaves[0]));
        }
    }
    memmove(ordered->leaves + at + 1, ordered->leaves + at,
            (ordered->leaf_count - at) * sizeof(ordered->leaves[0]));
    ordered->leaf_count++;
    return ordered->leaves[at] = memory_new(sizeof(OrderedLeaf));
}

/* Items added in order fill leaf after leaf; otherwise a full leaf is split in half. */
static void split_leaf(Ordered *ordered, OrderedCursor *place)
{
    OrderedLeaf *next = insert_leaf(ordered, place->leaf + 1), *full = ordered->leaves[place->leaf];
    bool is_behind_all = place->item == ORDERED_LEAF && place->leaf + 2 == ordered->leaf_count;
    uint32_t kept = is_behind_all ? ORDERED_LEAF : ORDERED_LEAF / 2;
    next->count = ORDERED_LEAF - kept;
    memcpy(next->items, full->items + kept, next->count * sizeof(full->items[0]));
    full->count = kept;
    if (place->item > kept || is_behind_all) {
        place->leaf++;
        place->item -= kept;
    }
}

void *ordered_put(Ordered *ordered, Str *item)
{
    OrderedCursor place;
    if (find_place(ordered, *item, &place)) {
        Str *before = ordered->leaves[place.leaf]->items[place.item];
        ordered->leaves[place.leaf]->items[place.item] = item;
        return before;
    }
    if (ordered->leaf_count == 0) {
        (void)insert_leaf(ordered, 0);
    } else if (ordered->leaves[place.leaf]->count == ORDERED_LEAF) {
        split_leaf(ordered, &place);
    }
    OrderedLeaf *leaf = ordered->leaves[place.leaf];
    memmove(leaf->items + place.item + 1, leaf->items + place.item,
            (leaf->count - place.item) * sizeof(leaf->items[0]));
    leaf->items[place.item] = item;
    leaf->count++;
    ordered->count++;
    return NULL;
}

void *ordered_remove(Ordered *ordered, Str key)
{
    OrderedCursor place;
    if (!find_place(ordered, key, &place)) {
        return NULL;
    }
    OrderedLeaf *leaf = ordered->leaves[place.leaf];
    Str *item = leaf->items[place.item];
    leaf->count--;
    memmove(leaf->items + place.item, leaf->items + place.item + 1,
            (leaf->count - place.item) * sizeof(leaf->items[0]));
    if (leaf->count == 0) {
        free(leaf);
        ordered->leaf_count--;
        memmove(ordered->leaves + place.leaf, ordered->leaves + place.leaf + 1,
                (ordered->leaf_count - place.leaf) * sizeof(ordered->leaves[0]));
    }
    ordered->count--;
    return item;
}

void ordered_clear(Ordered *ordered)
{
    for (uint32_t i = 0; i < ordered->leaf_count; i++) {
        free(ordered->leaves[i]);
    }
    free(ordered->leaves);
    *ordered = (Ordered){ 0 };
}
