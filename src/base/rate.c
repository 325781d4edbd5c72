#include "base/rate.h"

#include "base/hash.h"

enum {
    ASSOCIATIVITY = 4 /* associativity: slots where a source may be */
};

static int64_t spent_at(const RateBucket *rate, RateLimit limit, int64_t now_ms)
{
    int64_t passed = now_ms > rate->at_ms ? now_ms - rate->at_ms : 0;
    /* After this time the bucket is full; computing more would only overflow. */
    if (passed >= rate->spent_milli / limit.per_second + 1) {
        return 0;
    }
    int64_t spent = rate->spent_milli - passed * limit.per_second;
    return spent > 0 ? spent : 0;
}

/* How much may have been spent before this amount is taken. */
static int64_t allowed_milli(RateLimit limit, int64_t amount)
{
    return amount >= limit.burst ? 0 : (limit.burst - amount) * 1000;
}

bool rate_take(RateBucket *rate, RateLimit limit, int64_t now_ms, int64_t amount)
{
    if (limit.per_second == 0) {
        return true;
    }
    int64_t spent = spent_at(rate, limit, now_ms);
    if (spent > allowed_milli(limit, amount)) {
        return false;
    }
    *rate = (RateBucket){ spent + amount * 1000, now_ms };
    return true;
}

int64_t rate_wait_ms(const RateBucket *rate, RateLimit limit, int64_t now_ms, int64_t amount)
{
    if (limit.per_second == 0) {
        return 0;
    }
    int64_t over = spent_at(rate, limit, now_ms) - allowed_milli(limit, amount);
    return over <= 0 ? 0 : (over + limit.per_second - 1) / limit.per_second;
}

bool rate_table_take(RateTable *table, uint64_t source, RateLimit limit, int64_t now_ms,
                     int64_t amount)
{
    uint64_t first =
        hash_u64(source ^ hash_seed()) % (RATE_TABLE_SIZE / ASSOCIATIVITY) * ASSOCIATIVITY;
    uint64_t chosen = first;
    for (uint64_t i = first; i < first + ASSOCIATIVITY; i++) {
        if (table->entries[i].source == source) {
            return rate_take(&table->entries[i].rate, limit, now_ms, amount);
        }
        if (table->entries[i].rate.at_ms < table->entries[chosen].rate.at_ms) {
            chosen = i;
        }
    }
    table->entries[chosen].source = source;
    table->entries[chosen].rate = (RateBucket){ 0 };
    return rate_take(&table->entries[chosen].rate, limit, now_ms, amount);
}
