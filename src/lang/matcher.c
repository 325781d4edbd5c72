/* An Aho-Corasick automaton. States are the nodes of the trie of needles, numbered in order of
 * creation; 0 is the root. Edges are in a single hash table keyed by state and byte: an array of
 * 256 per state would take a kilobyte for every byte of a secret. Only the root, where most bytes
 * of a text lead, has such an array. */
#include "lang/matcher.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/bug.h"
#include "base/hash.h"
#include "base/memory.h"

typedef struct Edge {
    uint32_t from; /* 0 marks a free slot: the root's edges are in `root` */
    uint32_t to;
    unsigned char byte;
} Edge;

struct Matcher {
    Arena arena;
    Edge *edges;
    uint32_t edge_mask;
    uint32_t count;     /* number of states */
    uint32_t *fallback; /* per state: longest proper suffix that is a state */
    uint32_t *match;    /* per state: length of the longest needle that is a suffix */
    uint32_t *depth;    /* per state: its length */
    uint32_t *partial;  /* per state: length of the longest suffix that is at least half a needle */
    uint32_t root[256];
    size_t longest;
};

/* Only needed while building: how each state is reached. */
typedef struct Origins {
    uint32_t *parent;
    unsigned char *byte;
    uint32_t *shortest; /* length of the shortest needle with this prefix */
} Origins;

static Edge *edge_slot(const Matcher *matcher, uint32_t from, unsigned char byte)
{
    uint32_t slot = (uint32_t)hash_u64((uint64_t)from << 8 | byte) & matcher->edge_mask;
    while (matcher->edges[slot].from != 0 &&
           (matcher->edges[slot].from != from || matcher->edges[slot].byte != byte)) {
        slot = (slot + 1) & matcher->edge_mask;
    }
    return &matcher->edges[slot];
}

/* The state after `from`, or 0 if there is no edge. */
static uint32_t edge_find(const Matcher *matcher, uint32_t from, unsigned char byte)
{
    if (from == MATCHER_START) {
        return matcher->root[byte];
    }
    const Edge *edge = edge_slot(matcher, from, byte);
    return edge->from == 0 ? 0 : edge->to;
}

static uint32_t state_add(Matcher *matcher, Origins *origins, uint32_t from, unsigned char byte)
{
    uint32_t state = matcher->count++;
    origins->parent[state] = from;
    matcher->depth[state] = matcher->depth[from] + 1;
    origins->byte[state] = byte;
    if (from == MATCHER_START) {
        matcher->root[byte] = state;
    } else {
        *edge_slot(matcher, from, byte) = (Edge){ .from = from, .to = state, .byte = byte };
    }
    return state;
}

static void needle_add(Matcher *matcher, Origins *origins, Str needle)
{
    uint32_t state = MATCHER_START;
    for (size_t i = 0; i < needle.len; i++) {
        unsigned char byte = (unsigned char)needle.data[i];
        uint32_t next = edge_find(matcher, state, byte);
        state = next != 0 ? next : state_add(matcher, origins, state, byte);
        uint32_t shortest = origins->shortest[state];
        origins->shortest[state] =
            shortest != 0 && shortest < needle.len ? shortest : (uint32_t)needle.len;
    }
    matcher->match[state] = (uint32_t)needle.len;
    if (needle.len > matcher->longest) {
        matcher->longest = needle.len;
    }
}

/* All states, shorter ones first. */
static uint32_t *states_by_depth(const Matcher *matcher, Arena *arena)
{
    size_t depths = matcher->longest + 2;
    uint32_t *starts = arena_alloc_zero(arena, depths * sizeof *starts);
    for (uint32_t state = 0; state < matcher->count; state++) {
        starts[matcher->depth[state] + 1]++;
    }
    for (size_t depth = 1; depth < depths; depth++) {
        starts[depth] += starts[depth - 1];
    }
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, matcher->count);
    for (uint32_t state = 0; state < matcher->count; state++) {
        order[starts[matcher->depth[state]]++] = state;
    }
    return order;
}

/* The fallback of a state extends that of its parent, which is shorter and therefore already
 * set. */
static void link_fallbacks(Matcher *matcher, const Origins *origins, const uint32_t *order)
{
    for (uint32_t i = 1; i < matcher->count; i++) {
        uint32_t state = order[i];
        uint32_t parent = origins->parent[state];
        uint32_t fallback = MATCHER_START;
        if (parent != MATCHER_START) {
            fallback = matcher_step(matcher, matcher->fallback[parent], origins->byte[state]);
        }
        matcher->fallback[state] = fallback;
        bool is_half = 2 * (size_t)matcher->depth[state] >= origins->shortest[state];
        matcher->partial[state] = is_half ? matcher->depth[state] : matcher->partial[fallback];
        if (matcher->match[state] == 0) {
            matcher->match[state] = matcher->match[fallback];
        }
    }
}

Matcher *matcher_new(const Str *needles, size_t count)
{
    Matcher *matcher = memory_new(sizeof *matcher);
    size_t max_states = 1;
    for (size_t i = 0; i < count; i++) {
        max_states += needles[i].len;
    }
    BUG_IF(max_states > INT32_MAX);
    size_t slots = 16;
    while (slots < max_states + max_states / 2) {
        slots *= 2;
    }
    arena_init(&matcher->arena, ARENA_UNLIMITED);
    matcher->edges = arena_alloc_zero(&matcher->arena, slots * sizeof *matcher->edges);
    matcher->edge_mask = (uint32_t)(slots - 1);
    matcher->fallback = arena_alloc_zero(&matcher->arena, max_states * sizeof(uint32_t));
    matcher->match = arena_alloc_zero(&matcher->arena, max_states * sizeof(uint32_t));
    matcher->depth = arena_alloc_zero(&matcher->arena, max_states * sizeof(uint32_t));
    matcher->partial = arena_alloc_zero(&matcher->arena, max_states * sizeof(uint32_t));
    matcher->count = 1;

    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    Origins origins = {
        .parent = arena_alloc_zero(&scratch, max_states * sizeof(uint32_t)),
        .byte = arena_alloc_zero(&scratch, max_states),
        .shortest = arena_alloc_zero(&scratch, max_states * sizeof(uint32_t)),
    };
    for (size_t i = 0; i < count; i++) {
        if (needles[i].len > 0) {
            needle_add(matcher, &origins, needles[i]);
        }
    }
    link_fallbacks(matcher, &origins, states_by_depth(matcher, &scratch));
    return matcher;
}

void matcher_free(Matcher *matcher)
{
    if (matcher != NULL) {
        arena_clear(&matcher->arena);
        free(matcher);
    }
}

uint32_t matcher_step(const Matcher *matcher, uint32_t state, unsigned char byte)
{
    for (;;) {
        uint32_t next = edge_find(matcher, state, byte);
        if (next != 0 || state == MATCHER_START) {
            return next;
        }
        state = matcher->fallback[state];
    }
}

const uint32_t *matcher_first(const Matcher *matcher)
{
    return matcher->root;
}

size_t matcher_match(const Matcher *matcher, uint32_t state)
{
    return matcher->match[state];
}

size_t matcher_depth(const Matcher *matcher, uint32_t state)
{
    return matcher->depth[state];
}

size_t matcher_partial(const Matcher *matcher, uint32_t state)
{
    return matcher->partial[state];
}

size_t matcher_longest(const Matcher *matcher)
{
    return matcher->longest;
}
