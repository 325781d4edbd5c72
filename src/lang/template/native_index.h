/* The names of all rows, hashed by tools/native-index at build time. Only native.c uses this. */
#pragma once

#include "lang/template/native.h"

typedef struct NativeIndex {
    const Native *const *rows;
    uint32_t count;
    const uint16_t *slots; /* index in `rows` plus one; 0 is free */
    uint32_t mask;         /* number of slots minus one */
} NativeIndex;

extern const NativeIndex filter_index;
extern const NativeIndex test_index;
extern const NativeIndex global_index;
