/* Items sorted by name. A binary search takes as long as a hash lookup for a hundred thousand
 * items. The items are the caller's, and must start with a TableName. */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum {
    TABLE_NAME_MAX = 64
};

typedef struct TableName {
    char text[TABLE_NAME_MAX + 1];
} TableName;

typedef struct NameTable {
    void **items;
    uint32_t count, capacity;
} NameTable;

void *name_table_find(const NameTable *table, Str name); /* NULL if not found */
/* Inserts the item under its name. Returns the item that it replaced, or NULL. */
void *name_table_put(NameTable *table, void *item);
/* Removes the item and returns it; NULL if there is none. */
void *name_table_remove(NameTable *table, Str name);
/* Frees the table itself; the items must be freed before. */
void name_table_clear(NameTable *table);
