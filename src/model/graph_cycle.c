/* Reports cycles of requisites, with the complete path. */
#include "model/graph_builder.h"

enum {
    PATH_HEAD_MAX = 1100, /* bytes shown of a path that is too long for a message */
    PATH_TAIL_MAX = 500
};

/* One hop of the path: `from` waits for `to`. */
typedef struct Hop {
    uint32_t from, to;
    const Edge *edge; /* reversed: from `to` to `from`, a prereq seen from its target */
    bool reversed;
} Hop;

/* The kinds are a set of 1 << RequisiteKind. */
static const Edge *find_edge(const GraphBuilder *builder, uint32_t from, uint32_t to,
                             unsigned kinds)
{
    for (uint32_t i = builder->hard_start[from]; i < builder->hard_start[from + 1]; i++) {
        const Edge *edge = &builder->hard.items[i];
        if (edge->to == to && (kinds >> edge->kind & 1) != 0) {
            return edge;
        }
    }
    return NULL;
}

static Hop make_hop(const GraphBuilder *builder, uint32_t from, uint32_t to, bool to_check)
{
    const unsigned prereq = 1u << REQUISITE_PREREQ;
    const unsigned plain = ~(prereq | 1u << REQUISITE_LISTEN | 1u << REQUISITE_USE);
    Hop hop = { .from = from, .to = to };
    hop.edge = to_check || from == to ? find_edge(builder, from, to, prereq) : NULL;
    hop.edge = hop.edge != NULL ? hop.edge : find_edge(builder, from, to, plain);
    if (hop.edge == NULL) {
        hop.edge = find_edge(builder, to, from, prereq);
        hop.reversed = true;
    }
    BUG_IF(hop.edge == NULL);
    return hop;
}

static const char *form_suffix(const Edge *edge)
{
    return edge->any ? "_any" : edge->all ? "_all" : "";
}

static void put_hop(const GraphBuilder *builder, const Hop *hop, bool one_job, Buf *out)
{
    const Step *to = graph_step(builder->graph, hop->to);
    const Edge *edge = hop->edge;
    const char *kind = requisite_kind_name((RequisiteKind)edge->kind);
    if (hop->reversed) {
        buf_put_format(out, " <-%s- ", kind);
    } else if (edge->origin == EDGE_RESULT || edge->origin == EDGE_CONDITION) {
        buf_put_c(out, edge->origin == EDGE_RESULT ? " -uses the result of-> "
                                                   : " -has a condition on-> ");
    } else {
        buf_put_format(out, " -%s%s%s-> ", kind, form_suffix(edge),
                       edge->origin == EDGE_EXPLICIT_REVERSED ? " (written there as _in)" : "");
    }
    Str name = one_job ? to->name : to->id;
    buf_put_format(out, "'%" STR_FMT "'", STR_ARG(name));
}

/* The complete path, or both of its ends if it is too long for a message. */
static Str print_path(const GraphBuilder *builder, const Hop *hops, uint32_t count)
{
    Arena *arena = builder->scratch;
    bool one_job = true;
    for (uint32_t i = 0; i < count; i++) {
        one_job &= graph_step(builder->graph, hops[i].to)->spec->job ==
                   graph_step(builder->graph, hops[0].to)->spec->job;
    }
    const Step *first = graph_step(builder->graph, hops[0].from);
    Buf start = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_format(&start, "'%" STR_FMT "'", STR_ARG(one_job ? first->name : first->id));
    uint32_t shown = 0;
    while (shown < count && start.len < PATH_HEAD_MAX) {
        put_hop(builder, &hops[shown++], one_job, &start);
    }
    if (shown == count) {
        return buf_str(&start);
    }
    Buf end = buf_make_in(arena, BUF_UNLIMITED);
    uint32_t last = count;
    while (last > shown && end.len < PATH_TAIL_MAX) {
        Buf hop = buf_make_in(arena, BUF_UNLIMITED);
        put_hop(builder, &hops[--last], one_job, &hop);
        Buf joined = buf_make_in(arena, BUF_UNLIMITED);
        buf_put(&joined, buf_str(&hop));
        buf_put(&joined, buf_str(&end));
        end = joined;
    }
    if (last > shown) {
        buf_put_format(&start, " ... %u more ...", last - shown);
    }
    buf_put(&start, buf_str(&end));
    return buf_str(&start);
}

/* "the 'require' on line 9", or another reason why the step waits. */
static void put_location(const GraphBuilder *builder, const Hop *hop, const Source *own, Buf *out)
{
    const Edge *edge = hop->edge;
    if (edge->origin == EDGE_RESULT || edge->origin == EDGE_CONDITION) {
        buf_put_format(out, "the use of '%" STR_FMT "'", STR_ARG(edge->detail));
    } else {
        buf_put_format(out, "the '%s%s'", requisite_kind_name((RequisiteKind)edge->kind),
                       edge->origin == EDGE_EXPLICIT_REVERSED ? "_in" : form_suffix(edge));
    }
    const Source *source = sources_get(builder->graph->sources, edge->location->source);
    if (source == own && source != NULL) {
        buf_put_format(out, " on line %u", source_location(source, edge->location->start).line);
    } else if (source != NULL) {
        buf_put_format(out, " at %" STR_FMT ":%u", STR_ARG(source->name),
                       source_location(source, edge->location->start).line);
    }
}

