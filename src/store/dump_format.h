/* A dump: the keys of a store as of one revision, in a format that every backend can write and
 * load.
 *
 *     "eden.store/1\n"  revision:8  length:1  id            header
 *     'k'  key length:4  value length:4  key  value         a key; keys are sorted
 *     'l'  key length:4  value length:4  lease:8  ttl:8  key  value      a key with a lease
 *     'e'  count:8  content:64  digest:64                   the end
 *
 * Integers are big-endian. `content` is the SHA-256 of all records in hexadecimal: it matches if
 * and only if two stores have the same keys and values. `digest` is the SHA-256 of everything
 * before the first record, the count and `content`, so that it covers every byte. The revisions of
 * keys are not included, because no store can be told which ones to assign, and the history is not
 * included either.
 *
 * In place of a record there may be 'x' length:2 text: the writer failed, for this reason. */
#pragma once

#include "base/buf.h"
#include "store/store.h"
#include "sys/sha256.h"

#define STORE_DUMP_MAGIC STR("eden.store/1\n")

enum {
    STORE_DUMP_ID_MAX = 63,
    STORE_DUMP_REASON_MAX = 400,

    DUMP_KEY = 'k',
    DUMP_LEASED = 'l',
    DUMP_END = 'e',
    DUMP_FAILURE = 'x',
};

typedef struct StoreDumpHead {
    int64_t revision;
    char store_id[STORE_DUMP_ID_MAX + 1];
} StoreDumpHead;

typedef struct StoreDumpRecord {
    Str key, value;
    int64_t lease; /* 0: no lease */
    int64_t ttl_s; /* TTL of the lease */
} StoreDumpRecord;

typedef struct StoreDumpEnd {
    int64_t count; /* number of records */
    int64_t bytes; /* size of the dump */
    char content[SHA256_HEX + 1], digest[SHA256_HEX + 1];
} StoreDumpEnd;

/* --- Integers and strings -------------------------------------------------------------------- */

static inline void dump_put_number(Buf *out, uint32_t bytes, uint64_t number)
{
    for (uint32_t i = bytes; i > 0; i--) {
        buf_put_char(out, (char)(number >> 8 * (i - 1)));
    }
}

/* Consumes an integer from `text`, which must be long enough. */
static inline uint64_t dump_take_number(Str *text, uint32_t bytes)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        number = number << 8 | (unsigned char)text->data[i];
    }
    *text = str_from_offset(*text, bytes);
    return number;
}

static inline bool dump_is_text(char c)
{
    return c >= ' ' && c <= '~';
}
