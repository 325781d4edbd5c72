/* Memory for one unit of work: a load, a render, a run. Allocations are not freed individually;
 * arena_clear() frees all of them, arena_release() those since a mark.
 *
 * An arena has a budget. Small allocations always succeed; exceeding the budget sets `over_budget`,
 * which the owner checks between steps (arena_exceeded). Anything whose size depends on input by
 * more than a constant factor must use arena_try_alloc, which returns NULL instead of exceeding the
 * budget. So ordinary code has no error paths for memory, and hostile input cannot use more than
 * the budget plus one step. Real exhaustion aborts. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/own.h"
#include "base/str.h"

/* Marks unallocated bytes of an arena as inaccessible for AddressSanitizer. Otherwise a read past
 * the end of an allocation would hit the same malloc'ed chunk and go unnoticed in tests and
 * fuzzing. No cost in ordinary builds. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISON_WORKS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define POISON_WORKS 1
#endif

#ifdef POISON_WORKS
#include <sanitizer/asan_interface.h>
#define POISON(start, size)   ASAN_POISON_MEMORY_REGION((start), (size))
#define UNPOISON(start, size) ASAN_UNPOISON_MEMORY_REGION((start), (size))
#else
#define POISON(start, size)   ((void)(start), (void)(size))
#define UNPOISON(start, size) ((void)(start), (void)(size))
#endif

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
    char *next;         /* first free byte of the current chunk */
    char *end;          /* end of the current chunk */
    ArenaChunk *chunk;  /* current chunk, linked to older ones */
    size_t chunk_bytes; /* total bytes of all chunks */
    size_t budget;
    bool over_budget;
} Arena;

typedef struct ArenaMark {
    ArenaChunk *chunk;
    char *next;
} ArenaMark;

#define ARENA_UNLIMITED SIZE_MAX

void arena_init(Arena *arena, size_t budget);
void arena_clear(Arena *arena); /* frees everything; the arena can be reused */
DEFINE_AUTO_CLEAR(Arena, arena_clear)

void *arena_alloc_slow(Arena *arena, size_t size);

/* Discards everything but keeps the newest chunk for the next unit of work. */
void arena_reset(Arena *arena);

/* Never returns NULL. Memory is not zeroed. Aligned for any type. */
static inline void *arena_alloc(Arena *arena, size_t size)
{
    /* The free part of a chunk is a multiple of 16, so a size that fits also fits when rounded
     * up. */
    if (LIKELY(size <= (size_t)(arena->end - arena->next))) {
        void *memory = arena->next;
        arena->next += (size + 15) & ~(size_t)15;
        UNPOISON(memory, size);
        return memory;
    }
    return arena_alloc_slow(arena, size);
}

/* Returns NULL and sets over_budget if the budget does not permit `size` more bytes. */
void *arena_try_alloc(Arena *arena, size_t size);
void *arena_alloc_zero(Arena *arena, size_t size);
/* `count` items of `size` bytes; aborts if the product overflows. */
void *arena_alloc_array(Arena *arena, size_t count, size_t size);

#define ARENA_NEW(arena, Type)          ((Type *)arena_alloc_zero((arena), sizeof(Type)))
#define ARENA_ARRAY(arena, Type, count) ((Type *)arena_alloc_array((arena), (count), sizeof(Type)))

static inline bool arena_exceeded(const Arena *arena)
{
    return arena->over_budget;
}

/* Bytes allocated so far, including unused ends of chunks. */
static inline size_t arena_used(const Arena *arena)
{
    return arena->chunk_bytes - (size_t)(arena->end - arena->next);
}

/* Grows the block `old` from `old_size` to `new_size` bytes, in place if it is the newest.
 * `new_size` must not be smaller. `old` may be NULL if its size is 0. */
void *arena_grow(Arena *arena, void *old, size_t old_size, size_t new_size);
/* The same for a block without other pointers into it: a large one is moved instead of leaving the
 * old copy in the arena. */
void *arena_regrow(Arena *arena, void *old, size_t old_size, size_t new_size);
/* Whether arena_regrow stays within the budget; growing to a small size is always permitted. */
bool arena_can_grow(const Arena *arena, const void *old, size_t old_size, size_t new_size);

/* Returns the unused end of the newest block to the arena; does nothing for an older one. */
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
/* Frees everything allocated since the mark. Older blocks must not have grown in between: growing
 * in place would have moved their end past the mark. */
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
Str arena_join(Arena *arena, Str a, Str b, Str c); /* concatenates them */
/* The string is NUL-terminated. */
PRINTF_LIKE(2, 3) Str arena_format(Arena *arena, const char *format, ...);
PRINTF_LIKE(2, 0) Str arena_format_v(Arena *arena, const char *format, va_list args);
