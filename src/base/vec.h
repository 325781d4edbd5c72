/* A typed growable array in an arena. Declare the type once, then use the macros:
 *
 *     typedef VEC(Token) Tokens;
 *
 *     Tokens tokens = { 0 };
 *     VEC_PUSH(arena, &tokens, token);
 *     for (uint32_t i = 0; i < tokens.len; i++) {
 *         use(&tokens.items[i]);
 *     }
 *
 * A zeroed vector is empty. Nothing is freed: the arena owns the items. Growing by doubling wastes
 * at most as much memory as the items use, and nothing if the vector is the newest block of the
 * arena. Pointers to items are valid until the next push. There is deliberately no heap variant; a
 * vector that lives long and changes often should have a separate arena. */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/bug.h"

#define VEC(Type)     \
    struct {          \
        Type *items;  \
        uint32_t len; \
        uint32_t cap; \
    }

enum {
    VEC_FIRST_CAPACITY = 8
};

/* Ensures a capacity of `min_size` items; used by the macros. */
static inline void *vec_grow(Arena *arena, void *items, uint32_t *cap, size_t item_size,
                             size_t min_size)
{
    size_t wanted = *cap == 0 ? VEC_FIRST_CAPACITY : (size_t)*cap * 2;
    if (wanted < min_size) {
        wanted = min_size;
    }
    BUG_IF(wanted > UINT32_MAX);
    void *grown = arena_grow(arena, items, *cap * item_size, wanted * item_size);
    *cap = (uint32_t)wanted;
    return grown;
}

#define VEC_RESERVE(arena, vec, extra)                                                      \
    do {                                                                                    \
        size_t least_ = (size_t)(vec)->len + (extra);                                       \
        if (least_ > (vec)->cap) {                                                          \
            (vec)->items =                                                                  \
                vec_grow((arena), (vec)->items, &(vec)->cap, sizeof *(vec)->items, least_); \
        }                                                                                   \
    } while (0)

#define VEC_PUSH(arena, vec, ...)                   \
    do {                                            \
        VEC_RESERVE((arena), (vec), 1);             \
        (vec)->items[(vec)->len++] = (__VA_ARGS__); \
    } while (0)

/* The last item, as an lvalue. The vector must not be empty. */
#define VEC_LAST(vec) (*vec_checked((vec)->len, &(vec)->items[(vec)->len - 1]))
/* Removes and returns the last item. The vector must not be empty. */
#define VEC_POP(vec) ((vec)->items[vec_popped(&(vec)->len)])

#define vec_checked(len, pointer) \
    ({                            \
        BUG_IF((len) == 0);       \
        (pointer);                \
    })

static inline uint32_t vec_popped(uint32_t *len)
{
    BUG_IF(*len == 0);
    return --*len;
}
