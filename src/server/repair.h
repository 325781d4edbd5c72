/* Checks and repairs the store of a cluster whose server is not
 * running. Everything blocks, and runs as the user of the server. */
#pragma once

#include "base/arena.h"
#include "store/store.h"

typedef struct BadRecord {
    Str key;
    Str why;
} BadRecord;

typedef struct ClusterReport {
    int64_t revision, keys;
    Error damage;         /* ERROR_NONE: every page can be read, and no write was lost */
    const BadRecord *bad; /* records that those who need them cannot read, by key */
    uint32_t bad_count;
    bool has_more; /* of these, than are told */
} ClusterReport;

enum {
    BAD_RECORDS_MAX = 1000
};

/* ERROR_NOT_FOUND: there is no cluster or no store. ERROR_CONFLICT: a server has it open. */
MUST_CHECK bool cluster_check(Arena *arena, const char *state_dir, ClusterReport *out, Error *err);

/* Continues without the writes that were lost: as store_accept, and the store gets another id, so that
 * nodes and watches read everything again. */
MUST_CHECK bool cluster_accept_loss(Arena *arena, const char *state_dir, StoreAccepted *out,
                                    Error *err);

typedef struct RepairedRecord {
    Str why;          /* what was wrong with it */
    Str saved;        /* the file that has its value now */
    int64_t revision; /* whose value it has again; 0: it is deleted */
} RepairedRecord;

/* Saves a record that cannot be read to a file below the server's directory, and puts the newest value of
 * it back that the history has and that can be read. There is none: ERROR_NOT_FOUND, or with
 * `deletes` the record is deleted. ERROR_CONFLICT when the record can be read. */
MUST_CHECK bool cluster_repair_record(Arena *arena, const char *state_dir, Str key, bool deletes,
                                      RepairedRecord *out, Error *err);
