#include "model/graph_net.h"

#include "base/bug.h"

enum {
    NOT_SEEN = UINT32_MAX
};

static uint32_t *numbers_new(Arena *arena, uint32_t count, uint32_t value)
{
    uint32_t *numbers = ARENA_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        numbers[i] = value;
    }
    return numbers;
}

Net net_make(Arena *arena, uint32_t count, const NetPair *pairs, uint32_t pair_count)
{
    Net net = { .count = count, .start = numbers_new(arena, count + 1, 0) };
    net.next = ARENA_ARRAY(arena, uint32_t, pair_count);
    for (uint32_t i = 0; i < pair_count; i++) {
        net.start[pairs[i].target + 1]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        net.start[i + 1] += net.start[i];
    }
    /* Filling moves each start to its end, which is the start of the next one. */
    for (uint32_t i = 0; i < pair_count; i++) {
        net.next[net.start[pairs[i].target]++] = pairs[i].waiter;
    }
    for (uint32_t i = count; i > 0; i--) {
        net.start[i] = net.start[i - 1];
    }
    net.start[0] = 0;
    return net;
}

uint32_t *net_dependency_counts(const Net *net, Arena *arena)
{
    uint32_t *waits = numbers_new(arena, net->count, 0);
    for (uint32_t i = 0; i < net->start[net->count]; i++) {
        waits[net->next[i]]++;
    }
    return waits;
}

bool net_sort(const Net *net, Arena *arena, uint32_t **sorted)
{
    uint32_t *waits = net_dependency_counts(net, arena);
    uint32_t *queue = ARENA_ARRAY(arena, uint32_t, net->count);
    uint32_t queued = 0;
    for (uint32_t i = 0; i < net->count; i++) {
        if (waits[i] == 0) {
            queue[queued++] = i;
        }
    }
    for (uint32_t at = 0; at < queued; at++) {
        for (uint32_t i = net->start[queue[at]]; i < net->start[queue[at] + 1]; i++) {
            if (--waits[net->next[i]] == 0) {
                queue[queued++] = net->next[i];
            }
        }
    }
    if (sorted != NULL) {
        *sorted = queue;
    }
    return queued == net->count;
}

/* Tarjan's algorithm; `at` is the number of successors already visited for each vertex. */
uint32_t net_sccs(const Net *net, Arena *arena, uint32_t **out_scc, uint32_t **sizes)
{
    uint32_t *scc = numbers_new(arena, net->count, NOT_SEEN);
    uint32_t *number = numbers_new(arena, net->count, NOT_SEEN); /* order of discovery */
    uint32_t *lowest = ARENA_ARRAY(arena, uint32_t, net->count); /* lowest number that it reaches */
    uint32_t *at = ARENA_ARRAY(arena, uint32_t, net->count);
    uint32_t *path = ARENA_ARRAY(arena, uint32_t, net->count);
    /* visited, component not determined yet */
    uint32_t *open = ARENA_ARRAY(arena, uint32_t, net->count);
    uint32_t path_len = 0, open_len = 0, seen = 0, sccs = 0;
    *sizes = numbers_new(arena, net->count, 0);

    for (uint32_t root = 0; root < net->count; root++) {
        if (number[root] != NOT_SEEN) {
            continue;
        }
        path[path_len++] = root;
        while (path_len > 0) {
            uint32_t here = path[path_len - 1];
            if (number[here] == NOT_SEEN) {
                number[here] = lowest[here] = seen++;
                at[here] = net->start[here];
                open[open_len++] = here;
            }
            if (at[here] < net->start[here + 1]) {
                uint32_t there = net->next[at[here]++];
                if (number[there] == NOT_SEEN) {
                    path[path_len++] = there;
                } else if (scc[there] == NOT_SEEN && number[there] < lowest[here]) {
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

uint32_t net_cycle(const Net *net, uint32_t first, Arena *arena, uint32_t **circle)
{
    uint32_t *from = numbers_new(arena, net->count, NOT_SEEN);
    uint32_t *queue = ARENA_ARRAY(arena, uint32_t, net->count + 1);
    uint32_t queued = 0, last = NOT_SEEN;
    queue[queued++] = first;
    for (uint32_t at = 0; at < queued && last == NOT_SEEN; at++) {
        for (uint32_t i = net->start[queue[at]]; i < net->start[queue[at] + 1]; i++) {
            uint32_t waiter = net->next[i];
            if (waiter == first) {
                last = queue[at];
                break;
            }
            if (from[waiter] == NOT_SEEN) {
                from[waiter] = queue[at];
                queue[queued++] = waiter;
            }
        }
    }
    BUG_IF(last == NOT_SEEN);
    /* `first` waits for `last`, which waits for from[last], and so on back to `first`. */
    uint32_t len = 0;
    queue[len++] = first;
    for (uint32_t here = last; here != first; here = from[here]) {
        queue[len++] = here;
    }
    *circle = queue;
    return len;
}
