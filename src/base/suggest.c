#include "base/suggest.h"

#include <limits.h>

#include "base/utf8.h"

enum {
    ERROR_COST = 2,
    NEAR_COST = 1,
    ERRORS_MAX = 3,
    CHARACTERS_PER_ERROR = 3,
    PREFIX_MIN = 3
};

/* The number of code points written to `out`, or 0 if the text is empty or too long. */
static unsigned code_points(Str text, uint32_t out[SUGGEST_LENGTH_MAX])
{
    if (text.len > (size_t)SUGGEST_LENGTH_MAX * UTF8_BYTES_MAX) {
        return 0;
    }
    unsigned length = 0;
    for (size_t pos = 0; pos < text.len;) {
        if (length == SUGGEST_LENGTH_MAX) {
            return 0;
        }
        out[length++] = utf8_next(text, &pos);
    }
    return length;
}

static uint32_t folded(uint32_t code)
{
    return code == '-' ? '_' : code < 0x80 ? (uint32_t)ascii_lower((char)code) : code;
}

static unsigned substitution_cost(uint32_t a, uint32_t b)
{
    return a == b ? 0 : folded(a) == folded(b) ? NEAR_COST : ERROR_COST;
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: Levenshtein plus transposition of neighbors, which are edited only
 * once. Three rows suffice, because a transposition looks back two rows. Returns UINT_MAX beyond
 * `limit`. */
static unsigned edit_cost(const uint32_t *a, unsigned a_len, const uint32_t *b, unsigned b_len,
                          unsigned limit)
{
    unsigned rows[3][SUGGEST_LENGTH_MAX + 1];
    for (unsigned j = 0; j <= b_len; j++) {
        rows[0][j] = j * ERROR_COST;
    }
    for (unsigned i = 1; i <= a_len; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3];
        const unsigned *two_above = rows[(i + 1) % 3];
        unsigned least = row[0] = i * ERROR_COST;
        for (unsigned j = 1; j <= b_len; j++) {
            unsigned cost = above[j - 1] + substitution_cost(a[i - 1], b[j - 1]);
            cost = smaller(cost, above[j] + ERROR_COST);
            cost = smaller(cost, row[j - 1] + ERROR_COST);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost = smaller(cost, two_above[j - 2] + ERROR_COST);
            }
            row[j] = cost;
            least = smaller(least, cost);
        }
        /* A transposition can skip one row, but adds a full error to the row before it. */
        if (least > limit + ERROR_COST) {
            return UINT_MAX;
        }
    }
    unsigned cost = rows[a_len % 3][b_len];
    return cost > limit ? UINT_MAX : cost;
}

Suggest suggest_make(Str wanted)
{
    Suggest suggest = { .best_cost = UINT_MAX };
    suggest.length = code_points(wanted, suggest.wanted);
    return suggest;
}

void suggest_offer(Suggest *suggest, Str candidate)
{
    uint32_t codes[SUGGEST_LENGTH_MAX];
    unsigned wanted = suggest->length;
    if (wanted == 0 || suggest->offers >= SUGGEST_OFFERS_MAX) {
        return;
    }
    suggest->offers++;
    unsigned length = code_points(candidate, codes);
    if (length == 0) {
        return;
    }
    unsigned longer = wanted > length ? wanted : length;
    unsigned shorter = wanted > length ? length : wanted;
    unsigned errors = smaller(longer / CHARACTERS_PER_ERROR, ERRORS_MAX);
    unsigned limit = errors == 0 ? NEAR_COST : errors * ERROR_COST;
    unsigned cost = UINT_MAX;
    if (longer - shorter <= ERRORS_MAX) {
        cost = edit_cost(suggest->wanted, wanted, codes, length, limit);
    }
    /* A prefix costs as much as two errors, no matter how much is missing. */
    if (wanted >= PREFIX_MIN && wanted < length &&
        memcmp(suggest->wanted, codes, wanted * sizeof codes[0]) == 0) {
        cost = smaller(cost, 2 * ERROR_COST);
    }
    /* The name itself is not a suggestion: it exists, but not where it was looked up. */
    if (cost > 0 && cost < suggest->best_cost) {
        suggest->best = candidate;
        suggest->best_cost = cost;
    }
}

bool suggest_found(const Suggest *suggest, Str *out)
{
    if (suggest->best_cost == UINT_MAX) {
        return false;
    }
    *out = suggest->best;
    return true;
}

bool suggest_best(Str wanted, const Str *candidates, size_t count, Str *out)
{
    Suggest suggest = suggest_make(wanted);
    for (size_t i = 0; i < count; i++) {
        suggest_offer(&suggest, candidates[i]);
    }
    return suggest_found(&suggest, out);
}
