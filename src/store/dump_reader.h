/* A dump (dump_format.h) read piece by piece as it comes, and checked on the way. Pure; needs memory for one
 * record.
 *
 * Whoever takes the records must not believe any of them before the end was taken: only the digest
 * there tells that they are what was written. */
#pragma once

#include "base/buf.h"
#include "store/dump_format.h"

/* Each may fail with an error of its own, which ends the reading. What they are given is borrowed for the
 * call. NULL: nobody wants it. */
typedef struct StoreDumpSink {
    bool (*head)(void *context, const StoreDumpHead *head, Error *err);
    bool (*record)(void *context, const StoreDumpRecord *record, Error *err);
    void *context;
} StoreDumpSink;

typedef struct StoreDumpReader {
    StoreDumpSink sink;
    StoreDumpHead head;
    StoreDumpEnd end; /* `count` and `bytes` as far as it was read */
    Buf block;        /* what comes next, as far as it is there */
    Buf last_key;
    Sha256 content, digest;
    size_t wanted; /* bytes of the block */
    size_t key_len;
    StoreDumpRecord record;
    uint8_t state;
} StoreDumpReader;

void store_dump_reader_init(StoreDumpReader *reader, const StoreDumpSink *sink);
void store_dump_reader_clear(StoreDumpReader *reader);
DEFINE_AUTO_CLEAR(StoreDumpReader, store_dump_reader_clear)

/* Takes from the front of `bytes` until they or the dump end: what is left then is not of it. Fails with
 * ERROR_INVALID for what is damaged, and with ERROR_UNAVAILABLE when the writer says that it could
 * not go on; then it is over. */
MUST_CHECK bool store_dump_reader_take(StoreDumpReader *reader, Str *bytes, Error *err);
/* All of it is there and was checked; `end` says what it is. */
bool store_dump_reader_is_whole(const StoreDumpReader *reader);
/* There are no more bytes. Fails when the dump is not whole. */
MUST_CHECK bool store_dump_reader_finish(const StoreDumpReader *reader, Error *err);
