/* What every unit test needs: cmocka with the headers it wants before it, and a comparison of
 * slices that shows both texts when they differ. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

static inline void check_str(Str actual, const char *expected, const char *file, int line)
{
    if (!str_eq_c(actual, expected)) {
        print_error("got      \"%" STR_FMT "\"\nexpected \"%s\"\n", STR_ARG(actual), expected);
        _fail(file, line);
    }
}

/* `actual` is a Str, `expected` a C string. */
#define assert_str(actual, expected) check_str((actual), (expected), __FILE__, __LINE__)
