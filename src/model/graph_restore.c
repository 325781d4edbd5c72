/* A graph from its parts: for a run that was recorded, where nothing is resolved again. */
#include "model/graph_builder.h"

static bool invalid(Error *err, const char *what, uint32_t at)
{
    return error_set(err, ERROR_INVALID, "the graph is damaged: %s %u", what, at);
}

static bool take_edges(Arena *arena, const GraphParts *parts, Graph *graph, Error *err)
{
    uint32_t count = graph->steps.count;
    graph->edges = parts->edges;
    graph->edge_count = parts->edge_count;
    graph->edge_start = arena_alloc_zero(arena, ((size_t)count + 1) * sizeof(uint32_t));
    NetPair *pairs = ARENA_ARRAY(arena, NetPair, parts->edge_count + 1);
    for (uint32_t i = 0; i < parts->edge_count; i++) {
        const Edge *edge = &parts->edges[i];
        if (edge->from >= count || edge->to >= count || edge->kind >= REQUISITE_KINDS ||
            edge->origin > EDGE_NEED || (i > 0 && edge->from < edge[-1].from)) {
            return invalid(err, "edge", i + 1);
        }
        graph->edge_start[edge->from + 1]++;
        pairs[i] = (NetPair){ .target = edge->to, .waiter = i };
    }
    for (uint32_t i = 0; i < count; i++) {
        graph->edge_start[i + 1] += graph->edge_start[i];
    }
    Net in = net_make(arena, count, pairs, parts->edge_count);
    graph->in_edges = in.next;
    graph->in_start = in.start;
    return true;
}

static bool take_order(Arena *arena, const GraphParts *parts, Graph *graph, Error *err)
{
    uint32_t count = graph->vertex_count;
    if (parts->order_count != count) {
        return invalid(err, "length of the order", parts->order_count);
    }
    graph->order = parts->order;
    graph->position = ARENA_ARRAY(arena, uint32_t, count + 1);
    memset(graph->position, 0xff, count * sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t vertex = parts->order[i];
        if (vertex >= count || graph->position[vertex] != VERTEX_NONE) {
            return invalid(err, "place in the order", i + 1);
        }
        graph->position[vertex] = i;
    }
    return true;
}

/* What waits comes later: so no circle can be in it. */
static bool take_next(const GraphParts *parts, Graph *graph, Error *err)
{
    graph->next = parts->next;
    graph->next_start = parts->next_start;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        for (uint32_t j = parts->next_start[i]; j < parts->next_start[i + 1]; j++) {
            uint32_t waiter = parts->next[j];
            if (waiter >= graph->vertex_count || graph->position[waiter] <= graph->position[i]) {
                return invalid(err, "what waits for vertex", i + 1);
            }
        }
    }
    return true;
}

bool graph_restore(Arena *arena, const GraphParts *parts, Graph **out, Error *err)
{
    Graph *graph = ARENA_NEW(arena, Graph);
    graph->steps = parts->steps;
    if (!take_edges(arena, parts, graph, err)) {
        return false;
    }
    graph_set_vertices(arena, graph, graph->edges, graph->edge_count);
    if (parts->vertex_count != graph->vertex_count) {
        return invalid(err, "number of vertices", parts->vertex_count);
    }
    if (!take_order(arena, parts, graph, err) || !take_next(parts, graph, err)) {
        return false;
    }
    *out = graph;
    return true;
}
