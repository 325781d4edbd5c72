/* Python's stable sort by keys, where comparing two keys may fail. */
#pragma once

#include "lang/template/ops.h"

typedef struct SortItem {
    Value key;
    Value item;
} SortItem;

typedef enum SortKeys {
    SORT_PLAIN,  /* keys are compared with `<` alone */
    SORT_LISTED, /* as if every key stood in a list: equal keys are never compared with `<` */
} SortKeys;

/* Whether there is room to sort so many items: twice the items themselves. */
static inline bool sort_room(Render *r, uint32_t count)
{
    return render_room(r, 2 * (size_t)count * sizeof(SortItem));
}

/* At most n log n comparisons, all paid for in steps. On failure the order is unspecified. For
 * lists below 64 items the comparisons are those of CPython, so the same two values are named in
 * the error. */
MUST_CHECK bool sort_items(Render *r, SortItem *items, uint32_t count, SortKeys keys, bool reverse);
