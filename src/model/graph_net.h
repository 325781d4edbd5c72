/* A dependency graph of integers, in two flat arrays. All traversals are iterative: a chain of any
 * length needs no stack. */
#pragma once

#include "base/arena.h"

typedef struct Net {
    uint32_t count;
    uint32_t *start; /* offsets of each vertex's successors in `next`; one more than `count` */
    uint32_t *next;
} Net;

/* A pair: `waiter` comes after `target`. */
typedef struct NetPair {
    uint32_t target;
    uint32_t waiter;
} NetPair;

/* The waiters of each target are in the order of the pairs. */
Net net_make(Arena *arena, uint32_t count, const NetPair *pairs, uint32_t pair_count);

/* Number of dependencies of each; duplicate pairs count twice. */
uint32_t *net_dependency_counts(const Net *net, Arena *arena);

/* Returns true if there is no cycle. `*sorted` (may be NULL) then contains all vertices, targets
 * before their waiters. */
bool net_sort(const Net *net, Arena *arena, uint32_t **sorted);

/* Strongly connected components: assigns each vertex the number of its component. `*sizes` has the
 * size of each component; returns their number. */
uint32_t net_sccs(const Net *net, Arena *arena, uint32_t **scc, uint32_t **sizes);

/* A shortest cycle from `first` to itself: each of `*circle` waits for the next one, and the last
 * one for `first`. `first` must be in a cycle. Returns its length. */
uint32_t net_cycle(const Net *net, uint32_t first, Arena *arena, uint32_t **circle);
