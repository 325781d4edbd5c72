/* The file of a spool, as bytes. Pure.
 *
 *     "eden.spool/1\n", then frames: CRC-32C of what follows (4 bytes), epoch (8), length of the
 *     content (4), content
 *
 * A frame is what was written and synced at one moment: one that is there as a whole was not
 * necessarily told to be durable, one that was told so is there as a whole. Content is entries, one
 * behind the other: the start of a file with the highest number that was ever given, records,
 * records that were dropped, and up to where they are not needed any more. Numbers are little
 * endian.
 *
 * A record has a frame of its own, so that damage takes what it hits and nothing else: the next whole
 * frame of the same epoch goes on.
 *
 * The epoch in each frame is random, and nobody who writes records knows it: so a frame
 * inside of a record is never taken for one of ours. */
#pragma once

#include "base/vec.h"
#include "rpc/session_message.h"

enum {
    SPOOL_CONTENT_MAX = 32 * 1024 * 1024, /* bytes of one frame */
    SPOOL_LIVE_MAX = 16 * 1024 * 1024,    /* bytes of records that are needed */
    SPOOL_FRAME_HEAD = 16,
};

#define SPOOL_ANY   STR("eden.spool/") /* of whatever version */
#define SPOOL_MAGIC STR("eden.spool/1\n")

/* --- Writing --------------------------------------------------------------------------------- */

/* Entries gather in a buffer, and become a frame with a head in front. */
void spool_put_record(Buf *content, const Record *record);
void spool_put_drop(Buf *content, uint64_t sequence);
void spool_put_trim(Buf *content, uint64_t sequence);
void spool_put_frame(Buf *out, uint64_t epoch, Str content);

/* --- Reading --------------------------------------------------------------------------------- */

typedef VEC(Record) SpoolRecords;

/* Bytes between whole frames that make none. */
typedef struct SpoolSpan {
    size_t from, to;
} SpoolSpan;

typedef struct SpoolImage {
    uint64_t epoch;
    uint64_t last_sequence; /* the highest that was ever stored */
    SpoolRecords records;   /* those that are still needed, in order; they borrow the text */
    size_t whole;           /* bytes up to the end of the last whole frame */
    VEC(SpoolSpan) damaged; /* before that; what was in them is lost */
} SpoolImage;

/* Damage behind the last whole frame is what an end in the middle of a write leaves: it is not in
 * `whole`. Other damage is in `damaged`, as long as the epoch is known. Fails with ERROR_INVALID and the
 * place when nothing of it can be read, with ERROR_LIMIT when there are too many records. */
MUST_CHECK bool spool_read(Arena *arena, Str text, SpoolImage *out, Error *err);
/* The file that says the same with nothing that is not needed. */
void spool_print(const SpoolImage *image, Buf *out);
