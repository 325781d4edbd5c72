/* A picture without other tools: columns from left to right, each step right of all that it waits
 * for, within a column near the middle of those. */
#include <stdlib.h>

#include "base/utf8.h"
#include "model/graph_draw.h"

enum {
    BOX_HEIGHT = 26,
    ROW = 40,
    GAP = 90, /* between columns: room for the arrows */
    MARGIN = 20,
    LETTER = 7, /* width of one in the font below */
    LETTERS_MAX = 42,
};

typedef struct Box {
    uint32_t step;
    uint32_t column;
    double wish; /* the row where it would like to be */
    uint32_t row;
    uint32_t x, y, width;
} Box;

typedef struct Drawing {
    const Graph *graph;
    Box *boxes; /* by step */
    Box **sorted;
    uint32_t *column_width;
    uint32_t columns;
    uint32_t rows; /* of the highest column */
    uint32_t width, height;
} Drawing;

static uint32_t letters_of(Str s)
{
    size_t count = utf8_count(s);
    return count > LETTERS_MAX ? LETTERS_MAX : (uint32_t)count;
}

static int compare_boxes(const void *a, const void *b)
{
    const Box *x = *(const Box *const *)a, *y = *(const Box *const *)b;
    if (x->column != y->column) {
        return x->column < y->column ? -1 : 1;
    }
    if (x->wish < y->wish || x->wish > y->wish) {
        return x->wish < y->wish ? -1 : 1;
    }
    return x->step < y->step ? -1 : 1;
}

/* In order, so that the columns of all that a step waits for are known. */
static void set_columns(Drawing *drawing, Arena *arena)
{
    const Graph *graph = drawing->graph;
    uint32_t *column = arena_alloc_zero(arena, graph->vertex_count * sizeof *column);
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        uint32_t vertex = graph->order[i];
        Vertex v = graph->vertices[vertex];
        /* A check has no box: what waits for it waits for the same as it does. */
        uint32_t behind = column[vertex] + (v.check ? 0 : 1);
        Numbers next = graph_next(graph, vertex);
        for (uint32_t j = 0; j < next.count; j++) {
            uint32_t *theirs = &column[next.items[j]];
            *theirs = *theirs < behind ? behind : *theirs;
        }
        if (!v.check) {
            drawing->boxes[v.step].column = column[vertex];
            drawing->columns =
                drawing->columns > column[vertex] ? drawing->columns : column[vertex] + 1;
        }
    }
}

/* Column by column: the mean row of those that its arrows come from. */
static void set_rows(Drawing *drawing)
{
    const Graph *graph = drawing->graph;
    uint32_t count = graph->steps.count;
    for (uint32_t i = 0; i < count; i++) {
        drawing->sorted[i] = &drawing->boxes[i];
        drawing->boxes[i].wish = 0;
    }
    qsort(drawing->sorted, count, sizeof *drawing->sorted, compare_boxes);
    for (uint32_t i = 0; i < count;) {
        uint32_t column = drawing->sorted[i]->column;
        uint32_t end = i;
        for (; end < count && drawing->sorted[end]->column == column; end++) {
            Box *box = drawing->sorted[end];
            Edges edges = graph_edges(graph, box->step);
            double sum = 0;
            uint32_t before = 0;
            for (uint32_t j = 0; j < edges.count; j++) {
                const Box *other = &drawing->boxes[edges.items[j].to];
                if (other->column < column) {
                    sum += other->row;
                    before++;
                }
            }
            box->wish = before > 0 ? sum / before : (double)(end - i);
        }
        qsort(&drawing->sorted[i], end - i, sizeof *drawing->sorted, compare_boxes);
        for (uint32_t j = i; j < end; j++) {
            drawing->sorted[j]->row = j - i;
        }
        drawing->rows = drawing->rows > end - i ? drawing->rows : end - i;
        i = end;
    }
}

static void set_places(Drawing *drawing, Arena *arena)
{
    const Graph *graph = drawing->graph;
    drawing->column_width =
        arena_alloc_zero(arena, (drawing->columns + 1) * sizeof *drawing->column_width);
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        Box *box = &drawing->boxes[i];
        box->width = letters_of(graph_step(graph, i)->id) * LETTER + 20;
        uint32_t *width = &drawing->column_width[box->column];
        *width = *width > box->width ? *width : box->width;
    }
    uint32_t x = MARGIN;
    uint32_t *column_x = arena_alloc_zero(arena, (drawing->columns + 1) * sizeof *column_x);
    for (uint32_t i = 0; i < drawing->columns; i++) {
        column_x[i] = x;
        x += drawing->column_width[i] + GAP;
    }
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        Box *box = &drawing->boxes[i];
        box->x = column_x[box->column];
        box->y = MARGIN + box->row * ROW;
    }
    drawing->width = drawing->columns > 0 ? x - GAP + MARGIN : 2 * MARGIN;
    drawing->height = MARGIN * 2 + drawing->rows * ROW;
}

