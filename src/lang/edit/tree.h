/* Copies of values with a single change. Values are immutable: the containers on the path are
 * copied, everything else is shared. */
#pragma once

#include "lang/edit/data_path.h"

/* A location in a document: the values on the path to it. */
typedef struct TreeLocation {
    Value chain[DATA_PATH_MAX + 1]; /* chain[0] is the root */
    uint32_t pos[DATA_PATH_MAX];    /* chain[i + 1] is the entry or item pos[i] of chain[i] */
    uint32_t depth;                 /* chain[depth] is the value at the location */
} TreeLocation;

/* Follows the path as far as it exists: `out->depth` is less than its length if a map lacks the
 * key, a list ends before the index, or a value is null. Fails with ERROR_CONFLICT if a segment is
 * impossible, such as a key below a number. */
MUST_CHECK bool tree_find(Arena *arena, Value root, const DataPath *path, TreeLocation *out,
                          Error *err);

/* Wraps `value` in new containers for the segments from `from` on. Fails if a segment could be
 * either a key or an index. */
MUST_CHECK bool tree_wrap(Arena *arena, const DataPath *path, uint32_t from, Value value,
                          Value *out, Error *err);

/* The root with the value at the location replaced. */
Value tree_replace(Arena *arena, const TreeLocation *location, Value value);
/* The root with one more entry in the map, or one more item in the list (the key is ignored), at
 * the location. */
Value tree_insert(Arena *arena, const TreeLocation *location, Value key, Value value);
/* The root without the value at the location, which must not be the root itself. */
Value tree_remove(Arena *arena, const TreeLocation *location);

/* Equal in type and content; the order of map keys does not matter. */
bool tree_same(Value a, Value b);
