/* For states that cannot happen. BUG() prints location and reason, then aborts; never use it for
 * invalid input. */
#pragma once

#include "base/own.h"

#define BUG(...) bug_report(__FILE__, __LINE__, __VA_ARGS__)
#define BUG_IF(condition)          \
    do {                           \
        if (UNLIKELY(condition)) { \
            BUG("%s", #condition); \
        }                          \
    } while (0)

NO_RETURN PRINTF_LIKE(3, 4) void bug_report(const char *file, int line, const char *format, ...);
