/* The events of runs as their nodes uploaded them, on the disk of this server: one file per run
 * that only grows, a line of JSON per event with the name of its node (run/run_events.h has the
 * events).
 *
 * Appends are written in groups: while one group is written and synced by a thread, the next one is
 * collected. An append is completed when its events are durable, so anything acknowledged to a node
 * survives a power failure. Loop thread. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/own.h"
#include "sys/loop.h"

typedef struct RunLogs RunLogs;

enum {
    /* maximum size per node and run; above it only important events are stored, and above twice as
     * much none */
    RUN_LOG_NODE_BYTES = 8 << 20,
    RUN_LOG_BYTES = 256 << 20,      /* maximum size per run, applied in the same way */
    RUN_LOG_PENDING_MAX = 32 << 20, /* maximum size of appends that wait to be written */
};

/* `directory` is created if it does not exist. */
MUST_CHECK bool run_logs_open(Loop *loop, const char *directory, RunLogs **out, Error *err);
/* Waits for a write in progress; appends that are not durable yet are completed with
 * ERROR_UNAVAILABLE. NULL is allowed. */
void run_logs_close(RunLogs *logs);
DEFINE_AUTO(RunLogs, run_logs_close)

/* All events of the node before `next` are durable. */
typedef void RunLogsAppended(void *context, uint64_t next, const Error *err);
typedef struct RunLogLines {
    Str run, node;
    uint64_t from; /* number of the first event */
    Str lines;
} RunLogLines;
/* Appends events of one node, in order. Events that are stored
 * already are ignored; after a gap nothing is stored, and `next` is the expected number. Without
 * lines, only reports `next`. `done` is called once, in a later iteration of the loop. Fails with
 * ERROR_INVALID, ERROR_LIMIT if too much waits to be written, ERROR_UNAVAILABLE if the disk is
 * nearly full, or on file errors. */
MUST_CHECK bool run_logs_append(RunLogs *logs, const RunLogLines *lines, RunLogsAppended *done,
                                void *context, Error *err);
/* Whether an append to this run can proceed without reading its file first. */
bool run_logs_is_open(const RunLogs *logs, Str run);
/* Deletes the log of a run. */
void run_logs_remove(RunLogs *logs, Str run);
/* Replaces the log of a run, if it is not being written (ERROR_UNAVAILABLE). */
MUST_CHECK bool run_logs_replace(RunLogs *logs, Str run, Str text, Error *err);

typedef struct RunLogFile {
    Str run;
    int64_t bytes;
} RunLogFile;

/* All of them, oldest first. */
MUST_CHECK bool run_logs_list(const RunLogs *logs, Arena *arena, RunLogFile **out, uint32_t *count,
                              Error *err);
int64_t run_logs_disk_bytes(const RunLogs *logs); /* of the file system that they are on */

/* --- Reading --------------------------------------------------------------------------------- */

typedef struct RunLogReader RunLogReader;

/* The start of the line that remains of a log that was removed (run_logs_limit.h). */
#define RUN_LOG_REMOVED "{\"event\":\"removed\","

/* Only events of this node, and of this step; empty: all. That the log was removed is shown in any
 * case. A run without events is empty. */
MUST_CHECK bool run_log_read(RunLogs *logs, Str run, Str node, Str step, RunLogReader **out,
                             Error *err);
void run_log_reader_free(RunLogReader *reader); /* NULL is allowed */
DEFINE_AUTO(RunLogReader, run_log_reader_free)
/* Must be called before the first lines are read: starts at this offset of the log, or at its
 * beginning if no line starts there. */
void run_log_reader_start(RunLogReader *reader, int64_t from);
/* The offset at which another reader can continue after the lines that this one has read. */
int64_t run_log_reader_offset(const RunLogReader *reader);
/* Appends the next durable lines, up to about `max` bytes; may return none after skipping many
 * lines, so that the caller can yield. Returns false on file errors. `*is_end`: there are no more
 * lines at present. */
MUST_CHECK bool run_log_reader_next(RunLogReader *reader, size_t max, Buf *out, bool *is_end,
                                    Error *err);
/* Calls `grown` whenever more events of the run have become durable, until it is freed. */
void run_log_reader_follow(RunLogReader *reader, LoopRun *grown, void *context);
