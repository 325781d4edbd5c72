/* Formats integers, two digits at a time. */
#pragma once

#include <stdint.h>
#include <string.h>

/* "00" to "99", concatenated. */
extern const char decimal_pairs[200];

static inline uint32_t decimal_pair(uint32_t number)
{
    uint16_t pair;
    memcpy(&pair, decimal_pairs + (size_t)number * 2, 2);
    return pair;
}

/* Writes the digits of `number`, at most 20, so that they end at `end`; returns their start. */
static inline char *decimal_write_before(char *end, uint64_t number)
{
    while (number >= 100) {
        end -= 2;
        memcpy(end, decimal_pairs + number % 100 * 2, 2);
        number /= 100;
    }
    if (number >= 10) {
        end -= 2;
        memcpy(end, decimal_pairs + number * 2, 2);
    } else {
        *--end = (char)('0' + number);
    }
    return end;
}
