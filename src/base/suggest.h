/* "Did you mean": finds the candidate closest to an unknown name.
 *
 *     Suggest suggest = suggest_make(name);
 *     for (size_t i = 0; i < COUNT_OF(rows); i++) {
 *         suggest_offer(&suggest, rows[i].name);
 *     }
 *     if (suggest_found(&suggest, &nearest)) ...
 *
 * A typing error is an extra, missing or wrong character, or two swapped neighbors; wrong case and
 * `-` for `_` count half. One error is allowed per three characters, and at most three, so that
 * short names do not match at random. A prefix of a name matches too ("capi" for "capitalize"). The
 * work is bounded: names longer than SUGGEST_LENGTH_MAX characters and candidates beyond
 * SUGGEST_OFFERS_MAX are ignored. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
    SUGGEST_LENGTH_MAX = 64,
    SUGGEST_OFFERS_MAX = 4096
};

typedef struct Suggest {
    Str best;
    unsigned best_cost; /* in half errors; UINT_MAX if there is no match yet */
    unsigned offers;
    unsigned length;
    uint32_t wanted[SUGGEST_LENGTH_MAX]; /* code points */
} Suggest;

Suggest suggest_make(Str wanted);
/* Stores a reference to the bytes of `candidate`. The first of equally close candidates wins. */
void suggest_offer(Suggest *suggest, Str candidate);
bool suggest_found(const Suggest *suggest, Str *out);

/* All steps for an array of names. */
bool suggest_best(Str wanted, const Str *candidates, size_t count, Str *out);
