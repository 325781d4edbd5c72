/* Requisites are between steps, order is between what is done with them. A step that is the target
 * of a prereq is checked before it runs, and what has it as prereq stands in between:
 *
 *     B's other requisites  ->  check of B  ->  A (prereq B)  ->  B
 *
 * The check waits for everything that B's run waits for, except what can only come later: A
 * itself, when B requires it too, and other targets of A, of which then the check counts. */
#include "model/graph_builder.h"

typedef struct NetMaker {
    GraphBuilder *builder;
    PairVec pairs;
    const uint32_t *position;     /* of vertices; NULL: not wanted */
    const uint32_t *prereq_start; /* of the steps that have each step as prereq */
    const uint32_t *prereq_items;
} NetMaker;

void graph_set_vertices(Arena *arena, Graph *graph, const Edge *edges, uint32_t edge_count)
{
    uint32_t count = graph->steps.count;
    uint32_t checks = 0;
    graph->check_of = ARENA_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        graph->check_of[i] = VERTEX_NONE;
    }
    for (uint32_t i = 0; i < edge_count; i++) {
        const Edge *edge = &edges[i];
        if (edge->kind == REQUISITE_PREREQ && graph->check_of[edge->to] == VERTEX_NONE) {
            graph->check_of[edge->to] = 0;
            checks++;
        }
    }
    graph->vertex_count = count + checks;
    graph->vertices = ARENA_ARRAY(arena, Vertex, graph->vertex_count);
    uint32_t next = count;
    for (uint32_t i = 0; i < count; i++) {
        graph->vertices[i] = (Vertex){ .step = i };
        if (graph->check_of[i] != VERTEX_NONE) {
            graph->check_of[i] = next;
            graph->vertices[next++] = (Vertex){ .step = i, .check = true };
        }
    }
}

static void push_pair(NetMaker *maker, uint32_t waiter, uint32_t target)
{
    VEC_PUSH(maker->builder->scratch, &maker->pairs,
             (NetPair){ .target = target, .waiter = waiter });
}

static bool has_prereq(const NetMaker *maker, uint32_t step, uint32_t target)
{
    for (uint32_t i = maker->prereq_start[target]; i < maker->prereq_start[target + 1]; i++) {
        if (maker->prereq_items[i] == step) {
            return true;
        }
    }
    return false;
}

static bool share_prereq(const NetMaker *maker, uint32_t a, uint32_t b)
{
    for (uint32_t i = maker->prereq_start[a]; i < maker->prereq_start[a + 1]; i++) {
        if (has_prereq(maker, maker->prereq_items[i], b)) {
            return true;
        }
    }
    return false;
}

static void push_check(NetMaker *maker, const Edge *edge, uint32_t check)
{
    const Graph *graph = maker->builder->graph;
    uint32_t target = edge->to;
    if (has_prereq(maker, target, edge->from)) {
        return;
    }
    if (edge->kind == REQUISITE_PREREQ ||
        (graph->check_of[target] != VERTEX_NONE && share_prereq(maker, edge->from, target))) {
        target = graph->check_of[target];
    }
    if (maker->position == NULL || maker->position[target] < maker->position[check]) {
        push_pair(maker, check, target);
    }
}

static void push_edge(NetMaker *maker, const Edge *edge)
{
    if (edge->kind == REQUISITE_LISTEN || edge->kind == REQUISITE_USE) {
        return;
    }
    const Graph *graph = maker->builder->graph;
    if (edge->kind == REQUISITE_PREREQ) {
        push_pair(maker, edge->from, graph->check_of[edge->to]);
        push_pair(maker, edge->to, edge->from);
    } else {
        push_pair(maker, edge->from, edge->to);
    }
    if (graph->check_of[edge->from] != VERTEX_NONE) {
        push_check(maker, edge, graph->check_of[edge->from]);
    }
}

/* For each step, those that have it as prereq. */
static void find_prereqs(NetMaker *maker)
{
    GraphBuilder *builder = maker->builder;
    PairVec pairs = { 0 };
    for (uint32_t i = 0; i < builder->hard.len; i++) {
        const Edge *edge = &builder->hard.items[i];
        if (edge->kind == REQUISITE_PREREQ) {
            VEC_PUSH(builder->scratch, &pairs,
                     (NetPair){ .target = edge->to, .waiter = edge->from });
        }
    }
    Net net = net_make(builder->scratch, builder->graph->steps.count, pairs.items, pairs.len);
    maker->prereq_start = net.start;
    maker->prereq_items = net.next;
}

Net graph_make_net(GraphBuilder *builder, const EdgeVec *soft, const bool *left_out,
                   const uint32_t *position)
{
    Graph *graph = builder->graph;
    NetMaker maker = { .builder = builder };
    find_prereqs(&maker);
    for (uint32_t i = 0; i < builder->hard.len; i++) {
        push_edge(&maker, &builder->hard.items[i]);
    }
    maker.position = position;
    for (uint32_t i = 0; i < soft->len; i++) {
        if (left_out == NULL || !left_out[i]) {
            push_edge(&maker, &soft->items[i]);
        }
    }
    for (uint32_t i = graph->steps.count; i < graph->vertex_count; i++) {
        push_pair(&maker, graph->vertices[i].step, i);
    }
    return net_make(builder->arena, graph->vertex_count, maker.pairs.items, maker.pairs.len);
}
