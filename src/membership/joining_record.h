/* The stored record of machines that request to join under one name: "eden.joining/2". Pure.
 *
 * A key is approved under a name, so each key has its own row: a machine that requests the
 * name of another one appears next to it and does not affect it. Rows contain their
 * expiration time, and need no lease. */
#pragma once

#include "base/buf.h"
#include "membership/node_record.h"

enum {
    JOINING_MACHINES_MAX = 8, /* of one name */
    JOINING_RECORD_MAX = 8 << 10
};

/* Of one that does not ask any more, and of an approval that is not used. */
#define JOINING_LIFE_MS ((int64_t)24 * 60 * 60 * 1000)

typedef struct JoiningMachine {
    Pin key;
    bool is_approved;                /* this key, under this name; at most one machine is */
    char address[ADDRESS_TEXT_SIZE]; /* it asked from; empty: approved before it asked */
    int64_t asked_ms;                /* last, or when it was approved */
    int64_t until_ms;                /* from then on the row means nothing */
    Value unknown;                   /* what a newer server wrote */
} JoiningMachine;

typedef struct JoiningRecord {
    char name[NODE_NAME_MAX + 1];
    uint32_t count;
    JoiningMachine machines[JOINING_MACHINES_MAX];
    Value unknown; /* the same */
} JoiningRecord;

void joining_record_print(const JoiningRecord *record, Buf *out);
MUST_CHECK bool joining_record_read(Arena *arena, Str text, JoiningRecord *out, Error *err);

/* NULL: this key does not ask. Borrowed until the record is changed. */
JoiningMachine *joining_record_find(JoiningRecord *record, const Pin *key);
/* The one to show when only one can be: the approved one, else the one that asked last. NULL when there
 * is none. */
const JoiningMachine *joining_record_first(const JoiningRecord *record);
/* The row of the key, which is made when there is none: in a full record that of the address that has
 * most rows gives way, the oldest first, and never one that is approved. */
JoiningMachine *joining_record_ask(JoiningRecord *record, const Pin *key, const char *address,
                                   int64_t now_ms);
/* Approves the key in place of any other. */
void joining_record_approve(JoiningRecord *record, const Pin *key, int64_t now_ms);
void joining_record_drop(JoiningRecord *record, const Pin *key);
/* Drops rows whose time is over. Returns whether there were any. */
bool joining_record_prune(JoiningRecord *record, int64_t now_ms);

/* Who counts as one when machines are limited: an IPv4 address, the /64 of an IPv6 address. 0 for what
 * is no such address. */
uint64_t joining_origin(const char *address);
