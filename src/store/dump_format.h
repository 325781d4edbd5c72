/* A dump: the keys of a store as of one revision, as bytes that every backend can write and load.
 *
 *     "eden.store/1\n"  revision:8  length:1  id            whose it is, and as of when
 *     'k'  key length:4  value length:4  key  value         a key, in the order of the keys
 *     'l'  key length:4  value length:4  lease:8  ttl:8  key  value      one with a lease
 *     'e'  count:8  content:64  digest:64                   the end
 *
 * Numbers are big-endian. `content` is the SHA-256 of all records, as digits: two stores have the same
 * keys and values when it is the same. `digest` is the SHA-256 of everything before the first record,
 * the count and `content`, so that each byte is under it. Revisions of keys are not in it, since no store
 * can be told which ones to give; neither is the history.
 *
 * In place of a record there may be 'x' length:2 text: whoever wrote it could not go on, and says why. */
#pragma once

#include "store/store.h"
#include "sys/sha256.h"

#define STORE_DUMP_MAGIC STR("eden.store/1\n")

enum {
    STORE_DUMP_ID_MAX = 63,
    STORE_DUMP_WHY_MAX = 400,

    DUMP_KEY = 'k',
    DUMP_LEASED = 'l',
    DUMP_END = 'e',
    DUMP_BROKEN = 'x',
};

typedef struct StoreDumpHead {
    int64_t revision;
    char store_id[STORE_DUMP_ID_MAX + 1];
} StoreDumpHead;

typedef struct StoreDumpRecord {
    Str key, value;
    int64_t lease; /* 0: none */
    int64_t ttl_s; /* of the lease */
} StoreDumpRecord;

typedef struct StoreDumpEnd {
    int64_t count; /* of records */
    int64_t bytes; /* of the dump */
    char content[SHA256_HEX + 1], digest[SHA256_HEX + 1];
} StoreDumpEnd;
