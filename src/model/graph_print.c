#include "model/graph_print.h"

#include "base/enum_names.h"
#include "base/json_text.h"
#include "base/visible.h"
#include "model/graph_draw.h"

DEFINE_ENUM_NAMES(GraphFormat, graph_format, [GRAPH_TREE] = "tree", [GRAPH_DOT] = "dot",
                  [GRAPH_SVG] = "svg", [GRAPH_JSON] = "json")

bool *graph_critical_marks(const Graph *graph, Arena *arena)
{
    bool *marks = arena_alloc_zero(arena, graph->steps.count);
    Numbers path = graph_critical_path(graph, arena);
    for (uint32_t i = 0; i < path.count; i++) {
        marks[path.items[i]] = true;
    }
    return marks;
}

Str edge_kind_text(const Edge *edge, Arena *arena)
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

static void put_why(Buf *out, const Edge *edge)
{
    switch ((EdgeOrigin)edge->origin) {
    case EDGE_WRITTEN: return;
    case EDGE_WRITTEN_IN: buf_put_c(out, "  (written there)"); return;
    case EDGE_RESULT: buf_put_c(out, "  (uses its result)"); return;
    case EDGE_CONDITION: buf_put_c(out, "  (asks for its result in a condition)"); return;
    case EDGE_CLAIM: buf_put_c(out, "  (both manage "); break;
    case EDGE_NEED: buf_put_c(out, "  (needs "); break;
    }
    visible_put(out, edge->detail);
    buf_put_char(out, ')');
}

/* Where things are written; the lines of each source are counted once. */
typedef struct Places {
    const Sources *sources;
    Arena *arena;
    SourceLines *lines; /* by source; NULL: places are not wanted */
    bool *has_lines;
} Places;

static Places places_make(const Graph *graph, bool wanted, Arena *arena)
{
    Places places = { .sources = graph->sources, .arena = arena };
    if (wanted) {
        places.lines = ARENA_ARRAY(arena, SourceLines, graph->sources->count + 1);
        places.has_lines = arena_alloc_zero(arena, graph->sources->count + 1);
    }
    return places;
}

static void put_place(Places *places, const Value *place, Buf *out)
{
    const Source *source =
        places->lines == NULL ? NULL : sources_get(places->sources, place->source);
    if (source == NULL) {
        return;
    }
    SourceLines *lines = &places->lines[place->source];
    if (!places->has_lines[place->source]) {
        places->has_lines[place->source] = true;
        *lines = source_lines(places->arena, source);
    }
    buf_put_c(out, "  ");
    visible_put(out, source->name);
    buf_put_format(out, ":%u", source_lines_at(lines, place->start));
}

static void print_tree(const Graph *graph, bool with_places, Arena *arena, Buf *out)
{
    Places places = places_make(graph, with_places, arena);
    bool *critical = graph_critical_marks(graph, arena);
    uint32_t number = 0;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        Vertex vertex = graph->vertices[graph->order[i]];
        const Step *step = graph_step(graph, vertex.step);
        if (vertex.check) {
            buf_put_c(out, "      check ");
            visible_put(out, step->id);
            buf_put_c(out, ", for what has it as prereq\n");
            continue;
        }
        buf_put_format(out, "%4u %s", ++number, critical[vertex.step] ? "* " : "  ");
        visible_put(out, step->id);
        buf_put_c(out, "  [");
        put_action(out, step);
        buf_put_char(out, ']');
        put_place(&places, &step->spec->place, out);
        buf_put_char(out, '\n');
        Edges edges = graph_edges(graph, vertex.step);
        for (uint32_t j = 0; j < edges.count; j++) {
            const Edge *edge = &edges.items[j];
            Str kind = edge_kind_text(edge, arena);
            buf_put_c(out, j + 1 == edges.count ? "       `- " : "       |- ");
            buf_put_format(out, "%-10.*s ", STR_ARG(kind));
            visible_put(out, graph_call(graph, edge->to, vertex.step));
            put_why(out, edge);
            put_place(&places, edge->place, out);
            buf_put_char(out, '\n');
        }
    }
    Numbers path = graph_critical_path(graph, arena);
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
    bool *critical = graph_critical_marks(graph, arena);
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
    bool *critical = graph_critical_marks(graph, arena);
    uint32_t *run_order = ARENA_ARRAY(arena, uint32_t, graph->steps.count);
    uint32_t ran = 0;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        if (!graph->vertices[graph->order[i]].check) {
            run_order[graph->order[i]] = ++ran;
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
    Numbers path = graph_critical_path(graph, arena);
    for (uint32_t i = 0; i < path.count; i++) {
        buf_put_c(out, i > 0 ? "," : "");
        json_text_put(out, graph_step(graph, path.items[i])->id);
    }
    buf_put_c(out, "]}\n");
}

void graph_print(const Graph *graph, GraphFormat format, bool with_places, Arena *arena, Buf *out)
{
    switch (format) {
    case GRAPH_TREE: print_tree(graph, with_places, arena, out); break;
    case GRAPH_DOT: print_dot(graph, arena, out); break;
    case GRAPH_SVG: graph_print_svg(graph, arena, out); break;
    case GRAPH_JSON: print_json(graph, arena, out); break;
    }
}
