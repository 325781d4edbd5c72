#include "store/dump_reader.h"

#include <stdio.h>

#include "base/bug.h"
#include "store/dump_format.h"

enum {
    STATE_MAGIC,
    STATE_ID,
    STATE_KIND,
    STATE_KEY,
    STATE_LEASED,
    STATE_BODY,
    STATE_END,
    STATE_FAILURE,
    STATE_REASON,
    STATE_COMPLETE,
    STATE_FAILED,
};

enum {
    KEY_HEAD = 4 + 4,
    LEASED_HEAD = KEY_HEAD + 8 + 8,
    END_COUNTED = 8 + SHA256_HEX, /* length of the part of the end record that its digest covers */
};

static void expect(StoreDumpReader *reader, uint8_t state, size_t bytes)
{
    reader->state = state;
    reader->block_size = bytes;
    buf_reset(&reader->block);
}

void store_dump_reader_init(StoreDumpReader *reader, const StoreDumpSink *sink)
{
    *reader = (StoreDumpReader){ .sink = *sink,
                                 .block = buf_make(STORE_KEY_MAX + STORE_VALUE_MAX),
                                 .last_key = buf_make(STORE_KEY_MAX) };
    sha256_start(&reader->content);
    sha256_start(&reader->digest);
    expect(reader, STATE_MAGIC, STORE_DUMP_MAGIC.len + 8 + 1);
}

void store_dump_reader_clear(StoreDumpReader *reader)
{
    buf_clear(&reader->block);
    buf_clear(&reader->last_key);
}

static bool damaged(const StoreDumpReader *reader, const char *what, Error *err)
{
    return error_set(err, ERROR_INVALID, "damaged before byte %lld: %s",
                     (long long)reader->end.bytes, what);
}

/* --- Blocks ---------------------------------------------------------------------------------- */

static bool read_magic(StoreDumpReader *reader, Str block, Error *err)
{
    Str rest = str_from_offset(block, STORE_DUMP_MAGIC.len);
    if (!str_starts(block, STORE_DUMP_MAGIC)) {
        return error_set(err, ERROR_INVALID,
                         "not a dump of a store that this version of eden can read");
    }
    uint64_t revision = dump_take_number(&rest, 8), len = dump_take_number(&rest, 1);
    if (revision > (uint64_t)STORE_REVISION_MAX || len == 0 || len > STORE_DUMP_ID_MAX) {
        return damaged(reader, "invalid header", err);
    }
    reader->head.revision = (int64_t)revision;
    sha256_add(&reader->digest, block);
    expect(reader, STATE_ID, (size_t)len);
    return true;
}

static bool read_id(StoreDumpReader *reader, Str block, Error *err)
{
    for (size_t i = 0; i < block.len; i++) {
        if (!ascii_is_name(block.data[i]) && block.data[i] != '-') {
            return damaged(reader, "invalid store ID", err);
        }
    }
    sha256_add(&reader->digest, block);
    snprintf(reader->head.store_id, sizeof reader->head.store_id, "%" STR_FMT, STR_ARG(block));
    expect(reader, STATE_KIND, 1);
    return reader->sink.head == NULL || reader->sink.head(reader->sink.context, &reader->head, err);
}

static bool read_kind(StoreDumpReader *reader, Str block, Error *err)
{
    switch (block.data[0]) {
    case DUMP_KEY: expect(reader, STATE_KEY, KEY_HEAD); break;
    case DUMP_LEASED: expect(reader, STATE_LEASED, LEASED_HEAD); break;
    case DUMP_END: expect(reader, STATE_END, END_COUNTED + SHA256_HEX); return true;
    case DUMP_FAILURE: expect(reader, STATE_FAILURE, 2); return true;
    default: return damaged(reader, "unknown kind of record", err);
    }
    sha256_add(&reader->content, block);
    return true;
}

static bool read_key(StoreDumpReader *reader, Str block, Error *err)
{
    sha256_add(&reader->content, block);
    bool is_leased = reader->state == STATE_LEASED;
    uint64_t key = dump_take_number(&block, 4), value = dump_take_number(&block, 4);
    uint64_t lease = is_leased ? dump_take_number(&block, 8) : 0;
    uint64_t ttl_s = is_leased ? dump_take_number(&block, 8) : 0;
    if (key == 0 || key > STORE_KEY_MAX || value > STORE_VALUE_MAX) {
        return damaged(reader, "invalid length of a record", err);
    }
    if (is_leased && (lease == 0 || lease > INT64_MAX || ttl_s == 0 || ttl_s > STORE_TTL_MAX)) {
        return damaged(reader, "invalid lease of a record", err);
    }
    reader->key_len = (size_t)key;
    reader->record = (StoreDumpRecord){ .lease = (int64_t)lease, .ttl_s = (int64_t)ttl_s };
    expect(reader, STATE_BODY, (size_t)(key + value));
    return true;
}

