/* Binary search in anything that can be indexed. */
#pragma once

#include <stdint.h>

/* The number of elements, out of `count`, that precede the searched one, as a uint32_t: its index,
 * or where to insert it. `is_before` is an expression of the variable `pos`, which the macro
 * declares. It must be true for some prefix of the indexes and false for all others, without side
 * effects:
 *
 *     uint32_t line = SEARCH(count, at, starts[at] <= offset); */
#define SEARCH(count, pos, is_before)                       \
    ({                                                      \
        uint32_t low_ = 0, high_ = (uint32_t)(count);       \
        while (low_ < high_) {                              \
            const uint32_t pos = low_ + (high_ - low_) / 2; \
            if (is_before) {                                \
                low_ = pos + 1;                             \
            } else {                                        \
                high_ = pos;                                \
            }                                               \
        }                                                   \
        low_;                                               \
    })
