/* Finds any of a set of byte strings in one pass over a text (Aho and Corasick's automaton).
 *
 * The caller feeds bytes and keeps the state, so it can look through any number of streams at
 * once, and through bytes that it decodes on the way. A Matcher never changes once made: threads
 * may share it. It takes about 48 bytes of memory per byte of its needles. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/own.h"
#include "base/str.h"

typedef struct Matcher Matcher;

/* Needles are copied; empty ones are ignored. Together they have less than 2^31 bytes, which the
 * caller sees to. */
Matcher *matcher_new(const Str *needles, size_t count);
void matcher_free(Matcher *matcher); /* NULL is fine */
DEFINE_AUTO(Matcher, matcher_free)

enum {
    MATCHER_START = 0
};

/* The state after one more byte. Takes constant time on average over a stream. */
uint32_t matcher_step(const Matcher *matcher, uint32_t state, unsigned char byte);
/* For each byte, the state that it leads to from MATCHER_START, mostly MATCHER_START again. A
 * caller can pass over those bytes without a call. */
const uint32_t *matcher_first(const Matcher *matcher);
/* Length of the longest needle that ends with the last byte fed; 0 when none does. */
size_t matcher_match(const Matcher *matcher, uint32_t state);
/* How many of the last bytes fed may begin a needle. */
size_t matcher_depth(const Matcher *matcher, uint32_t state);
/* How many of the last bytes fed are at least half of a needle, from its beginning. */
size_t matcher_most(const Matcher *matcher, uint32_t state);
/* Length of the longest needle of all. */
size_t matcher_longest(const Matcher *matcher);
