#include "model/graph_print.h"

#include <stdlib.h>

#include "base/enum_names.h"
#include "base/json_out.h"
#include "base/utf8.h"
#include "base/visible.h"

DEFINE_ENUM_NAMES(GraphFormat, graph_format, [GRAPH_TREE] = "tree", [GRAPH_DOT] = "dot",
                  [GRAPH_SVG] = "svg", [GRAPH_JSON] = "json")

/* Marks the steps on the critical path. */
static bool *critical_marks(const Graph *graph, Arena *arena)
{
    bool *marks = arena_alloc_zero(arena, graph->steps.count);
    IndexSlice path = graph_critical_path(graph, arena);
    for (uint32_t i = 0; i < path.count; i++) {
        marks[path.items[i]] = true;
    }
    return marks;
}

/* Whether the arrow of an edge starts at `from`, as only that of a prereq does. */
static bool edge_points_on(const Edge *edge)
{
    return edge->kind == REQUISITE_PREREQ;
}

/* "require", "watch_any", "onfail_all" */
static Str edge_kind_text(const Edge *edge, Arena *arena)
{
    return arena_format(arena, "%s%s", requisite_kind_name((RequisiteKind)edge->kind),
                        edge->any   ? "_any"
                        : edge->all ? "_all"
                                    : "");
}

static void put_action(Buf *out, const Step *step)
{
    buf_put_format(out, "%s.%s", step->spec->module->name, step->spec->action->name);
}

/* --- Tree ------------------------------------------------------------------------------------ */

static void put_reason(Buf *out, const Edge *edge)
{
    switch ((EdgeOrigin)edge->origin) {
    case EDGE_EXPLICIT: return;
    case EDGE_EXPLICIT_REVERSED: buf_put_c(out, "  (written there)"); return;
    case EDGE_RESULT: buf_put_c(out, "  (uses its result)"); return;
    case EDGE_CONDITION: buf_put_c(out, "  (its condition uses the result)"); return;
    case EDGE_CLAIM: buf_put_c(out, "  (both manage "); break;
    case EDGE_NEED: buf_put_c(out, "  (needs "); break;
    }
    visible_put(out, edge->detail);
    buf_put_char(out, ')');
}

/* Locations of steps and requisites; the lines of each source are counted once. */
typedef struct Locations {
    const Sources *sources;
    Arena *arena;
    SourceLines *lines; /* by source; NULL: no locations */
    bool *has_lines;
} Locations;

static Locations locations_make(const Graph *graph, bool wanted, Arena *arena)
{
    Locations locations = { .sources = graph->sources, .arena = arena };
    if (wanted) {
        locations.lines = ARENA_ARRAY(arena, SourceLines, graph->sources->count + 1);
        locations.has_lines = arena_alloc_zero(arena, graph->sources->count + 1);
    }
    return locations;
}

static void put_location(Locations *locations, const Value *location, Buf *out)
{
    const Source *source =
        locations->lines == NULL ? NULL : sources_get(locations->sources, location->source);
    if (source == NULL) {
        return;
    }
    SourceLines *lines = &locations->lines[location->source];
    if (!locations->has_lines[location->source]) {
        locations->has_lines[location->source] = true;
        *lines = source_lines(locations->arena, source);
    }
    buf_put_c(out, "  ");
    visible_put(out, source->name);
    buf_put_format(out, ":%u", source_lines_at(lines, location->start));
}

static void print_tree(const Graph *graph, bool with_locations, Arena *arena, Buf *out)
{
    Locations locations = locations_make(graph, with_locations, arena);
    bool *critical = critical_marks(graph, arena);
    uint32_t number = 0;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        Vertex vertex = graph->vertices[graph->order[i]];
        const Step *step = graph_step(graph, vertex.step);
        if (vertex.check) {
            buf_put_c(out, "      check ");
            visible_put(out, step->id);
            buf_put_c(out, ", before steps that have it as prereq\n");
            continue;
        }
        buf_put_format(out, "%4u %s", ++number, critical[vertex.step] ? "* " : "  ");
        visible_put(out, step->id);
        buf_put_c(out, "  [");
        put_action(out, step);
        buf_put_char(out, ']');
        put_location(&locations, &step->spec->location, out);
        buf_put_char(out, '\n');
        Edges edges = graph_edges(graph, vertex.step);
        for (uint32_t j = 0; j < edges.count; j++) {
            const Edge *edge = &edges.items[j];
            Str kind = edge_kind_text(edge, arena);
            buf_put_c(out, j + 1 == edges.count ? "       `- " : "       |- ");
            buf_put_format(out, "%-10.*s ", STR_ARG(kind));
            visible_put(out, graph_step_label(graph, edge->to, vertex.step));
            put_reason(out, edge);
            put_location(&locations, edge->location, out);
            buf_put_char(out, '\n');
        }
    }
    IndexSlice path = graph_critical_path(graph, arena);
    buf_put_format(out, "%u step%s, %u edge%s; the critical path (*) has %u\n", graph->steps.count,
                   graph->steps.count == 1 ? "" : "s", graph->edge_count,
                   graph->edge_count == 1 ? "" : "s", path.count);
}

