#include "base/crc32c.h"

#include <stdbool.h>

#if defined(__x86_64__)
#define CRC32C_HARDWARE 1
#include <nmmintrin.h>
#endif

/* Remainders for four bits; the polynomial is 0x1edc6f41, bits reversed. A table for whole bytes
 * would be faster, but processors without the instruction are rare. */
static const uint32_t nibbles[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

static uint32_t crc32c_portable(Str text)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < text.len; i++) {
        crc ^= (unsigned char)text.data[i];
        crc = crc >> 4 ^ nibbles[crc & 15];
        crc = crc >> 4 ^ nibbles[crc & 15];
    }
    return ~crc;
}

#ifdef CRC32C_HARDWARE
__attribute__((target("sse4.2"))) static uint32_t crc32c_hardware(Str text)
{
    uint64_t crc = UINT32_MAX;
    const char *p = text.data, *end = text.data + text.len;
    for (uint64_t word; end - p >= 8; p += 8) {
        memcpy(&word, p, 8);
        crc = _mm_crc32_u64(crc, word);
    }
    uint32_t rest = (uint32_t)crc;
    for (; p < end; p++) {
        rest = _mm_crc32_u8(rest, (unsigned char)*p);
    }
    return ~rest;
}
#endif

uint32_t crc32c(Str text)
{
#ifdef CRC32C_HARDWARE
    if (__builtin_cpu_supports("sse4.2") && text.len > 0) {
        return crc32c_hardware(text);
    }
#endif
    return crc32c_portable(text);
}
