/* Chunk sizes double from 4 KiB to 1 MiB, so small units of work cost one malloc and large ones
 * few. The last chunk within the budget ends exactly at the budget, so the allocation that exceeds
 * it is detected. Chunk sizes are multiples of 16. */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"

enum {
    FIRST_CHUNK = 4096,
    LARGEST_CHUNK = 1 << 20,
    HEADER = 32,
    FORMAT_BRIEF = 256 /* most formatted strings are shorter, and need a single pass */
};

struct ArenaChunk {
    ArenaChunk *previous;
    size_t size; /* size of the whole allocation, including this header */
    bool
        is_dedicated; /* allocated for a single large block, which can grow by reallocating the chunk */
};

_Static_assert(sizeof(ArenaChunk) <= HEADER, "chunk header fits its space");

static char *chunk_start(ArenaChunk *chunk)
{
    return (char *)chunk + HEADER;
}

/* The address that an empty arena uses, so that even an allocation of zero bytes is not NULL. */
static char *empty_block(void)
{
    static const _Alignas(16) char nothing[16];
    return (char *)(uintptr_t)nothing; /* never written to: it has no free bytes */
}

void arena_init(Arena *arena, size_t budget)
{
    *arena = (Arena){ .next = empty_block(), .end = empty_block(), .budget = budget };
}

void arena_clear(Arena *arena)
{
    for (ArenaChunk *chunk = arena->chunk; chunk != NULL;) {
        ArenaChunk *previous = chunk->previous;
        free(chunk);
        chunk = previous;
    }
    arena_init(arena, arena->budget);
}

static size_t round_up(size_t size)
{
    if (size > SIZE_MAX / 2) {
        memory_exhausted(size);
    }
    return (size + 15) & ~(size_t)15;
}

static void chunk_add(Arena *arena, size_t min_size)
{
    /* A single large block does not predict later allocations: sizes grow with shared chunks
     * only. */
    const ArenaChunk *shared = arena->chunk;
    while (shared != NULL && shared->is_dedicated) {
        shared = shared->previous;
    }
    size_t size = shared == NULL ? FIRST_CHUNK : shared->size * 2;
    if (size > LARGEST_CHUNK) {
        size = LARGEST_CHUNK;
    }
    size_t left = arena->chunk_bytes < arena->budget ? arena->budget - arena->chunk_bytes : 0;
    if (size > left) {
        size = left & ~(size_t)15;
    }
    bool is_dedicated = size < min_size + HEADER;
    if (is_dedicated) {
        size = min_size + HEADER;
    }
    ArenaChunk *chunk = malloc(size);
    if (chunk == NULL) {
        memory_exhausted(size);
    }
    chunk->previous = arena->chunk;
    chunk->size = size;
    chunk->is_dedicated = is_dedicated;
    arena->chunk = chunk;
    arena->next = chunk_start(chunk);
    arena->end = (char *)chunk + size;
    arena->chunk_bytes += size;
    POISON(arena->next, size - HEADER);
}

void arena_reset(Arena *arena)
{
    ArenaChunk *kept = arena->chunk;
    if (kept == NULL || kept->size > LARGEST_CHUNK) {
        arena_clear(arena);
        return;
    }
    arena->chunk = kept->previous;
    size_t budget = arena->budget;
    arena_clear(arena);
    kept->previous = NULL;
    kept->is_dedicated = false;
    *arena = (Arena){ .next = chunk_start(kept),
                      .end = (char *)kept + kept->size,
                      .chunk = kept,
                      .chunk_bytes = kept->size,
                      .budget = budget };
    POISON(arena->next, kept->size - HEADER);
}

void *arena_alloc_slow(Arena *arena, size_t size)
{
    chunk_add(arena, round_up(size));
    if (arena->chunk_bytes > arena->budget) {
        arena->over_budget = true;
    }
    void *memory = arena->next;
    arena->next += round_up(size);
    UNPOISON(memory, size);
    return memory;
}

void *arena_try_alloc(Arena *arena, size_t size)
{
    if (size > (size_t)(arena->end - arena->next)) {
        size_t left = arena->chunk_bytes < arena->budget ? arena->budget - arena->chunk_bytes : 0;
        if (left < HEADER + 15 || size > left - HEADER - 15) {
            arena->over_budget = true;
            return NULL;
        }
    }
    return arena_alloc(arena, size);
}

void *arena_alloc_zero(Arena *arena, size_t size)
{
    return memset(arena_alloc(arena, size), 0, size);
}

