/* Powers of five to 128 bits, for exact conversion between decimal text and double in both
 * directions. Private to number_parse.c and number_print.c. */
#pragma once

#include <stdint.h>

enum {
    NUMBER_POWER_MIN = -342,
    NUMBER_POWER_MAX = 324
};

extern const uint64_t number_powers[NUMBER_POWER_MAX - NUMBER_POWER_MIN + 1][2];
