/* Prints rows under headings, with columns as wide as their widest cell: the output of `-o table`.
 *
 *     static const char *const headings[] = { "STEP", "SINCE", NULL };
 *     Table table;
 *     table_init(&table, arena, headings);
 *     table_add(&table, name);
 *     table_add(&table, since);
 *     table_print(&table, invocation->out);
 *
 * Cells are escaped to one safe line. The last column is not padded. */
#pragma once

#include "base/vec.h"
#include "sys/stream.h"

typedef struct TableCell {
    Str text;
    uint32_t width; /* display width on a terminal */
} TableCell;

typedef struct Table {
    Arena *arena;
    const char *const *headings; /* ends with NULL */
    uint32_t columns;
    VEC(TableCell) cells; /* row by row */
} Table;

void table_init(Table *table, Arena *arena, const char *const *headings);
/* Adds the next cell, row by row. The text is copied. */
void table_add(Table *table, Str text);
/* Prints nothing if there are no rows. The last row must be complete. */
void table_print(const Table *table, Stream *out);
