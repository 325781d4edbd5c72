#include "cli/table.h"

#include "base/visible.h"

enum {
    TABLE_GAP = 2
};

static TableCell make_cell(Arena *arena, Str text)
{
    Buf shown = buf_make_in(arena, BUF_UNLIMITED);
    uint32_t width = 0;
    for (size_t at = 0; at < text.len;) {
        VisiblePiece piece = visible_next(text, &at);
        buf_put(&shown, str_from(piece.text, piece.bytes));
        width += piece.width;
    }
    return (TableCell){ buf_str(&shown), width };
}

void table_init(Table *table, Arena *arena, const char *const *headings)
{
    *table = (Table){ .arena = arena, .headings = headings };
    while (headings[table->columns] != NULL) {
        table->columns++;
    }
}

void table_add(Table *table, Str text)
{
    VEC_PUSH(table->arena, &table->cells, make_cell(table->arena, text));
}

static void print_row(const Table *table, const TableCell *cells, const uint32_t *widths,
                      Stream *out)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    for (uint32_t i = 0; i < table->columns; i++) {
        buf_put(&line, cells[i].text);
        if (i + 1 < table->columns) {
            buf_put_repeat(&line, ' ', widths[i] - cells[i].width + TABLE_GAP);
        }
    }
    /* Empty cells at the end would leave trailing spaces. */
    while (line.len > 0 && line.data[line.len - 1] == ' ') {
        line.len--;
    }
    buf_put_char(&line, '\n');
    stream_put(out, buf_str(&line));
}

void table_print(const Table *table, Stream *out)
{
    if (table->cells.len == 0) {
        return;
    }
    BUG_IF(table->cells.len % table->columns != 0);
    uint32_t *widths = ARENA_ARRAY(table->arena, uint32_t, table->columns);
    TableCell *heads = ARENA_ARRAY(table->arena, TableCell, table->columns);
    for (uint32_t i = 0; i < table->columns; i++) {
        heads[i] = make_cell(table->arena, str_from_c(table->headings[i]));
        widths[i] = heads[i].width;
    }
    for (uint32_t i = 0; i < table->cells.len; i++) {
        uint32_t *width = &widths[i % table->columns];
        *width = table->cells.items[i].width > *width ? table->cells.items[i].width : *width;
    }
    print_row(table, heads, widths, out);
    for (uint32_t i = 0; i < table->cells.len; i += table->columns) {
        print_row(table, &table->cells.items[i], widths, out);
    }
}
