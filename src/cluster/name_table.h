/* Items by their names, sorted: found by halving, which for a hundred thousand takes as long as a
 * hash does. The items are the caller's; whatever they are, they begin with a TableName. */
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
    uint32_t count, room;
} NameTable;

void *name_table_find(const NameTable *table, Str name); /* NULL: none */
/* Puts the item under its name. What was there is given back, NULL: nothing. */
void *name_table_put(NameTable *table, void *item);
/* Takes it out; NULL: there is none. */
void *name_table_take(NameTable *table, Str name);
/* Frees the table itself: the items must have been. */
void name_table_clear(NameTable *table);
