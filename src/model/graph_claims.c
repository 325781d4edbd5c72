/* Orders steps that share a resource without an explicit requisite.
 *
 * Steps that claim the same resource form a chain in file order. A step that needs a resource (its
 * owner, its group, its parent directories) follows the step that claims it, wherever that is; with
 * regard to further claims of that resource it keeps file order. Removing a resource ("drops:") is
 * no reason to run before those that need it. */
#include <stdlib.h>

#include "base/search.h"
#include "base/str_map.h"
#include "model/graph_builder.h"

enum {
    PARENTS_MAX = 64 /* maximum number of parent directories of a path */
};

typedef struct Claimant {
    uint32_t pos; /* position in the order, by which the claims of a resource are sorted */
    uint32_t step;
    bool drops;
} Claimant;

typedef struct Resource {
    Str name;
    VEC(Claimant) claims;
    uint32_t first_creator; /* the first claim that does not drop it */
} Resource;

typedef struct Claim {
    Str resource;
    bool drops, needs, provides;
} Claim;

static Claim claim_parse(Value value)
{
    Claim claim = { .resource = value_str(value) };
    if (str_starts(claim.resource, STR("needs:"))) {
        claim.needs = true;
        claim.resource = str_from_offset(claim.resource, 6);
    } else if (str_starts(claim.resource, STR("drops:"))) {
        claim.drops = true;
        claim.resource = str_from_offset(claim.resource, 6);
    } else if (str_starts(claim.resource, STR("provides:"))) {
        claim.provides = true; /* implies no order */
    }
    /* "path:/" keeps its slash, "path:/srv/" does not. */
    while (str_starts(claim.resource, STR("path:")) && claim.resource.len > 6 &&
           str_ends(claim.resource, STR("/"))) {
        claim.resource.len--;
    }
    return claim;
}

/* "path:/srv/www" to "path:/srv", "path:/srv" to "path:/"; false for other resources. */
static bool parent_of(Str resource, Str *parent)
{
    if (!str_starts(resource, STR("path:/")) || resource.len <= 6) {
        return false;
    }
    size_t slash = str_find_last(resource, STR("/"));
    *parent = str_slice(resource, 0, slash <= 5 ? 6 : slash);
    return true;
}

static void add_claimant(Arena *arena, StrMap *resources, Claim claim, Claimant claimant)
{
    Resource *resource = str_map_find(resources, claim.resource);
    if (resource == NULL) {
        resource = ARENA_NEW(arena, Resource);
        resource->name = claim.resource;
        str_map_put(resources, claim.resource, resource);
    }
    if (resource->claims.len == 0 || VEC_LAST(&resource->claims).step != claimant.step) {
        VEC_PUSH(arena, &resource->claims, claimant);
    }
}

static int compare_claimants(const void *a, const void *b)
{
    uint32_t x = ((const Claimant *)a)->pos, y = ((const Claimant *)b)->pos;
    return (x > y) - (x < y);
}

static void push_soft(GraphBuilder *builder, uint32_t from, uint32_t to, EdgeOrigin origin,
                      Str resource)
{
    if (from == to) {
        return;
    }
    graph_builder_push(builder, &builder->soft,
                       (Edge){ .from = from,
                               .to = to,
                               .kind = REQUISITE_ORDER,
                               .origin = (uint8_t)origin,
                               .detail = resource,
                               .location = &graph_step(builder->graph, from)->spec->location });
}

static void sort_claims(Resource *resource)
{
    Claimant *claims = resource->claims.items;
    bool sorted = true;
    for (uint32_t i = 1; i < resource->claims.len; i++) {
        sorted &= claims[i - 1].pos < claims[i].pos;
    }
    if (!sorted) {
        qsort(claims, resource->claims.len, sizeof *claims, compare_claimants);
    }
}

static void add_chain(GraphBuilder *builder, Resource *resource)
{
    const Claimant *claims = resource->claims.items;
    while (resource->first_creator < resource->claims.len &&
           claims[resource->first_creator].drops) {
        resource->first_creator++;
    }
    for (uint32_t i = 1; i < resource->claims.len; i++) {
        push_soft(builder, claims[i].step, claims[i - 1].step, EDGE_CLAIM, resource->name);
    }
}

