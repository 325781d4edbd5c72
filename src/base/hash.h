/* A fast hash of bytes for tables inside one process. Not for signatures, and not stable between
 * runs: it depends on the load address of the program, which the author of hostile keys does not
 * know. Otherwise crafted collisions could turn a map of a few megabytes into minutes of
 * probing. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/str.h"

/* Only its address matters, which differs from run to run in a position-independent program. */
extern const char hash_anchor;

static inline uint64_t hash_seed(void)
{
    return (uint64_t)(uintptr_t)&hash_anchor;
}

/* XORing the factors preserves the input if a factor is zero. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ a ^ b;
}

static inline uint64_t hash_read(const char *p, size_t len)
{
    uint64_t word = 0;
    memcpy(&word, p, len);
    return word;
}

static inline uint64_t hash_bytes(const char *p, size_t len)
{
    const uint64_t k0 = 0x9e3779b97f4a7c15u, k1 = 0xc2b2ae3d27d4eb4fu;
    uint64_t hash = k0 ^ len ^ hash_seed();
    while (len > 16) {
        hash = hash_mix(hash_read(p, 8) ^ k1, hash_read(p + 8, 8) ^ hash);
        p += 16;
        len -= 16;
    }
    uint64_t low, high;
    if (len >= 8) {
        low = hash_read(p, 8);
        high = hash_read(p + len - 8, 8);
    } else if (len >= 4) {
        low = hash_read(p, 4);
        high = hash_read(p + len - 4, 4);
    } else {
        low = len > 0 ? (uint64_t)(unsigned char)p[0] << 8 | (unsigned char)p[len - 1] : 0;
        high = len > 0 ? (unsigned char)p[len / 2] : 0;
    }
    return hash_mix(low ^ k1, high ^ hash);
}

static inline uint64_t hash_str(Str s)
{
    return hash_bytes(s.data, s.len);
}

/* Hash of a number; the same in every run. Tables with untrusted numbers must add hash_seed(). */
static inline uint64_t hash_u64(uint64_t value)
{
    return hash_mix(value ^ 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu);
}
