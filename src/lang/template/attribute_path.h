/* The `attribute` argument of filters: "address.city.0", a number, or absent. */
#pragma once

#include "lang/template/ops.h"

typedef struct PathSegment {
    Value key;     /* string or integer */
    uint32_t hint; /* index of its last occurrence in a map */
} PathSegment;

typedef struct AttributePath {
    PathSegment *segments;
    uint32_t count;
} AttributePath;

/* If `attribute` is missing or none, the path denotes the item itself. Fails only if a very long
 * path would take too much memory. */
MUST_CHECK bool attribute_path_make(Render *r, Value attribute, AttributePath *out);
/* The paths of "age,name"; always at least one. */
MUST_CHECK bool attribute_path_make_list(Render *r, Value attribute, AttributePath **out,
                                         uint32_t *count);

/* Follows the path from `item`, which may be `out`. An undefined element is replaced with
 * `fallback` unless that is null or missing. */
MUST_CHECK bool attribute_path_get(Render *r, const AttributePath *path, const Value *item,
                                   Value fallback, Value *out);
