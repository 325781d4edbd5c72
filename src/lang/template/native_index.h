/* The names of all rows, hashed at build time by tools/native-index. Only native.c looks here. */
#pragma once

#include "lang/template/native.h"

typedef struct NativeIndex {
    const Native *const *rows;
    uint32_t count;
    const uint16_t *slots; /* position in `rows` plus one; 0 is free */
    uint32_t mask;         /* number of slots less one */
} NativeIndex;

extern const NativeIndex filter_index;
extern const NativeIndex test_index;
extern const NativeIndex global_index;
