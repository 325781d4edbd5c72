/* Layout of the generated table used by unicode.c. Not included elsewhere. */
#pragma once

#include <stdint.h>

#include "base/own.h"

enum {
    /* Records with this bit have a mapping to several code points in unicode_specials. */
    UNICODE_SPECIAL = 1 << 13,
    UNICODE_RECORD_BITS = 10,
    UNICODE_BLOCK_BITS = 7,
    UNICODE_INDEXED = 0x20000
};

typedef struct UnicodeRecord {
    uint16_t flags;
    int32_t distance[4]; /* by CaseMapping */
} UnicodeRecord;

typedef struct UnicodeSpecial {
    uint32_t code;
    uint8_t mapping; /* CaseMapping */
    uint8_t count;
    uint16_t mapped[3];
} UnicodeSpecial;

extern const UnicodeRecord unicode_records[];
/* Ascending: first code point of a run in the upper bits, index of its record below. */
extern const uint32_t unicode_runs[];
extern const uint32_t unicode_run_count;
/* The run in which each block of code points begins, up to and including that of
 * UNICODE_INDEXED. */
extern const uint16_t unicode_run_index[];
extern const UnicodeSpecial unicode_specials[]; /* ascending by code */
extern const uint32_t unicode_special_count;
