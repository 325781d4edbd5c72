/* The outbox of a node on disk: pending records survive restarts and power failures until a server
 * has stored them. Loop thread; it blocks while a frame is written and synced.
 *
 * Records added within a few milliseconds are written and synced together. If the disk fails,
 * records stay in memory and unsent, within the limit of the outbox, and writing is retried. The
 * file is rewritten when most of it is obsolete.
 *
 * A directory may have only one user at a time; the agent ensures that. */
#pragma once

#include "rpc/outbox.h"
#include "sys/directory.h"
#include "sys/loop.h"

typedef struct Spool Spool;

enum {
    SPOOL_FLUSH_MS = 10,         /* delay to batch records */
    SPOOL_TRIM_MS = 1000,        /* delay to batch trims */
    SPOOL_RETRY_MS = 1000,       /* delay after a failure */
    SPOOL_SLACK = 256 * 1024,    /* obsolete bytes in the file before it is rewritten */
    SPOOL_PENDING = 1024 * 1024, /* pending bytes before obsolete ones are dropped */
    SPOOL_FILE_MAX = 64 << 20,   /* in bytes; a larger file is not a spool */
};

typedef struct SpoolOptions {
    Loop *loop;
    const Directory *directory; /* borrowed until spool_close() */
    size_t bytes_max;           /* limit of the outbox, at most 8 MiB; 0: OUTBOX_BYTES */
    /* More of the outbox can be sent. Never called from within a function of the spool. */
    void (*stored)(void *context);
    void (*room)(void *context); /* as in the outbox; may be NULL */
    void *context;
} SpoolOptions;

/* Opens or creates it. An incomplete tail is cut off with a warning. Only damaged records are lost:
 * what is unreadable is saved as spool.damaged next to it, and logged. The others keep their
 * sequence numbers, so that a server accepts each once and sees a gap. Fails with ERROR_INVALID,
 * without changes, if the file has a different version. */
MUST_CHECK bool spool_open(const SpoolOptions *options, Spool **out, Error *err);
/* Tries once to write pending entries. NULL is allowed. */
void spool_close(Spool *spool);
DEFINE_AUTO(Spool, spool_close)

/* The outbox that records are added to; it lives as long as the spool. */
Outbox *spool_outbox(Spool *spool);

typedef struct SpoolStatus {
    int64_t bytes;    /* size of the file */
    const Error *why; /* why the disk is failing; otherwise NULL */
    bool was_damaged; /* spool.damaged exists until it is deleted */
} SpoolStatus;
SpoolStatus spool_status(const Spool *spool);
