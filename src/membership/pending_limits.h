/* Limits what unauthenticated machines can use of a server: how many wait for approval, and how
 * often they send requests. Pure: the caller provides the clock and the store.
 *
 * A source is an IPv4 address or the /64 of an IPv6 address (pending_origin). Each has its share of
 * rows and requests. When all rows are used, the source with the most rows loses its oldest one: a
 * source that requests a thousand names only evicts itself, and an honest machine stays. Requests
 * with a token need no row.
 *
 * It contains the unapproved machines that this server has seen. */
#pragma once

#include "base/rate.h"
#include "membership/pending_record.h"

enum {
    WAITING_MAX = 1000,
    WAITING_SOURCE_MAX = 50,
    /* After this time, a repeated request writes its row again. */
    WAITING_REFRESH_MS = 10 * 60 * 1000,
};

/* Rates of join requests, and of new rows. */
#define JOIN_SOURCE_LIMIT ((RateLimit){ .per_second = 20, .burst = 100 })
#define JOIN_TOTAL_LIMIT  ((RateLimit){ .per_second = 500, .burst = 1000 })
#define ROW_SOURCE_LIMIT  ((RateLimit){ .per_second = 1, .burst = WAITING_SOURCE_MAX })
#define ROW_TOTAL_LIMIT   ((RateLimit){ .per_second = 5, .burst = 200 })

typedef struct WaitingRow {
    char name[NODE_NAME_MAX + 1];
    Pin key;
    uint64_t origin;
    int64_t requested_ms;
} WaitingRow;

typedef struct PendingLimits PendingLimits;

PendingLimits *pending_limits_new(void);
void pending_limits_free(PendingLimits *limits); /* NULL is allowed */
DEFINE_AUTO(PendingLimits, pending_limits_free)

/* Whether to process another request from this source. `now_ms` must be monotonic. */
bool pending_limits_allows(PendingLimits *limits, uint64_t origin, int64_t now_ms);

typedef enum WaitingVerdict {
    WAITING_EXISTING, /* already waiting */
    WAITING_FREE,     /* there is capacity */
    WAITING_REPLACES, /* there is capacity once `*evicted` is deleted */
    WAITING_REFUSED,  /* too many new requests at present */
} WaitingVerdict;

/* Decides whether a machine may wait. For a new one this counts as an attempt. */
WaitingVerdict pending_limits_check(PendingLimits *limits, const WaitingRow *row, int64_t now_ms,
                                    WaitingRow *evicted);
/* Records that it waits, or has sent another request. */
void pending_limits_record(PendingLimits *limits, const WaitingRow *row);
/* Removes the row of this machine. */
void pending_limits_forget(PendingLimits *limits, const char *name, const Pin *key);
uint32_t pending_limits_count(const PendingLimits *limits);

/* Replaces the known rows with those from a full listing: begin, record each, end. Rows with
 * requests since the beginning stay. */
void pending_limits_begin(PendingLimits *limits);
void pending_limits_end(PendingLimits *limits);
