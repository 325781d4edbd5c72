/* The `attribute` argument of filters: "address.city.0", a number, or nothing. */
#pragma once

#include "lang/template/ops.h"

typedef struct PathPart {
    Value key;     /* a string or an integer */
    uint32_t hint; /* where a map had it last */
} PathPart;

typedef struct AttributePath {
    PathPart *parts;
    uint32_t count;
} AttributePath;

/* `attribute` may be missing or none: then the path leads to the item itself. Fails only when a
 * very long one would take too much memory. */
MUST_CHECK bool attribute_path_make(Render *r, Value attribute, AttributePath *out);
/* The paths of "age,name"; always at least one. */
MUST_CHECK bool attribute_path_make_list(Render *r, Value attribute, AttributePath **out,
                                         uint32_t *count);

/* Follows the path from `item`, which may be `out`. Where an element is undefined, `fallback` takes
 * its place unless it is null or missing. */
MUST_CHECK bool attribute_path_get(Render *r, const AttributePath *path, const Value *item,
                                   Value fallback, Value *out);
