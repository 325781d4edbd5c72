/* A dependency graph of integers, in two flat arrays. All traversals are iterative: a chain of any
 * length needs no stack. */
#pragma once

#include "base/arena.h"

typedef struct Digraph {
    uint32_t count;
    uint32_t *start; /* offsets of each vertex's successors in `next`; one more than `count` */
    uint32_t *next;
} Digraph;

/* A pair: `dependent` comes after `target`. */
typedef struct DigraphPair {
    uint32_t target;
    uint32_t dependent;
} DigraphPair;

/* The waiters of each target are in the order of the pairs. */
Digraph digraph_make(Arena *arena, uint32_t count, const DigraphPair *pairs, uint32_t pair_count);

/* Number of dependencies of each; duplicate pairs count twice. */
uint32_t *digraph_dependency_counts(const Digraph *digraph, Arena *arena);

/* Returns true if there is no cycle. `*sorted` (may be NULL) then contains all vertices, targets
 * before their waiters. */
bool digraph_sort(const Digraph *digraph, Arena *arena, uint32_t **sorted);

/* Strongly connected components: assigns each vertex the number of its component. `*sizes` has the
 * size of each component; returns their number. */
uint32_t digraph_sccs(const Digraph *digraph, Arena *arena, uint32_t **scc, uint32_t **sizes);

/* A shortest cycle from `first` to itself: each of `*cycle` waits for the next one, and the last
 * one for `first`. `first` must be in a cycle. Returns its length. */
uint32_t digraph_cycle(const Digraph *digraph, uint32_t first, Arena *arena, uint32_t **cycle);