/* Alternatives to removing the first one. */
static Str suggest_removals(const GraphBuilder *builder, const Hop *hops, uint32_t count,
                            const Source *own)
{
    enum {
        SHOWN_MAX = 4
    };
    if (count == 1) {
        return STR("a step cannot wait for itself");
    }
    const Hop *others[SHOWN_MAX];
    uint32_t found = 0;
    for (uint32_t i = 1; i < count; i++) {
        if (hops[i].edge->location != hops[0].edge->location && found++ < SHOWN_MAX) {
            others[found - 1] = &hops[i];
        }
    }
    Buf hint = buf_make_in(builder->problems->arena, BUF_UNLIMITED);
    buf_put_c(&hint, "remove this");
    for (uint32_t i = 0; i < found && i < SHOWN_MAX; i++) {
        buf_put_c(&hint, i + 1 == found ? " or " : ", ");
        put_location(builder, others[i], own, &hint);
    }
    buf_put_c(&hint, found > SHOWN_MAX ? " or another one in the cycle" : "");
    return buf_str(&hint);
}

static void report_cycle(GraphBuilder *builder, const char *code, const char *what, const Hop *hops,
                         uint32_t count)
{
    const Value *location = hops[0].edge->location;
    Str path = print_path(builder, hops, count);
    const Source *source = sources_get(builder->graph->sources, location->source);
    Problem *problem = problems_add(builder->problems, code, source, location->start,
                                    location->span, "%s: %" STR_FMT, what, STR_ARG(path));
    problem->hint = suggest_removals(builder, hops, count, source);
}

/* The smallest member of each component with more than one member, or that waits for itself. */
static uint32_t scc_heads(const Digraph *digraph, Arena *arena, uint32_t **heads)
{
    uint32_t *scc, *sizes;
    uint32_t sccs = digraph_sccs(digraph, arena, &scc, &sizes);
    bool *reported = arena_alloc_zero(arena, sccs + 1);
    *heads = ARENA_ARRAY(arena, uint32_t, sccs);
    uint32_t count = 0;
    for (uint32_t i = 0; i < digraph->count; i++) {
        bool circular = sizes[scc[i]] > 1;
        for (uint32_t j = digraph->start[i]; j < digraph->start[i + 1] && !circular; j++) {
            circular = digraph->next[j] == i;
        }
        if (circular && !reported[scc[i]]) {
            reported[scc[i]] = true;
            (*heads)[count++] = i;
        }
    }
    return count;
}

bool graph_check_cycles(GraphBuilder *builder, const Digraph *digraph)
{
    if (digraph_sort(digraph, builder->scratch, NULL)) {
        return true;
    }
    uint32_t *heads;
    uint32_t count = scc_heads(digraph, builder->scratch, &heads);
    bool *reported = arena_alloc_zero(builder->scratch, builder->graph->steps.count);
    for (uint32_t i = 0; i < count && i < PROBLEMS_MAX; i++) {
        if (reported[builder->graph->vertices[heads[i]].step]) {
            continue; /* the checks of the same steps */
        }
        uint32_t *cycle;
        uint32_t len = digraph_cycle(digraph, heads[i], builder->scratch, &cycle);
        Hop *hops = ARENA_ARRAY(builder->scratch, Hop, len);
        uint32_t hop_count = 0;
        for (uint32_t j = 0; j < len; j++) {
            Vertex from = builder->graph->vertices[cycle[j]];
            Vertex to = builder->graph->vertices[cycle[(j + 1) % len]];
            reported[from.step] = true;
            /* The edge from a step's run to its own check is not shown. */
            if (from.step != to.step || len == 1) {
                hops[hop_count++] = make_hop(builder, from.step, to.step, to.check);
            }
        }
        report_cycle(builder, "E0403", "circular requisites", hops, hop_count);
    }
    return false;
}

bool graph_check_use_cycles(GraphBuilder *builder)
{
    VEC(DigraphPair) pairs = { 0 };
    for (uint32_t i = 0; i < builder->hard.len; i++) {
        const Edge *edge = &builder->hard.items[i];
        if (edge->kind == REQUISITE_USE) {
            VEC_PUSH(builder->scratch, &pairs,
                     (DigraphPair){ .target = edge->to, .dependent = edge->from });
        }
    }
    if (pairs.len == 0) {
        return true;
    }
    Digraph digraph =
        digraph_make(builder->scratch, builder->graph->steps.count, pairs.items, pairs.len);
    if (digraph_sort(&digraph, builder->scratch, NULL)) {
        return true;
    }
    uint32_t *heads;
    uint32_t count = scc_heads(&digraph, builder->scratch, &heads);
    for (uint32_t i = 0; i < count && i < PROBLEMS_MAX; i++) {
        uint32_t *cycle;
        uint32_t len = digraph_cycle(&digraph, heads[i], builder->scratch, &cycle);
        Hop *hops = ARENA_ARRAY(builder->scratch, Hop, len);
        for (uint32_t j = 0; j < len; j++) {
            hops[j] = (Hop){ .from = cycle[j], .to = cycle[(j + 1) % len] };
            hops[j].edge = find_edge(builder, hops[j].from, hops[j].to, 1u << REQUISITE_USE);
        }
        report_cycle(builder, "E0404", "circular 'use'", hops, len);
    }
    return false;
}