void *arena_alloc_array(Arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        memory_exhausted(SIZE_MAX);
    }
    return arena_alloc(arena, bytes);
}

/* Whether the block is the newest, and the only one in its chunk. */
static bool is_only_block(const Arena *arena, const void *block, size_t size)
{
    return block != NULL && arena->chunk != NULL && arena->chunk->is_dedicated &&
           block == chunk_start(arena->chunk) && (char *)block + round_up(size) == arena->next;
}

/* Reallocates the newest chunk, which contains only this block. No mark can point into it, because
 * it would have been set before the block grew. */
static void *grow_only_block(Arena *arena, size_t new_rounded)
{
    ArenaChunk *chunk = arena->chunk;
    size_t size = new_rounded + HEADER;
    arena->chunk_bytes += size - chunk->size;
    UNPOISON(chunk, chunk->size);
    chunk = realloc(chunk, size);
    if (chunk == NULL) {
        memory_exhausted(size);
    }
    chunk->size = size;
    arena->chunk = chunk;
    arena->next = arena->end = (char *)chunk + size;
    if (arena->chunk_bytes > arena->budget) {
        arena->over_budget = true;
    }
    return chunk_start(chunk);
}

void *arena_grow(Arena *arena, void *old, size_t old_size, size_t new_size)
{
    BUG_IF(new_size < old_size);
    size_t old_rounded = round_up(old_size);
    size_t new_rounded = round_up(new_size);
    if (old != NULL && (char *)old + old_rounded == arena->next &&
        new_rounded - old_rounded <= (size_t)(arena->end - arena->next)) {
        arena->next += new_rounded - old_rounded;
        UNPOISON(old, new_size);
        return old;
    }
    void *grown = arena_alloc(arena, new_size);
    if (old != NULL) {
        memcpy(grown, old, old_size);
    }
    return grown;
}

void *arena_regrow(Arena *arena, void *old, size_t old_size, size_t new_size)
{
    BUG_IF(new_size < old_size);
    return is_only_block(arena, old, old_size) ? grow_only_block(arena, round_up(new_size))
                                               : arena_grow(arena, old, old_size, new_size);
}

bool arena_can_grow(const Arena *arena, const void *old, size_t old_size, size_t new_size)
{
    size_t free = (size_t)(arena->end - arena->next);
    size_t left = arena->chunk_bytes < arena->budget ? arena->budget - arena->chunk_bytes : 0;
    if (new_size <= FIRST_CHUNK || new_size <= free) {
        return true;
    }
    size_t more = is_only_block(arena, old, old_size) ? new_size - old_size : new_size;
    return left > HEADER + 16 && more <= left - HEADER - 16;
}

void arena_release_slow(Arena *arena, ArenaMark mark)
{
    while (arena->chunk != mark.chunk) {
        ArenaChunk *chunk = arena->chunk;
        BUG_IF(chunk == NULL);
        arena->chunk = chunk->previous;
        arena->chunk_bytes -= chunk->size;
        free(chunk);
    }
    arena->next = mark.next;
    arena->end = mark.chunk == NULL ? mark.next : (char *)mark.chunk + mark.chunk->size;
    POISON(arena->next, (size_t)(arena->end - arena->next));
}

Str arena_copy(Arena *arena, Str s)
{
    if (s.len == 0) {
        return STR_EMPTY;
    }
    return str_from(memcpy(arena_alloc(arena, s.len), s.data, s.len), s.len);
}

char *arena_copy_c(Arena *arena, Str s)
{
    char *copy = arena_alloc(arena, s.len + 1);
    if (s.len > 0) {
        memcpy(copy, s.data, s.len);
    }
    copy[s.len] = '\0';
    return copy;
}

Str arena_join(Arena *arena, Str a, Str b, Str c)
{
    size_t len = a.len + b.len + c.len;
    char *text = arena_alloc(arena, len);
    char *end = text;
    const Str parts[] = { a, b, c };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (parts[i].len > 0) {
            end = mempcpy(end, parts[i].data, parts[i].len);
        }
    }
    return str_from(text, len);
}

Str arena_format_v(Arena *arena, const char *format, va_list args)
{
    char brief[FORMAT_BRIEF];
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(brief, sizeof brief, format, args);
    BUG_IF(length < 0);
    char *text = arena_alloc(arena, (size_t)length + 1);
    if ((size_t)length < sizeof brief) {
        memcpy(text, brief, (size_t)length + 1);
    } else {
        vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    return str_from(text, (size_t)length);
}

Str arena_format(Arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str text = arena_format_v(arena, format, args);
    va_end(args);
    return text;
}
