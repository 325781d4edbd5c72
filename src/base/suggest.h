/* "Did you mean": the known name nearest to a name that is not known.
 *
 *     Suggest suggest = suggest_make(name);
 *     for (size_t i = 0; i < COUNT_OF(rows); i++) {
 *         suggest_offer(&suggest, rows[i].name);
 *     }
 *     if (suggest_found(&suggest, &nearest)) ...
 *
 * A typing error is a character too many, missing, or another one, or two neighbors swapped;
 * wrong case and `-` for `_` count half. One error is allowed per three characters and three at
 * most, so short names do not match anything at random. A beginning of a name counts too ("capi"
 * for "capitalize"). The work is bounded: names over SUGGEST_LENGTH_MAX characters and offers
 * beyond SUGGEST_OFFERS_MAX are not looked at. */
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
    unsigned best_cost; /* in half errors; UINT_MAX while nothing is near enough */
    unsigned offers;
    unsigned length;
    uint32_t wanted[SUGGEST_LENGTH_MAX]; /* code points */
} Suggest;

Suggest suggest_make(Str wanted);
/* Keeps a reference to the bytes of `candidate`. The first of equally near ones stays. */
void suggest_offer(Suggest *suggest, Str candidate);
bool suggest_found(const Suggest *suggest, Str *out);

/* All of it for an array of names. */
bool suggest_best(Str wanted, const Str *candidates, size_t count, Str *out);
