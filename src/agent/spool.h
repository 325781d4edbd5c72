/* The outbox of a node on disk: pending records survive restarts and power failures, until
 * a server has stored them. Loop thread, which waits while a frame is written and synced.
 *
 * Records added within a few milliseconds are written and synced together. If the disk
 * fails, records stay in memory and unsent, within the limit of the outbox, and writing is
 * retried. The file is rewritten when most of it is obsolete.
 *
 * A directory has one user at a time; the owner of the agent ensures that. */
#pragma once

#include "rpc/outbox.h"
#include "sys/directory.h"
#include "sys/loop.h"

typedef struct Spool Spool;

enum {
    SPOOL_FLUSH_MS = 10,         /* records wait so long for others */
    SPOOL_TRIM_MS = 1000,        /* and what is not needed any more so long */
    SPOOL_RETRY_MS = 1000,       /* until the next try after a failure */
    SPOOL_SLACK = 256 * 1024,    /* bytes of the file that need not be needed */
    SPOOL_PENDING = 1024 * 1024, /* bytes that wait for the disk before they are sorted out */
    SPOOL_FILE_MAX = 64 << 20,   /* bytes; a larger one is none of ours */
};

typedef struct SpoolOptions {
    Loop *loop;
    const Directory *directory; /* borrowed until spool_close */
    size_t bytes_max;           /* of the outbox, at most 8 MiB; 0: OUTBOX_BYTES */
    /* More of the outbox can be sent. Never from within a function that the owner calls. */
    void (*stored)(void *context);
    void (*room)(void *context); /* as of an outbox; may be NULL */
    void *context;
} SpoolOptions;

/* Opens or makes it. A tail that was not written to its end is cut with a warning. Records that are
 * damaged are lost, and those alone: what cannot be read is saved as spool.damaged beside it, and logged.
 * The numbers of the others stay, so that a server takes each once and sees a gap. A file of another
 * version is ERROR_INVALID, and nothing is changed. */
MUST_CHECK bool spool_open(const SpoolOptions *options, Spool **out, Error *err);
/* Tries once to write what waits. NULL is allowed. */
void spool_close(Spool *spool);
DEFINE_AUTO(Spool, spool_close)

/* Where records are added; lives as long as the spool. */
Outbox *spool_outbox(Spool *spool);

typedef struct SpoolStatus {
    int64_t bytes;    /* of the file */
    const Error *why; /* the disk takes nothing at present; else NULL */
    bool was_damaged; /* spool.damaged is there, until somebody removes it */
} SpoolStatus;
SpoolStatus spool_status(const Spool *spool);