/* --- Graphviz -------------------------------------------------------------------------------- */

static void put_dot_text(Buf *out, Str s)
{
    buf_put_char(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        if (c == '"' || c == '\\') {
            buf_put_char(out, '\\');
        }
        buf_put_char(out, (unsigned char)c < ' ' || c == 0x7f ? ' ' : c);
    }
    buf_put_char(out, '"');
}

static const char *dot_style(const Edge *edge)
{
    switch ((RequisiteKind)edge->kind) {
    case REQUISITE_WATCH: return ", style=bold";
    case REQUISITE_ONCHANGES: return ", style=dashed";
    case REQUISITE_ONFAIL: return ", style=dashed, color=red";
    case REQUISITE_PREREQ: return ", style=bold, color=blue";
    case REQUISITE_LISTEN: return ", style=dotted, constraint=false";
    case REQUISITE_USE: return ", style=dotted, color=gray, constraint=false";
    case REQUISITE_ORDER: return ", color=gray";
    default: return "";
    }
}

static void print_dot(const Graph *graph, Arena *arena, Buf *out)
{
    bool *critical = critical_marks(graph, arena);
    buf_put_c(out, "digraph eden {\n    rankdir=LR;\n    node [shape=box, style=rounded];\n");
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        const Step *step = graph_step(graph, i);
        buf_put_c(out, "    ");
        put_dot_text(out, step->id);
        buf_put_c(out, " [tooltip=\"");
        put_action(out, step);
        buf_put_format(out, "\"%s];\n", critical[i] ? ", penwidth=3" : "");
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const Edge *edge = &graph->edges[i];
        const Step *from = graph_step(graph, edge->from);
        const Step *to = graph_step(graph, edge->to);
        bool on = edge_points_on(edge);
        buf_put_c(out, "    ");
        put_dot_text(out, on ? from->id : to->id);
        buf_put_c(out, " -> ");
        put_dot_text(out, on ? to->id : from->id);
        Str kind = edge_kind_text(edge, arena);
        buf_put_format(out, " [label=\"%" STR_FMT "\"%s];\n", STR_ARG(kind), dot_style(edge));
    }
    buf_put_c(out, "}\n");
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_key(Buf *out, const char *key)
{
    buf_put_format(out, "\"%s\":", key);
}

static void put_steps(const Graph *graph, Arena *arena, Buf *out)
{
    bool *critical = critical_marks(graph, arena);
    uint32_t *run_order = ARENA_ARRAY(arena, uint32_t, graph->steps.count);
    uint32_t position = 0;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        if (!graph->vertices[graph->order[i]].check) {
            run_order[graph->order[i]] = ++position;
        }
    }
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        const Step *step = graph_step(graph, i);
        buf_put_c(out, i > 0 ? ",\n{" : "\n{");
        put_key(out, "id");
        json_text_put(out, step->id);
        buf_put_format(out, ",\"index\":%u,\"name\":", i + 1);
        json_text_put(out, step->name);
        buf_put_c(out, ",\"job\":");
        json_text_put(out, step->spec->job->name);
        buf_put_c(out, ",\"action\":\"");
        put_action(out, step);
        buf_put_format(out, "\",\"run_order\":%u,\"critical\":%s}", run_order[i],
                       critical[i] ? "true" : "false");
    }
}

static void put_edges(const Graph *graph, Buf *out)
{
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const Edge *edge = &graph->edges[i];
        buf_put_c(out, i > 0 ? ",\n{" : "\n{");
        put_key(out, "from");
        json_text_put(out, graph_step(graph, edge->from)->id);
        buf_put_char(out, ',');
        put_key(out, "to");
        json_text_put(out, graph_step(graph, edge->to)->id);
        buf_put_format(out, ",\"kind\":\"%s\",\"form\":%s,\"origin\":\"%s\",\"detail\":",
                       requisite_kind_name((RequisiteKind)edge->kind),
                       edge->any   ? "\"any\""
                       : edge->all ? "\"all\""
                                   : "null",
                       edge_origin_name((EdgeOrigin)edge->origin));
        json_text_put(out, edge->detail);
        buf_put_char(out, '}');
    }
}

