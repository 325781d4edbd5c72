/* Processes text in chunks of 16 bytes. Uses the compiler's portable vectors; on most targets each
 * operation is a single instruction. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    CHUNK_BYTES = 16
};

/* A comparison of two chunks yields -1 in every byte where it holds, and 0 elsewhere. Bytes are
 * signed: non-ASCII bytes are less than all others. */
typedef int8_t Chunk __attribute__((vector_size(CHUNK_BYTES)));

/* Space for `len` bytes that are written in whole chunks. */
static inline size_t chunk_capacity(size_t len)
{
    return (len + CHUNK_BYTES - 1) & ~(size_t)(CHUNK_BYTES - 1);
}

static inline Chunk chunk_splat(int8_t byte)
{
    return (Chunk){ byte, byte, byte, byte, byte, byte, byte, byte,
                    byte, byte, byte, byte, byte, byte, byte, byte };
}

static inline Chunk chunk_load(const char *p)
{
    Chunk chunk;
    memcpy(&chunk, p, sizeof chunk);
    return chunk;
}

static inline void chunk_store(char *p, Chunk chunk)
{
    memcpy(p, &chunk, sizeof chunk);
}

/* Built in registers: reading a chunk that was written as two words stalls the processor. */
static inline Chunk chunk_from_words(uint64_t first, uint64_t second)
{
    typedef uint64_t Words __attribute__((vector_size(CHUNK_BYTES)));
    return (Chunk)(Words){ first, second };
}

/* The `len` bytes at `p` (1 to 15), followed by zeros. Never reads past them: the loads overlap
 * instead. */
static inline Chunk chunk_load_part(const char *p, size_t len)
{
    if (len > 8) {
        uint64_t first, last;
        memcpy(&first, p, 8);
        memcpy(&last, p + len - 8, 8);
        return chunk_from_words(first, last >> (8 * (CHUNK_BYTES - len)));
    }
    if (len >= 4) {
        uint32_t first, last;
        memcpy(&first, p, 4);
        memcpy(&last, p + len - 4, 4);
        return chunk_from_words(first | (uint64_t)last << (8 * (len - 4)), 0);
    }
    return chunk_from_words((uint64_t)(unsigned char)p[0] |
                                (uint64_t)(unsigned char)p[len / 2] << (8 * (len / 2)) |
                                (uint64_t)(unsigned char)p[len - 1] << (8 * (len - 1)),
                            0);
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "parts are combined in little-endian order");

/* For the result of a comparison: bit i tells whether it holds for byte i. For any chunk: whether
 * byte i is negative. */
static inline uint32_t chunk_bits(Chunk holds)
{
#ifdef __SSE2__
    return (uint32_t)_mm_movemask_epi8((__m128i)holds);
#else
    uint32_t bits = 0;
    for (unsigned i = 0; i < CHUNK_BYTES; i++) {
        bits |= (uint32_t)(holds[i] < 0) << i;
    }
    return bits;
#endif
}

/* Shifts every byte up by one, with `first` in front; the last one is dropped. */
static inline Chunk chunk_shift_up(Chunk chunk, int8_t first)
{
#ifdef __SSE2__
    return (Chunk)_mm_slli_si128((__m128i)chunk, 1) | (Chunk){ first };
#else
    Chunk moved = { first };
    for (unsigned i = 1; i < CHUNK_BYTES; i++) {
        moved[i] = chunk[i - 1];
    }
    return moved;
#endif
}

static inline bool chunk_is_ascii(Chunk chunk)
{
    return chunk_bits(chunk) == 0;
}