static void put_xml(Buf *out, Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        switch (s.data[i]) {
        case '&': buf_put_c(out, "&amp;"); break;
        case '<': buf_put_c(out, "&lt;"); break;
        case '>': buf_put_c(out, "&gt;"); break;
        case '"': buf_put_c(out, "&quot;"); break;
        default: buf_put_char(out, (unsigned char)s.data[i] < ' ' ? ' ' : s.data[i]); break;
        }
    }
}

static void put_label(Buf *out, Str id)
{
    bool cut = utf8_count(id) > LETTERS_MAX;
    put_xml(out, cut ? str_slice(id, 0, utf8_index_to_offset(id, LETTERS_MAX - 1)) : id);
    buf_put_c(out, cut ? "\xe2\x80\xa6" : "");
}

static void draw_edge(const Drawing *drawing, const Edge *edge, bool critical, Arena *arena,
                      Buf *out)
{
    bool on = edge_points_on(edge);
    const Box *a = &drawing->boxes[on ? edge->from : edge->to];
    const Box *b = &drawing->boxes[on ? edge->to : edge->from];
    uint32_t x1 = a->x + a->width, y1 = a->y + BOX_HEIGHT / 2;
    uint32_t x2 = b->x, y2 = b->y + BOX_HEIGHT / 2;
    Str kind = edge_kind_text(edge, arena);
    buf_put_format(out,
                   "<path class=\"%s%s\" d=\"M%u %uC%u %u %d %u %u %u\" marker-end=\"url(#arrow)\">"
                   "<title>",
                   requisite_kind_name((RequisiteKind)edge->kind), critical ? " critical" : "", x1,
                   y1, x1 + GAP / 2, y1, (int)x2 - GAP / 2, y2, x2, y2);
    put_xml(out, kind);
    if (edge->detail.len > 0) {
        buf_put_c(out, ": ");
        put_xml(out, edge->detail);
    }
    buf_put_c(out, "</title></path>\n");
}

static void draw_box(const Drawing *drawing, const Box *box, bool critical, Buf *out)
{
    const Step *step = graph_step(drawing->graph, box->step);
    buf_put_format(out,
                   "<g%s><title>%s.%s</title><rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%d\" "
                   "rx=\"5\"/><text x=\"%u\" y=\"%u\">",
                   critical ? " class=\"critical\"" : "", step->spec->module->name,
                   step->spec->action->name, box->x, box->y, box->width, BOX_HEIGHT, box->x + 10,
                   box->y + 17);
    put_label(out, step->id);
    buf_put_c(out, "</text></g>\n");
}

static const char style[] =
    "<style>\n"
    "text{font:12px monospace;fill:#222}\n"
    "rect{fill:#fff;stroke:#666}\n"
    "path{fill:none;stroke:#666}\n"
    ".critical rect{stroke:#c60;stroke-width:3}\n"
    "path.watch{stroke-width:2}\n"
    "path.onchanges{stroke-dasharray:6 3}\n"
    "path.onfail{stroke:#c00;stroke-dasharray:6 3}\n"
    "path.prereq{stroke:#06c;stroke-width:2}\n"
    "path.listen,path.use{stroke:#999;stroke-dasharray:2 3}\n"
    "path.order{stroke:#bbb}\n"
    "path.critical{stroke:#c60;stroke-width:3}\n"
    "</style>\n"
    "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" "
    "markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
    "<path d=\"M0 0L8 4L0 8z\" style=\"fill:#666;stroke:none\"/></marker></defs>\n";

void graph_print_svg(const Graph *graph, Arena *arena, Buf *out)
{
    Drawing drawing = { .graph = graph };
    drawing.boxes = arena_alloc_zero(arena, graph->steps.count * sizeof(Box));
    drawing.sorted = ARENA_ARRAY(arena, Box *, graph->steps.count);
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        drawing.boxes[i].step = i;
    }
    set_columns(&drawing, arena);
    set_rows(&drawing);
    set_places(&drawing, arena);

    /* The next of each step on the critical path; its own number at the end of it and elsewhere. */
    uint32_t *critical_next = ARENA_ARRAY(arena, uint32_t, graph->steps.count);
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        critical_next[i] = i;
    }
    Numbers path = graph_critical_path(graph, arena);
    for (uint32_t i = 0; i + 1 < path.count; i++) {
        critical_next[path.items[i]] = path.items[i + 1];
    }
    bool *critical = graph_critical_marks(graph, arena);

    buf_put_format(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
                   "viewBox=\"0 0 %u %u\">\n",
                   drawing.width, drawing.height, drawing.width, drawing.height);
    buf_put_c(out, style);
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const Edge *edge = &graph->edges[i];
        bool on = edge_points_on(edge);
        uint32_t first = on ? edge->from : edge->to;
        uint32_t second = on ? edge->to : edge->from;
        bool is_critical = first != second && critical_next[first] == second &&
                           edge->kind != REQUISITE_LISTEN && edge->kind != REQUISITE_USE;
        draw_edge(&drawing, edge, is_critical, arena, out);
    }
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        draw_box(&drawing, &drawing.boxes[i], critical[i], out);
    }
    buf_put_c(out, "</svg>\n");
}
