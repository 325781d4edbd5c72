/* Values with one place changed. Nothing is changed in place: what is on the way is copied, the
 * rest is shared. */
#pragma once

#include "lang/edit/data_path.h"

/* The values from the root to a place. */
typedef struct Spot {
    Value chain[DATA_PATH_MAX + 1]; /* chain[0] is the root */
    uint32_t at[DATA_PATH_MAX];     /* chain[i + 1] is the entry or item at[i] of chain[i] */
    uint32_t depth;                 /* the last one is chain[depth] */
} Spot;

/* Goes as far as the path leads: `out->depth` is less than its length when the rest is missing
 * because a map does not have the key, a list ends there, or null stands there. Fails with
 * ERROR_CONFLICT where the next step cannot be, such as below a number. */
MUST_CHECK bool tree_find(Arena *arena, Value root, const DataPath *path, Spot *out, Error *err);

/* `value` inside of new containers for the steps from `from` on. Fails where a step may mean a key
 * as well as a place in a list. */
MUST_CHECK bool tree_wrap(Arena *arena, const DataPath *path, uint32_t from, Value value,
                          Value *out, Error *err);

/* The root with another value at the spot. */
Value tree_replace(Arena *arena, const Spot *spot, Value value);
/* The root with one more entry in the map, or one more item (the key does not count) in the list,
 * at the spot. */
Value tree_insert(Arena *arena, const Spot *spot, Value key, Value value);
/* The root without the spot, which is not the root itself. */
Value tree_remove(Arena *arena, const Spot *spot);

/* Equal in kind and content; the order of the keys of a map does not matter. */
bool tree_same(Value a, Value b);
