/* Python's stable sort by keys, with comparisons that may fail. */
#pragma once

#include "lang/template/ops.h"

typedef struct SortItem {
    Value key;
    Value item;
} SortItem;

typedef enum SortKeys {
    SORT_PLAIN,  /* keys are compared with `<` only */
    SORT_LISTED, /* as if every key were in a list: equal keys are never compared with `<` */
} SortKeys;

/* Reserves memory for sorting that many items: twice the items themselves. */
static inline bool sort_reserve(Render *r, uint32_t count)
{
    return render_reserve(r, 2 * (size_t)count * sizeof(SortItem));
}

/* At most n log n comparisons, which are charged in steps. On failure the order is unspecified. For
 * lists of fewer than 64 items the sequence of comparisons is CPython's, so errors mention the same
 * two values. */
MUST_CHECK bool sort_items(Render *r, SortItem *items, uint32_t count, SortKeys keys, bool reverse);
