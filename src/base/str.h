/* A string slice, passed by value: pointer and length, not terminated, never owned.
 *
 * Invariants: `data` may be NULL only if `len` is 0; the bytes must not change while a Str refers
 * to them. Text is UTF-8 unless a function documents otherwise. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/own.h"

typedef struct Str {
    const char *data;
    size_t len;
} Str;

#define STR(literal) ((Str){ "" literal, sizeof(literal) - 1 })
#define STR_EMPTY    ((Str){ "", 0 })

/* printf("%" STR_FMT "\n", STR_ARG(name)) */
#define STR_FMT    ".*s"
#define STR_ARG(s) (int)((s).len > 0x7fffffff ? 0x7fffffff : (s).len), ((s).len ? (s).data : "")

static inline Str str_from(const char *data, size_t len)
{
    return (Str){ data, len };
}

static inline Str str_from_c(const char *text)
{
    return text == NULL ? STR_EMPTY : (Str){ text, strlen(text) };
}

/* Equality of `len` bytes; short ones are compared inline, with loads that may overlap. */
static inline bool bytes_equal(const char *a, const char *b, size_t len)
{
    if (len > 16) {
        return memcmp(a, b, len) == 0;
    }
    uint64_t a_first = 0, a_last = 0, b_first = 0, b_last = 0;
    if (len >= 8) {
        memcpy(&a_first, a, 8);
        memcpy(&b_first, b, 8);
        memcpy(&a_last, a + len - 8, 8);
        memcpy(&b_last, b + len - 8, 8);
    } else if (len >= 4) {
        memcpy(&a_first, a, 4);
        memcpy(&b_first, b, 4);
        memcpy(&a_last, a + len - 4, 4);
        memcpy(&b_last, b + len - 4, 4);
    } else {
        for (size_t i = 0; i < len; i++) {
            if (a[i] != b[i]) {
                return false;
            }
        }
    }
    return ((a_first ^ b_first) | (a_last ^ b_last)) == 0;
}

/* Sixteen bytes at any address: copied with one load and one store. */
typedef char Bytes16 __attribute__((vector_size(16), aligned(1), may_alias));

static inline void bytes_copy_16(void *to, const void *from)
{
    *(Bytes16 *)to = *(const Bytes16 *)from;
}

/* memcpy, inlined for short pieces. */
static ALWAYS_INLINE void bytes_copy(char *to, const char *from, size_t len)
{
    if (len > 16) {
        if (UNLIKELY(len > 64)) {
            memcpy(to, from, len);
            return;
        }
        bytes_copy_16(to, from);
        if (len > 32) {
            bytes_copy_16(to + 16, from + 16);
            bytes_copy_16(to + len - 32, from + len - 32);
        }
        bytes_copy_16(to + len - 16, from + len - 16);
    } else if (len >= 8) {
        uint64_t first, last;
        memcpy(&first, from, 8);
        memcpy(&last, from + len - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + len - 8, &last, 8);
    } else if (len >= 4) {
        uint32_t first, last;
        memcpy(&first, from, 4);
        memcpy(&last, from + len - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + len - 4, &last, 4);
    } else if (len > 0) {
        to[0] = from[0];
        to[len / 2] = from[len / 2];
        to[len - 1] = from[len - 1];
    }
}

static inline bool str_eq(Str a, Str b)
{
    return a.len == b.len && bytes_equal(a.data, b.data, a.len);
}

/* Compares the first byte before computing the length of `b`: most rows of a table differ there. */
static inline bool str_eq_c(Str a, const char *b)
{
    return a.len == 0 ? *b == '\0' : a.data[0] == *b && str_eq(a, str_from_c(b));
}

static inline bool str_starts(Str s, Str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.data, prefix.data, prefix.len) == 0);
}

static inline bool str_ends(Str s, Str suffix)
{
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.data + s.len - suffix.len, suffix.data, suffix.len) == 0);
}

/* The bytes from `start` up to `end`; both are clamped to the string. */
static inline Str str_slice(Str s, size_t start, size_t end)
{
    if (end > s.len) {
        end = s.len;
    }
    if (start >= end) {
        return STR_EMPTY;
    }
    return (Str){ s.data + start, end - start };
}

static inline Str str_from_offset(Str s, size_t start)
{
    return str_slice(s, start, s.len);
}

#define STR_NOT_FOUND SIZE_MAX

/* Byte offset of the first occurrence at or after `from`, or STR_NOT_FOUND. An empty needle is
 * found at `from` if that is within the string. */
size_t str_find(Str haystack, Str needle, size_t from);
/* The same from the end; an empty needle is found after the last byte. */
size_t str_find_last(Str haystack, Str needle);

/* Byte order; a prefix comes first. Returns a negative, zero or positive value. */
int str_compare(Str a, Str b);
bool str_eq_ignore_case(Str a, Str b); /* ASCII letters only */

/* Strips ASCII whitespace (space, \t \n \v \f \r) at both ends. */
Str str_trim(Str s);

/* Removes the part before the first `separator` from `rest`; returns false if `rest` is exhausted.
 * Splits "a,b,,c" into a, b, empty, c. */
bool str_split_next(Str *rest, char separator, Str *part);

/* Decimal integers with optional sign; nothing else, not even whitespace, is allowed. */
bool str_to_i64(Str s, int64_t *out);
bool str_to_u64(Str s, uint64_t *out);

static inline bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static inline bool ascii_is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static inline bool ascii_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static inline bool ascii_is_name(char c)
{
    return ascii_is_alpha(c) || ascii_is_digit(c) || c == '_';
}
static inline char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}
static inline char ascii_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}
/* 0..15, or -1 if it is not a hexadecimal digit. */
static inline int ascii_hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
