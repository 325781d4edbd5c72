/* Checks and repairs the store of a cluster whose server is not running. All functions block, and
 * run as the user of the server. */
#pragma once

#include "base/arena.h"
#include "store/store.h"

typedef struct BadRecord {
    Str key;
    Str why;
} BadRecord;

typedef struct ClusterReport {
    int64_t revision, keys;
    Error damage;         /* ERROR_NONE: every page is readable, and no write was lost */
    const BadRecord *bad; /* unreadable records, by key */
    uint32_t bad_count;
    bool has_more; /* there are more than these */
} ClusterReport;

enum {
    BAD_RECORDS_MAX = 1000
};

/* ERROR_NOT_FOUND: there is no cluster or no store. ERROR_CONFLICT: a server has it open. */
MUST_CHECK bool cluster_check(Arena *arena, const char *state_dir, ClusterReport *out, Error *err);

/* Continues without the lost writes: see store_accept. The store gets a new ID, so that nodes and
 * watches resync. */
MUST_CHECK bool cluster_accept_loss(Arena *arena, const char *state_dir, StoreAccepted *out,
                                    Error *err);

typedef struct RepairedRecord {
    Str why;          /* why it was unreadable */
    Str saved;        /* file with the previous value */
    int64_t revision; /* revision of the restored value; 0: deleted */
} RepairedRecord;

/* Saves an unreadable record to a file in the server's directory, and restores its newest readable
 * value from the history. If there is none: ERROR_NOT_FOUND, or with `deletes` the record is
 * deleted. ERROR_CONFLICT if the record is readable. */
MUST_CHECK bool cluster_repair_record(Arena *arena, const char *state_dir, Str key, bool deletes,
                                      RepairedRecord *out, Error *err);
