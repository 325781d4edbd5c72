/* What strangers may take of a server: how many machines wait to be approved, and how often they ask.
 * Pure: the caller has the clock and the store.
 *
 * A source is an IPv4 address or the /64 of an IPv6 address (joining_origin). Each has its share of
 * rows and requests. When all rows are taken, the source with most of them gives way, its oldest row
 * first: who asks under a thousand names pushes out only itself, and a machine that waits honestly
 * stays. Requests with a token take no row.
 *
 * The room knows machines that are not approved yet, as far as this server has seen them. */
#pragma once

#include "base/rate.h"
#include "membership/joining_record.h"

enum {
    WAITING_MAX = 1000,
    WAITING_SOURCE_MAX = 50,
    /* So long after it was written a row is written again when its machine asks. */
    WAITING_REFRESH_MS = 10 * 60 * 1000,
};

/* Of join requests; a row is what a machine writes that was not there. */
#define JOIN_SOURCE_LIMIT ((RateLimit){ .per_second = 20, .burst = 100 })
#define JOIN_TOTAL_LIMIT  ((RateLimit){ .per_second = 500, .burst = 1000 })
#define ROW_SOURCE_LIMIT  ((RateLimit){ .per_second = 1, .burst = WAITING_SOURCE_MAX })
#define ROW_TOTAL_LIMIT   ((RateLimit){ .per_second = 5, .burst = 200 })

typedef struct WaitingRow {
    char name[NODE_NAME_MAX + 1];
    Pin key;
    uint64_t origin;
    int64_t asked_ms;
} WaitingRow;

typedef struct WaitingRoom WaitingRoom;

WaitingRoom *waiting_room_new(void);
void waiting_room_free(WaitingRoom *room); /* NULL is allowed */
DEFINE_AUTO(WaitingRoom, waiting_room_free)

/* Whether one more request of this source is looked at. `now_ms` is of a clock that does not go back. */
bool waiting_room_may_ask(WaitingRoom *room, uint64_t origin, int64_t now_ms);

typedef enum WaitingPlace {
    WAITING_KNOWN,    /* it waits already */
    WAITING_FREE,     /* there is room */
    WAITING_REPLACES, /* there is when `*victim` has gone */
    WAITING_REFUSED,  /* too many new ones at present */
} WaitingPlace;

/* Where a machine is to wait. Of a new one it counts as an attempt. */
WaitingPlace waiting_room_place(WaitingRoom *room, const WaitingRow *row, int64_t now_ms,
                                WaitingRow *victim);
/* It waits, or has asked again. */
void waiting_room_note(WaitingRoom *room, const WaitingRow *row);
/* It does not, or not any more. */
void waiting_room_forget(WaitingRoom *room, const char *name, const Pin *key);
uint32_t waiting_room_count(const WaitingRoom *room);

/* The rows of a whole listing replace those that are known: begin, note each, end. Rows that asked
 * since the beginning stay. */
void waiting_room_begin(WaitingRoom *room);
void waiting_room_end(WaitingRoom *room);