static bool read_body(StoreDumpReader *reader, Str block, Error *err)
{
    StoreDumpRecord *record = &reader->record;
    record->key = str_slice(block, 0, reader->key_len);
    record->value = str_from_offset(block, reader->key_len);
    sha256_add(&reader->content, block);
    if (reader->end.count > 0 && str_compare(buf_str(&reader->last_key), record->key) >= 0) {
        return damaged(reader, "keys are not in order", err);
    }
    buf_reset(&reader->last_key);
    buf_put(&reader->last_key, record->key);
    reader->end.count++;
    if (reader->sink.record != NULL && !reader->sink.record(reader->sink.context, record, err)) {
        return false;
    }
    expect(reader, STATE_KIND, 1);
    return true;
}

static bool read_end(StoreDumpReader *reader, Str block, Error *err)
{
    StoreDumpEnd *end = &reader->end;
    Str rest = block;
    sha256_finish(&reader->content, end->content);
    sha256_add(&reader->digest, str_slice(block, 0, END_COUNTED));
    sha256_finish(&reader->digest, end->digest);
    uint64_t count = dump_take_number(&rest, 8);
    if (!str_eq_c(str_from_offset(rest, SHA256_HEX), end->digest) ||
        !str_eq_c(str_slice(rest, 0, SHA256_HEX), end->content)) {
        return error_set(err, ERROR_INVALID, "damaged: its records do not match their checksum");
    }
    if (count != (uint64_t)end->count) {
        return error_set(err, ERROR_INVALID,
                         "it contains %lld keys, but its end record specifies %llu",
                         (long long)end->count, (unsigned long long)count);
    }
    expect(reader, STATE_COMPLETE, 0);
    return true;
}

static bool read_failure(StoreDumpReader *reader, Str block, Error *err)
{
    uint64_t len = dump_take_number(&block, 2);
    if (len == 0 || len > STORE_DUMP_REASON_MAX) {
        return damaged(reader, "invalid failure record", err);
    }
    expect(reader, STATE_REASON, (size_t)len);
    return true;
}

static bool read_reason(const StoreDumpReader *reader, Str block, Error *err)
{
    for (size_t i = 0; i < block.len; i++) {
        if (!dump_is_text(block.data[i])) {
            return damaged(reader, "invalid failure record", err);
        }
    }
    return error_set(err, ERROR_UNAVAILABLE,
                     "it is incomplete, because writing it failed: %" STR_FMT, STR_ARG(block));
}

/* --- Reader ---------------------------------------------------------------------------------- */

static bool read_block(StoreDumpReader *reader, Str block, Error *err)
{
    switch (reader->state) {
    case STATE_MAGIC: return read_magic(reader, block, err);
    case STATE_ID: return read_id(reader, block, err);
    case STATE_KIND: return read_kind(reader, block, err);
    case STATE_KEY:
    case STATE_LEASED: return read_key(reader, block, err);
    case STATE_BODY: return read_body(reader, block, err);
    case STATE_END: return read_end(reader, block, err);
    case STATE_FAILURE: return read_failure(reader, block, err);
    case STATE_REASON: return read_reason(reader, block, err);
    default: BUG("reading after a failure");
    }
}

/* A block that is complete in the input is not copied. */
static bool next_block(StoreDumpReader *reader, Str *bytes, Str *out)
{
    size_t missing = reader->block_size - reader->block.len;
    size_t count = bytes->len < missing ? bytes->len : missing;
    Str part = str_slice(*bytes, 0, count);
    *bytes = str_from_offset(*bytes, count);
    reader->end.bytes += (int64_t)count;
    if (count == reader->block_size) {
        *out = part;
        return true;
    }
    buf_put(&reader->block, part);
    *out = buf_str(&reader->block);
    return count == missing;
}

bool store_dump_reader_feed(StoreDumpReader *reader, Str *bytes, Error *err)
{
    Str block;
    while (bytes->len > 0 && reader->state != STATE_COMPLETE) {
        if (next_block(reader, bytes, &block) && !read_block(reader, block, err)) {
            reader->state = STATE_FAILED;
            return false;
        }
    }
    return true;
}

bool store_dump_reader_is_complete(const StoreDumpReader *reader)
{
    return reader->state == STATE_COMPLETE;
}

bool store_dump_reader_finish(const StoreDumpReader *reader, Error *err)
{
    return store_dump_reader_is_complete(reader) ||
           error_set(err, ERROR_INVALID, "truncated: it ends at byte %lld, after %lld keys",
                     (long long)reader->end.bytes, (long long)reader->end.count);
}
