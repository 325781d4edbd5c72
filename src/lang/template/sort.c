/* A stable sort whose comparisons may fail. Up to 63 items it is CPython's binary insertion sort,
 * comparison by comparison, so that an error names the same two values as in Python. Longer lists
 * are sorted in runs of that kind, which are merged bottom-up. */
#include "lang/template/sort.h"

enum {
    RUN_MAX = 63, /* CPython uses only insertion sort up to this length */
    RUN = 32
};

typedef struct Sort {
    Render *r;
    SortKeys keys;
} Sort;

/* Sets `less` to whether a < b in the order of the sort. */
static bool sort_less(Render *r, Value a, Value b, SortKeys keys, bool *less)
{
    if (a.kind == VALUE_STRING && b.kind == VALUE_STRING) {
        *less = str_compare(value_str(a), value_str(b)) < 0;
        return true;
    }
    if (a.kind == VALUE_INT && b.kind == VALUE_INT) {
        *less = a.integer < b.integer;
        return true;
    }
    if (a.kind == VALUE_FLOAT && b.kind == VALUE_FLOAT) {
        *less = a.number < b.number;
        return true;
    }
    if (keys == SORT_LISTED) {
        bool equal;
        if (!op_equal(r, a, b, &equal)) {
            return false;
        }
        if (equal) {
            *less = false;
            return true;
        }
    }
    return op_order(r, OP_LT, a, b, less);
}

static inline bool item_less(const Sort *sort, const SortItem *a, const SortItem *b, bool *less)
{
    if (LIKELY(a->key.kind == VALUE_STRING && b->key.kind == VALUE_STRING)) {
        *less = str_compare(value_str(a->key), value_str(b->key)) < 0;
        return true;
    }
    return sort_less(sort->r, a->key, b->key, sort->keys, less);
}

static void reverse_items(SortItem *items, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        SortItem other = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = other;
    }
}

/* The length of the run at the start, which is reversed if it descends. */
static bool count_run(const Sort *sort, SortItem *items, uint32_t count, uint32_t *length)
{
    *length = count;
    if (count < 2) {
        return true;
    }
    bool descends, less;
    if (!item_less(sort, &items[1], &items[0], &descends)) {
        return false;
    }
    uint32_t pos = 2;
    for (; pos < count; pos++) {
        if (!item_less(sort, &items[pos], &items[pos - 1], &less)) {
            return false;
        }
        if (less != descends) {
            break;
        }
    }
    if (descends) {
        reverse_items(items, pos);
    }
    *length = pos;
    return true;
}

static bool sort_run(const Sort *sort, SortItem *items, uint32_t count)
{
    uint32_t sorted;
    if (!count_run(sort, items, count, &sorted)) {
        return false;
    }
    for (; sorted < count; sorted++) {
        SortItem pivot = items[sorted];
        uint32_t low = 0, high = sorted;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            bool less;
            if (!item_less(sort, &pivot, &items[middle], &less)) {
                return false;
            }
            if (less) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        memmove(&items[low + 1], &items[low], (sorted - low) * sizeof *items);
        items[low] = pivot;
    }
    return true;
}

/* Merges the adjacent items[0..middle) and items[middle..count); `spare` has space for the first
 * part. */
static bool merge(const Sort *sort, SortItem *items, uint32_t middle, uint32_t count,
                  SortItem *spare)
{
    bool less;
    if (!item_less(sort, &items[middle], &items[middle - 1], &less)) {
        return false;
    }
    if (!less) {
        return true; /* already in order */
    }
    memcpy(spare, items, middle * sizeof *items);
    uint32_t left = 0, right = middle, to = 0;
    while (left < middle && right < count) {
        if (!item_less(sort, &items[right], &spare[left], &less)) {
            return false;
        }
        items[to++] = less ? items[right++] : spare[left++];
    }
    memcpy(&items[to], &spare[left], (middle - left) * sizeof *items);
    return true;
}

static bool sort_ascending(const Sort *sort, SortItem *items, uint32_t count)
{
    if (count <= RUN_MAX) {
        return sort_run(sort, items, count);
    }
    for (uint32_t pos = 0; pos < count; pos += RUN) {
        if (!sort_run(sort, items + pos, count - pos < RUN ? count - pos : RUN)) {
            return false;
        }
    }
    SortItem *spare = ARENA_ARRAY(sort->r->arena, SortItem, count);
    for (uint64_t width = RUN; width < count; width *= 2) {
        for (uint64_t pos = 0; pos + width < count; pos += 2 * width) {
            uint64_t end = pos + 2 * width < count ? 2 * width : count - pos;
            if (!merge(sort, items + pos, (uint32_t)width, (uint32_t)end, spare)) {
                return false;
            }
        }
    }
    return true;
}

bool sort_items(Render *r, SortItem *items, uint32_t count, SortKeys keys, bool reverse)
{
    unsigned rounds = 1;
    while (rounds < 32 && count >> rounds != 0) {
        rounds++;
    }
    if (!render_charge(r, (uint64_t)count * rounds / 4)) {
        return false;
    }
    const Sort sort = { r, keys };
    /* Reversing before and after preserves the order of equal items. */
    if (reverse) {
        reverse_items(items, count);
    }
    if (!sort_ascending(&sort, items, count)) {
        return false;
    }
    if (reverse) {
        reverse_items(items, count);
    }
    return true;
}
