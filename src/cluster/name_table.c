/* A sorted array of pointers, searched by bisection. */
#include "cluster/name_table.h"

#include <stdlib.h>

#include "base/memory.h"

static Str name_of(const void *item)
{
    return str_from_c(((const TableName *)item)->text);
}

/* The index of the name, or where to insert it. */
static uint32_t slot_of(const NameTable *table, Str name, bool *found)
{
    uint32_t low = 0, high = table->count;
    *found = false;
    /* Names from the store are sorted, so they are usually appended. */
    if (high > 0 && str_compare(name_of(table->items[high - 1]), name) < 0) {
        return high;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = str_compare(name_of(table->items[middle]), name);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void *name_table_find(const NameTable *table, Str name)
{
    bool found;
    uint32_t at = slot_of(table, name, &found);
    return found ? table->items[at] : NULL;
}

void *name_table_put(NameTable *table, void *item)
{
    bool found;
    uint32_t at = slot_of(table, name_of(item), &found);
    if (found) {
        void *before = table->items[at];
        table->items[at] = item;
        return before;
    }
    if (table->count == table->capacity) {
        table->capacity = table->capacity == 0 ? 16 : 2 * table->capacity;
        table->items = realloc(table->items, table->capacity * sizeof *table->items);
        if (table->items == NULL) {
            memory_exhausted(table->capacity * sizeof *table->items);
        }
    }
    memmove(table->items + at + 1, table->items + at, (table->count - at) * sizeof *table->items);
    table->items[at] = item;
    table->count++;
    return NULL;
}

void *name_table_remove(NameTable *table, Str name)
{
    bool found;
    uint32_t at = slot_of(table, name, &found);
    if (!found) {
        return NULL;
    }
    void *item = table->items[at];
    table->count--;
    memmove(table->items + at, table->items + at + 1, (table->count - at) * sizeof *table->items);
    return item;
}

void name_table_clear(NameTable *table)
{
    free(table->items);
    *table = (NameTable){ 0 };
}
