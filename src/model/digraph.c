#include "model/digraph.h"

#include "base/bug.h"

enum {
    UNVISITED = UINT32_MAX
};

static uint32_t *numbers_new(Arena *arena, uint32_t count, uint32_t value)
{
    uint32_t *numbers = ARENA_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        numbers[i] = value;
    }
    return numbers;
}

Digraph digraph_make(Arena *arena, uint32_t count, const DigraphPair *pairs, uint32_t pair_count)
{
    Digraph digraph = { .count = count, .start = numbers_new(arena, count + 1, 0) };
    digraph.next = ARENA_ARRAY(arena, uint32_t, pair_count);
    for (uint32_t i = 0; i < pair_count; i++) {
        digraph.start[pairs[i].target + 1]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        digraph.start[i + 1] += digraph.start[i];
    }
    /* Filling moves each start to its end, which is the start of the next one. */
    for (uint32_t i = 0; i < pair_count; i++) {
        digraph.next[digraph.start[pairs[i].target]++] = pairs[i].dependent;
    }
    for (uint32_t i = count; i > 0; i--) {
        digraph.start[i] = digraph.start[i - 1];
    }
    digraph.start[0] = 0;
    return digraph;
}

uint32_t *digraph_dependency_counts(const Digraph *digraph, Arena *arena)
{
    uint32_t *waits = numbers_new(arena, digraph->count, 0);
    for (uint32_t i = 0; i < digraph->start[digraph->count]; i++) {
        waits[digraph->next[i]]++;
    }
    return waits;
}

bool digraph_sort(const Digraph *digraph, Arena *arena, uint32_t **sorted)
{
    uint32_t *waits = digraph_dependency_counts(digraph, arena);
    uint32_t *queue = ARENA_ARRAY(arena, uint32_t, digraph->count);
    uint32_t queued = 0;
    for (uint32_t i = 0; i < digraph->count; i++) {
        if (waits[i] == 0) {
            queue[queued++] = i;
        }
    }
    for (uint32_t pos = 0; pos < queued; pos++) {
        for (uint32_t i = digraph->start[queue[pos]]; i < digraph->start[queue[pos] + 1]; i++) {
            if (--waits[digraph->next[i]] == 0) {
                queue[queued++] = digraph->next[i];
            }
        }
    }
    if (sorted != NULL) {
        *sorted = queue;
    }
    return queued == digraph->count;
}

/* Tarjan's algorithm; `pos` is the number of successors already visited for each vertex. */
uint32_t digraph_sccs(const Digraph *digraph, Arena *arena, uint32_t **out_scc, uint32_t **sizes)
{
    uint32_t *scc = numbers_new(arena, digraph->count, UNVISITED);
    uint32_t *number = numbers_new(arena, digraph->count, UNVISITED); /* order of discovery */
    uint32_t *lowest =
        ARENA_ARRAY(arena, uint32_t, digraph->count); /* lowest number that it reaches */
    uint32_t *pos = ARENA_ARRAY(arena, uint32_t, digraph->count);
    uint32_t *path = ARENA_ARRAY(arena, uint32_t, digraph->count);
    /* visited, component not determined yet */
    uint32_t *open = ARENA_ARRAY(arena, uint32_t, digraph->count);
    uint32_t path_len = 0, open_len = 0, seen = 0, sccs = 0;
    *sizes = numbers_new(arena, digraph->count, 0);

    for (uint32_t root = 0; root < digraph->count; root++) {
        if (number[root] != UNVISITED) {
            continue;
        }
        path[path_len++] = root;
        while (path_len > 0) {
            uint32_t here = path[path_len - 1];
            if (number[here] == UNVISITED) {
                number[here] = lowest[here] = seen++;
                pos[here] = digraph->start[here];
                open[open_len++] = here;
            }
            if (pos[here] < digraph->start[here + 1]) {
                uint32_t there = digraph->next[pos[here]++];
                if (number[there] == UNVISITED) {
                    path[path_len++] = there;
                } else if (scc[there] == UNVISITED && number[there] < lowest[here]) {
                    lowest[here] = number[there];
                }
                continue;
            }
            path_len--;
            if (path_len > 0 && lowest[here] < lowest[path[path_len - 1]]) {
                lowest[path[path_len - 1]] = lowest[here];
            }
            if (lowest[here] == number[here]) {
                uint32_t member;
                do {
                    member = open[--open_len];
                    scc[member] = sccs;
                    (*sizes)[sccs]++;
                } while (member != here);
                sccs++;
            }
        }
    }
    *out_scc = scc;
    return sccs;
}

uint32_t digraph_cycle(const Digraph *digraph, uint32_t first, Arena *arena, uint32_t **cycle)
{
    uint32_t *from = numbers_new(arena, digraph->count, UNVISITED);
    uint32_t *queue = ARENA_ARRAY(arena, uint32_t, digraph->count + 1);
    uint32_t queued = 0, last = UNVISITED;
    queue[queued++] = first;
    for (uint32_t pos = 0; pos < queued && last == UNVISITED; pos++) {
        for (uint32_t i = digraph->start[queue[pos]]; i < digraph->start[queue[pos] + 1]; i++) {
            uint32_t dependent = digraph->next[i];
            if (dependent == first) {
                last = queue[pos];
                break;
            }
            if (from[dependent] == UNVISITED) {
                from[dependent] = queue[pos];
                queue[queued++] = dependent;
            }
        }
    }
    BUG_IF(last == UNVISITED);
    /* `first` waits for `last`, which waits for from[last], and so on back to `first`. */
    uint32_t len = 0;
    queue[len++] = first;
    for (uint32_t here = last; here != first; here = from[here]) {
        queue[len++] = here;
    }
    *cycle = queue;
    return len;
}
