/* The stored record of machines that request to join under one name: "eden.joining/2". Pure.
 *
 * A key is approved under a name, so each key has its own row: a machine that requests the name of
 * another one appears next to it and does not affect it. Rows contain their expiration time, and
 * need no lease. */
#pragma once

#include "base/buf.h"
#include "membership/node_record.h"

enum {
    PENDING_MACHINES_MAX = 8, /* maximum per name */
    JOINING_RECORD_MAX = 8 << 10
};

/* Lifetime of a request that is no longer repeated, and of an approval that is not used. */
#define PENDING_LIFETIME_MS ((int64_t)24 * 60 * 60 * 1000)

typedef struct PendingMachine {
    Pin key;
    bool is_approved;                /* this key is approved under this name; at most one row is */
    char address[ADDRESS_TEXT_SIZE]; /* of the join request; empty if approved before it */
    int64_t requested_ms;            /* time of the last request, or of the approval */
    int64_t until_ms;                /* expiration time */
    Value unknown;                   /* fields that a newer server wrote */
} PendingMachine;

typedef struct PendingRecord {
    char name[NODE_NAME_MAX + 1];
    uint32_t count;
    PendingMachine machines[PENDING_MACHINES_MAX];
    Value unknown; /* fields that a newer server wrote */
} PendingRecord;

void pending_record_print(const PendingRecord *record, Buf *out);
MUST_CHECK bool pending_record_read(Arena *arena, Str text, PendingRecord *out, Error *err);

/* Returns NULL if this key has no request. Valid until the record is changed. */
PendingMachine *pending_record_find(PendingRecord *record, const Pin *key);
/* The row to show if only one can be: the approved one, otherwise the one with the last request.
 * NULL if there is none. */
const PendingMachine *pending_record_first(const PendingRecord *record);
/* Returns the row of the key, and creates it if missing. A full record drops the oldest row of the
 * address with the most rows, but never an approved one. */
PendingMachine *pending_record_add(PendingRecord *record, const Pin *key, const char *address,
                                   int64_t now_ms);
/* Approves this key; any other is no longer approved. */
void pending_record_approve(PendingRecord *record, const Pin *key, int64_t now_ms);
void pending_record_drop(PendingRecord *record, const Pin *key);
/* Drops expired rows. Returns whether there were any. */
bool pending_record_prune(PendingRecord *record, int64_t now_ms);

/* The unit by which machines are limited: an IPv4 address, or the /64 of an IPv6 address. 0 for
 * anything else. */
uint64_t pending_origin(const char *address);