static void add_need(GraphBuilder *builder, uint32_t step, uint32_t pos, const Resource *resource,
                     bool hoist)
{
    const Claimant *claims = resource->claims.items;
    uint32_t before = SEARCH(resource->claims.len, i, claims[i].pos < pos);
    uint32_t after = before;
    if (after < resource->claims.len && claims[after].step == step) {
        after++; /* a step that claims what it needs is between the others */
    } else if (hoist && after == resource->first_creator && after < resource->claims.len) {
        before = ++after; /* nothing before the step creates what it needs, but the next one does */
    }
    if (before > 0) {
        push_soft(builder, step, claims[before - 1].step, EDGE_NEED, resource->name);
    }
    if (after < resource->claims.len) {
        push_soft(builder, claims[after].step, step, EDGE_NEED, resource->name);
    }
}

static void add_needs(GraphBuilder *builder, const StrMap *resources, const Step *step,
                      uint32_t pos, bool hoist)
{
    for (uint32_t i = 0; i < step->claims->len; i++) {
        Claim claim = claim_parse(step->claims->items[i]);
        Resource *resource = claim.needs ? str_map_find(resources, claim.resource) : NULL;
        if (resource != NULL) {
            add_need(builder, step->index, pos, resource, hoist);
        }
        Str parent;
        for (uint32_t depth = 0; depth < PARENTS_MAX && parent_of(claim.resource, &parent);
             depth++) {
            claim.resource = parent;
            resource = str_map_find(resources, parent);
            if (resource != NULL) {
                add_need(builder, step->index, pos, resource, hoist);
            }
        }
    }
}

/* Collects all claims; returns whether any step may need something. */
static bool collect(GraphBuilder *builder, const uint32_t *pos, StrMap *resources)
{
    const Steps *steps = &builder->graph->steps;
    str_map_init(resources, builder->scratch);
    bool needs = false;
    for (uint32_t i = 0; i < steps->count; i++) {
        const List *claims = steps->items[i].claims;
        for (uint32_t j = 0; claims != NULL && j < claims->len; j++) {
            Claim claim = claim_parse(claims->items[j]);
            needs |= claim.needs || str_starts(claim.resource, STR("path:"));
            if (!claim.needs && !claim.provides) {
                add_claimant(builder->scratch, resources, claim,
                             (Claimant){ .pos = pos[i], .step = i, .drops = claim.drops });
            }
        }
    }
    uint32_t walk = 0;
    for (StrMapEntry *entry; (entry = str_map_next(resources, &walk)) != NULL;) {
        sort_claims(entry->value);
    }
    return needs;
}

void graph_add_claims(GraphBuilder *builder, const uint32_t *pos, bool hoist)
{
    const Steps *steps = &builder->graph->steps;
    StrMap resources;
    bool needs = collect(builder, pos, &resources);
    uint32_t walk = 0;
    for (StrMapEntry *entry; (entry = str_map_next(&resources, &walk)) != NULL;) {
        add_chain(builder, entry->value);
    }
    for (uint32_t i = 0; needs && i < steps->count; i++) {
        if (steps->items[i].claims != NULL) {
            add_needs(builder, &resources, &steps->items[i], pos[i], hoist);
        }
    }
}

/* A check sees the resource between two steps that change it. */
static void order_check(GraphBuilder *builder, const Resource *resource, uint32_t check,
                        const uint32_t *position, PairVec *pairs)
{
    if (resource == NULL) {
        return;
    }
    const Claimant *claims = resource->claims.items;
    uint32_t before = SEARCH(resource->claims.len, i, claims[i].pos < position[check]);
    if (before > 0) {
        VEC_PUSH(builder->scratch, pairs,
                 (DigraphPair){ .target = claims[before - 1].step, .dependent = check });
    }
    if (before < resource->claims.len) {
        VEC_PUSH(builder->scratch, pairs,
                 (DigraphPair){ .target = check, .dependent = claims[before].step });
    }
}

void graph_order_checks(GraphBuilder *builder, const uint32_t *position, PairVec *pairs)
{
    const Graph *graph = builder->graph;
    StrMap resources;
    collect(builder, position, &resources);
    for (uint32_t i = graph->steps.count; i < graph->vertex_count; i++) {
        const List *claims = graph_step(graph, graph->vertices[i].step)->claims;
        for (uint32_t j = 0; claims != NULL && j < claims->len; j++) {
            Str name = claim_parse(claims->items[j]).resource;
            order_check(builder, str_map_find(&resources, name), i, position, pairs);
            for (uint32_t depth = 0; depth < PARENTS_MAX && parent_of(name, &name); depth++) {
                order_check(builder, str_map_find(&resources, name), i, position, pairs);
            }
        }
    }
}
