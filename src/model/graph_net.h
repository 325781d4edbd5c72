/* Numbered things and what waits for them, in two flat arrays. All walks are loops: a chain of any
 * length takes no stack. */
#pragma once

#include "base/arena.h"

typedef struct Net {
    uint32_t count;
    uint32_t *start; /* of what waits for each, in `next`; one more than `count` */
    uint32_t *next;
} Net;

/* A pair: `waiter` comes after `target`. */
typedef struct NetPair {
    uint32_t target;
    uint32_t waiter;
} NetPair;

/* The waiters of each target stand in the order of the pairs. */
Net net_make(Arena *arena, uint32_t count, const NetPair *pairs, uint32_t pair_count);

/* For each, how many it waits for; a pair that is there twice counts twice. */
uint32_t *net_waits(const Net *net, Arena *arena);

/* True when nothing waits for itself in the end. `*sorted` then holds all, targets before their
 * waiters; NULL when it is not wanted. */
bool net_sort(const Net *net, Arena *arena, uint32_t **sorted);

/* Gives each the number of its knot: those that wait for each other in a circle have the same.
 * `*sizes` holds how many each knot has; returns how many knots there are. */
uint32_t net_knots(const Net *net, Arena *arena, uint32_t **knot, uint32_t **sizes);

/* A shortest circle from `first` to itself: each of `*circle` waits for the one behind it, and
 * the last for `first`. `first` must be in one. Returns its length. */
uint32_t net_circle(const Net *net, uint32_t first, Arena *arena, uint32_t **circle);
