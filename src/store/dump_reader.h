/* Parses and verifies a dump (dump_format.h) incrementally. Pure; needs memory for one record.
 *
 * Records must not be trusted before the end was read: only the digest there proves that they are
 * intact. */
#pragma once

#include "base/buf.h"
#include "store/dump_format.h"

/* Each function may fail, which ends reading. Arguments are valid during the call. NULL:
 * ignored. */
typedef struct StoreDumpSink {
    bool (*head)(void *context, const StoreDumpHead *head, Error *err);
    bool (*record)(void *context, const StoreDumpRecord *record, Error *err);
    void *context;
} StoreDumpSink;

typedef struct StoreDumpReader {
    StoreDumpSink sink;
    StoreDumpHead head;
    StoreDumpEnd end; /* `count` and `bytes` as received so far */
    Buf block;        /* the received part of the next block */
    Buf last_key;
    Sha256 content, digest;
    size_t block_size; /* size of the block */
    size_t key_len;
    StoreDumpRecord record;
    uint8_t state;
} StoreDumpReader;

void store_dump_reader_init(StoreDumpReader *reader, const StoreDumpSink *sink);
void store_dump_reader_clear(StoreDumpReader *reader);
DEFINE_AUTO_CLEAR(StoreDumpReader, store_dump_reader_clear)

/* Consumes `bytes` until they or the dump end; what remains does not belong to the dump. Fails with
 * ERROR_INVALID for damaged input, and with ERROR_UNAVAILABLE if the writer recorded a failure. No
 * more calls are allowed after that. */
MUST_CHECK bool store_dump_reader_feed(StoreDumpReader *reader, Str *bytes, Error *err);
/* Whether the dump is complete and verified; then `end` is valid. */
bool store_dump_reader_is_complete(const StoreDumpReader *reader);
/* Call it at the end of the input. Fails if the dump is incomplete. */
MUST_CHECK bool store_dump_reader_finish(const StoreDumpReader *reader, Error *err);
