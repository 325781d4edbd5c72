/* Binary search in anything that has an index. */
#pragma once

#include <stdint.h>

/* How many of the first `count` places come before what is looked for, as a uint32_t: the place where it is
 * or belongs. `is_before` is an expression of the variable `at`, which the macro declares. It must be true
 * for some number of places at the start and false for all that follow, and may have no side effects:
 *
 *     uint32_t line = SEARCH(count, at, starts[at] <= offset); */
#define SEARCH(count, at, is_before)                       \
    ({                                                     \
        uint32_t low_ = 0, high_ = (uint32_t)(count);      \
        while (low_ < high_) {                             \
            const uint32_t at = low_ + (high_ - low_) / 2; \
            if (is_before) {                               \
                low_ = at + 1;                             \
            } else {                                       \
                high_ = at;                                \
            }                                              \
        }                                                  \
        low_;                                              \
    })
