/* What Python's str methods and repr() know about characters: classes and case mappings.
 *
 * The data is a table made by tools/unicode-table. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum UnicodeFlag {
    UNICODE_ALPHA = 1 << 0,
    UNICODE_DECIMAL = 1 << 1,
    UNICODE_DIGIT = 1 << 2,
    UNICODE_NUMERIC = 1 << 3,
    UNICODE_LOWER = 1 << 4,
    UNICODE_UPPER = 1 << 5,
    UNICODE_TITLE = 1 << 6,
    UNICODE_SPACE = 1 << 7,
    UNICODE_PRINTABLE = 1 << 8,
    UNICODE_NAME_START = 1 << 9, /* of an identifier; `_` included */
    UNICODE_NAME_PART = 1 << 10,
    UNICODE_CASED = 1 << 11,
    UNICODE_CASE_IGNORABLE = 1 << 12,
};

typedef enum CaseMapping {
    CASE_LOWER,
    CASE_UPPER,
    CASE_TITLE,
    CASE_FOLD,
} CaseMapping;

enum {
    UNICODE_MAPPED_MAX = 3
};

/* The UnicodeFlags of a code point; 0 for what is none. */
unsigned unicode_flags(uint32_t code);

static inline bool unicode_is(uint32_t code, unsigned flags)
{
    return (unicode_flags(code) & flags) != 0;
}

/* Writes what the code point becomes and returns how many code points that is. The small sigma
 * at the end of a word is the caller's affair. */
unsigned unicode_map(uint32_t code, CaseMapping mapping, uint32_t out[UNICODE_MAPPED_MAX]);

/* What a code point with UNICODE_DECIMAL counts: 0 to 9. */
unsigned unicode_decimal_value(uint32_t code);

/* Ends a line for str.splitlines(). */
static inline bool unicode_is_line_end(uint32_t code)
{
    return (code >= '\n' && code <= '\r') || (code >= 0x1c && code <= 0x1e) || code == 0x85 ||
           code == 0x2028 || code == 0x2029;
}
