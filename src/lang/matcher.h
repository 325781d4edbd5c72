/* Finds any of a set of byte strings in a single pass (Aho-Corasick automaton).
 *
 * The caller feeds bytes and stores the state, so it can search any number of streams at once,
 * including bytes that it decodes on the fly. A Matcher is immutable: threads may share it. It uses
 * about 48 bytes of memory per byte of its needles. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/own.h"
#include "base/str.h"

typedef struct Matcher Matcher;

/* Needles are copied; empty ones are ignored. Their total size must be less than 2^31 bytes. */
Matcher *matcher_new(const Str *needles, size_t count);
void matcher_free(Matcher *matcher); /* NULL is allowed */
DEFINE_AUTO(Matcher, matcher_free)

enum {
    MATCHER_START = 0
};

/* The state after one more byte. Amortized constant time over a stream. */
uint32_t matcher_step(const Matcher *matcher, uint32_t state, unsigned char byte);
/* For each byte, the state that follows MATCHER_START. For most bytes that is MATCHER_START itself,
 * and callers can skip them without calling matcher_step(). */
const uint32_t *matcher_first(const Matcher *matcher);
/* Length of the longest needle that ends with the last byte; 0 if there is none. */
size_t matcher_match(const Matcher *matcher, uint32_t state);
/* Number of most recent bytes that may begin a needle. */
size_t matcher_depth(const Matcher *matcher, uint32_t state);
/* Number of most recent bytes that are a prefix of a needle and at least half of it. */
size_t matcher_partial(const Matcher *matcher, uint32_t state);
/* Length of the longest needle. */
size_t matcher_longest(const Matcher *matcher);
