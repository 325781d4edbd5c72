/* The format of a spool file. Pure.
 *
 *     "eden.spool/1\n", then frames: CRC-32C of what follows (4 bytes), epoch (8), length of the
 *     content (4), content
 *
 * A frame is written and synced at once: every frame that was reported as durable is complete; the
 * reverse is not true. Its content is a sequence of entries: the start of a file with the highest
 * sequence number so far, records, dropped records, and the position up to which records are
 * obsolete. Integers are little endian.
 *
 * Each record has its own frame, so that damage affects only the records that it overlaps: reading
 * resumes at the next complete frame of the same epoch.
 *
 * The epoch in each frame is random and unknown to authors of records, so a frame inside a
 * record cannot be mistaken for a real one. */
#pragma once

#include "base/vec.h"
#include "rpc/session_message.h"

enum {
    SPOOL_CONTENT_MAX = 32 * 1024 * 1024, /* content of one frame, in bytes */
    SPOOL_LIVE_MAX = 16 * 1024 * 1024,    /* records still needed, in bytes */
    SPOOL_FRAME_HEAD = 16,
};

#define SPOOL_ANY   STR("eden.spool/") /* prefix of the format line of any version */
#define SPOOL_MAGIC STR("eden.spool/1\n")

/* --- Writing --------------------------------------------------------------------------------- */

/* Entries are collected in a buffer, which becomes a frame with a header. */
void spool_put_record(Buf *content, const Record *record);
void spool_put_drop(Buf *content, uint64_t sequence);
void spool_put_trim(Buf *content, uint64_t sequence);
void spool_put_frame(Buf *out, uint64_t epoch, Str content);

/* --- Reading --------------------------------------------------------------------------------- */

typedef VEC(Record) SpoolRecords;

/* A range between complete frames that is not a frame. */
typedef struct SpoolSpan {
    size_t from, to;
} SpoolSpan;

typedef struct SpoolImage {
    uint64_t epoch;
    uint64_t last_sequence; /* highest sequence number ever stored */
    SpoolRecords records;   /* still needed, in order; they borrow the text */
    size_t complete_bytes;  /* offset of the end of the last complete frame */
    VEC(SpoolSpan) damaged; /* ranges before that; their content is lost */
} SpoolImage;

/* Damage after the last complete frame is the result of an interrupted write and not included in
 * `complete_bytes`. Other damage is in `damaged`, provided that the epoch is known. Fails with
 * ERROR_INVALID and the offset if nothing is readable, ERROR_LIMIT if there are too many
 * records. */
MUST_CHECK bool spool_read(Arena *arena, Str text, SpoolImage *out, Error *err);
/* Prints an equivalent file without obsolete entries. */
void spool_print(const SpoolImage *image, Buf *out);
