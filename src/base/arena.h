/* Memory for one unit of work: a load, a render, a run. Allocations are never freed one by one;
 * they all go with arena_clear(), or with arena_release() back to a mark.
 *
 * An arena has a budget. Small allocations always succeed, and going over the budget raises
 * `over_budget`, which the owner of the work looks at between steps (arena_exceeded). Anything
 * whose size depends on input by more than a constant factor must use arena_try_alloc, which
 * returns NULL instead of going over. So ordinary code has no failure paths for memory, and a
 * hostile input still cannot take more than the budget plus one step. True exhaustion aborts. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/own.h"
#include "base/poison.h"
#include "base/str.h"

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
    char *next;        /* first free byte of the current chunk */
    char *end;         /* one past the current chunk */
    ArenaChunk *chunk; /* current chunk, linked to the older ones */
    size_t held;       /* bytes in all chunks */
    size_t budget;
    bool over_budget;
} Arena;

typedef struct ArenaMark {
    ArenaChunk *chunk;
    char *next;
} ArenaMark;

#define ARENA_UNLIMITED SIZE_MAX

void arena_init(Arena *arena, size_t budget);
void arena_clear(Arena *arena); /* frees everything; the arena can be used again */
DEFINE_AUTO_CLEAR(Arena, arena_clear)

void *arena_alloc_slow(Arena *arena, size_t size);

/* Forgets everything but keeps the newest chunk for the next unit of work. */
void arena_reset(Arena *arena);

/* Never NULL. Memory is not zeroed. Aligned for any type. */
static inline void *arena_alloc(Arena *arena, size_t size)
{
    /* The free part of a chunk is a multiple of 16, so what fits still fits when rounded up. */
    if (LIKELY(size <= (size_t)(arena->end - arena->next))) {
        void *memory = arena->next;
        arena->next += (size + 15) & ~(size_t)15;
        UNPOISON(memory, size);
        return memory;
    }
    return arena_alloc_slow(arena, size);
}

/* NULL when the budget does not allow `size` more bytes; sets over_budget then. */
void *arena_try_alloc(Arena *arena, size_t size);
void *arena_alloc_zero(Arena *arena, size_t size);
/* `count` items of `size` bytes; a product that does not fit ends the program. */
void *arena_alloc_array(Arena *arena, size_t count, size_t size);

#define ARENA_NEW(arena, Type)          ((Type *)arena_alloc_zero((arena), sizeof(Type)))
#define ARENA_ARRAY(arena, Type, count) ((Type *)arena_alloc_array((arena), (count), sizeof(Type)))

static inline bool arena_exceeded(const Arena *arena)
{
    return arena->over_budget;
}

/* Bytes handed out so far, chunk tails included. */
static inline size_t arena_used(const Arena *arena)
{
    return arena->held - (size_t)(arena->end - arena->next);
}

/* Grows the block `old` of `old_size` bytes to `new_size`, which is not smaller; in place when it
 * is the newest. `old` may be NULL when its size is 0. */
void *arena_grow(Arena *arena, void *old, size_t old_size, size_t new_size);
/* The same for a block that nobody else points into: a large one is moved, not left behind. */
void *arena_regrow(Arena *arena, void *old, size_t old_size, size_t new_size);
/* Whether arena_regrow stays within the budget; to a small size it always may grow. */
bool arena_can_grow(const Arena *arena, const void *old, size_t old_size, size_t new_size);

/* Gives back the tail of the newest block; does nothing for an older one. */
static inline void arena_shrink(Arena *arena, void *block, size_t old_size, size_t new_size)
{
    size_t old_rounded = (old_size + 15) & ~(size_t)15;
    if (LIKELY(block != NULL && (char *)block + old_rounded == arena->next)) {
        arena->next = (char *)block + ((new_size + 15) & ~(size_t)15);
        POISON((char *)block + new_size, old_rounded - new_size);
    }
}

static inline ArenaMark arena_mark(const Arena *arena)
{
    return (ArenaMark){ arena->chunk, arena->next };
}
/* Everything allocated since the mark is gone. What was allocated before it must not have grown
 * meanwhile: growing in place would have put its end behind the mark. */
void arena_release_slow(Arena *arena, ArenaMark mark);
static inline void arena_release(Arena *arena, ArenaMark mark)
{
    if (LIKELY(arena->chunk == mark.chunk)) {
        POISON(mark.next, (size_t)(arena->next - mark.next));
        arena->next = mark.next;
    } else {
        arena_release_slow(arena, mark);
    }
}

Str arena_copy(Arena *arena, Str s);
char *arena_copy_c(Arena *arena, Str s);           /* NUL-terminated */
Str arena_join(Arena *arena, Str a, Str b, Str c); /* one behind the other */
/* A NUL stands behind the text. */
PRINTF_LIKE(2, 3) Str arena_format(Arena *arena, const char *format, ...);
PRINTF_LIKE(2, 0) Str arena_format_v(Arena *arena, const char *format, va_list args);