static void print_json(const Graph *graph, Arena *arena, Buf *out)
{
    buf_put_c(out, "{\"format\":\"eden.graph/1\",\n\"steps\":[");
    put_steps(graph, arena, out);
    buf_put_c(out, "],\n\"edges\":[");
    put_edges(graph, out);
    buf_put_c(out, "],\n\"order\":[");
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        Vertex vertex = graph->vertices[graph->order[i]];
        buf_put_c(out, i > 0 ? ",\n{" : "\n{");
        put_key(out, "id");
        json_text_put(out, graph_step(graph, vertex.step)->id);
        buf_put_format(out, ",\"phase\":\"%s\"}", vertex.check ? "check" : "run");
    }
    buf_put_c(out, "],\n\"critical_path\":[");
    IndexSlice path = graph_critical_path(graph, arena);
    for (uint32_t i = 0; i < path.count; i++) {
        buf_put_c(out, i > 0 ? "," : "");
        json_text_put(out, graph_step(graph, path.items[i])->id);
    }
    buf_put_c(out, "]}\n");
}

/* --- SVG -------------------------------------------------------------------------------------- */

/* Layered drawing without external tools: columns from left to right, each step to the right of its
 * dependencies, and within a column near their middle. */

enum {
    BOX_HEIGHT = 26,
    ROW = 40,
    GAP = 90, /* between columns, for the arrows */
    MARGIN = 20,
    LETTER = 7, /* width of a character in the font below */
    LETTERS_MAX = 42,
};

typedef struct Box {
    uint32_t step;
    uint32_t column;
    double preferred; /* preferred row */
    uint32_t row;
    uint32_t x, y, width;
} Box;

typedef struct Drawing {
    const Graph *graph;
    Box *boxes; /* by step */
    Box **sorted;
    uint32_t *column_width;
    uint32_t columns;
    uint32_t rows; /* height of the highest column */
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
    if (x->preferred < y->preferred || x->preferred > y->preferred) {
        return x->preferred < y->preferred ? -1 : 1;
    }
    return x->step < y->step ? -1 : 1;
}

/* In order, so that the columns of all dependencies are known. */
static void set_columns(Drawing *drawing, Arena *arena)
{
    const Graph *graph = drawing->graph;
    uint32_t *column = arena_alloc_zero(arena, graph->vertex_count * sizeof *column);
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        uint32_t vertex = graph->order[i];
        Vertex v = graph->vertices[vertex];
        /* A check has no box: steps that wait for it are placed like its other successors. */
        uint32_t min_column = column[vertex] + (v.check ? 0 : 1);
        IndexSlice next = graph_next(graph, vertex);
        for (uint32_t j = 0; j < next.count; j++) {
            uint32_t *dependent_column = &column[next.items[j]];
            *dependent_column = *dependent_column < min_column ? min_column : *dependent_column;
        }
        if (!v.check) {
            drawing->boxes[v.step].column = column[vertex];
            drawing->columns =
                drawing->columns > column[vertex] ? drawing->columns : column[vertex] + 1;
        }
    }
}

/* Column by column: the mean row of the predecessors. */
static void set_rows(Drawing *drawing)
{
    const Graph *graph = drawing->graph;
    uint32_t count = graph->steps.count;
    for (uint32_t i = 0; i < count; i++) {
        drawing->sorted[i] = &drawing->boxes[i];
        drawing->boxes[i].preferred = 0;
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
            box->preferred = before > 0 ? sum / before : (double)(end - i);
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

static void print_svg(const Graph *graph, Arena *arena, Buf *out)
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

    /* The successor of each step on the critical path; its own index at the end of it and for other
     * steps. */
    uint32_t *critical_next = ARENA_ARRAY(arena, uint32_t, graph->steps.count);
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        critical_next[i] = i;
    }
    IndexSlice path = graph_critical_path(graph, arena);
    for (uint32_t i = 0; i + 1 < path.count; i++) {
        critical_next[path.items[i]] = path.items[i + 1];
    }
    bool *critical = critical_marks(graph, arena);

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

/* --- Public API ------------------------------------------------------------------------------- */

void graph_print(const Graph *graph, GraphFormat format, bool with_locations, Arena *arena,
                 Buf *out)
{
    switch (format) {
    case GRAPH_TREE: print_tree(graph, with_locations, arena, out); break;
    case GRAPH_DOT: print_dot(graph, arena, out); break;
    case GRAPH_SVG: print_svg(graph, arena, out); break;
    case GRAPH_JSON: print_json(graph, arena, out); break;
    }
}
