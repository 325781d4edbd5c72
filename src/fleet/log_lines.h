/* The lines of a log: the events of nodes, each after the name of its node. Reads a file of them
 * while it grows. */
#pragma once

#include "base/buf.h"
#include "run/run_events.h"
#include "sys/file_stream.h"

/* `{"node":"web1",`: the start of every line of the node. */
void log_line_put_prefix(Buf *out, Str node);
/* The node and the event of a stored line. */
bool log_line_split(Str line, Str *node, Str *event);

/* The node that sends events; used for one or more of them. */
typedef struct LogSender {
    Str node;   /* borrowed */
    Buf prefix; /* of its lines */
    Arena scratch;
} LogSender;

void log_sender_init(LogSender *sender, Str node);
void log_sender_clear(LogSender *sender);
DEFINE_AUTO_CLEAR(LogSender, log_sender_clear)

/* Reads the event of a complete line. Fails with ERROR_INVALID unless it is one of this node and
 * has the expected number. */
MUST_CHECK bool log_sender_check(LogSender *sender, Str line, uint64_t expected, RunEventLine *out,
                                 Error *err);
/* Appends the line to store, without a newline. */
void log_sender_put(const LogSender *sender, const RunEventLine *event, Buf *out);

/* Initialize with { .chunk = buf_make(BUF_UNLIMITED) }, then open `file`. */
typedef struct LogLines {
    FileReader *file; /* NULL: the file did not exist */
    Buf chunk;        /* bytes read but not returned yet, from `used` on */
    size_t used;
    int64_t offset; /* offset in the file of the end of the last line */
} LogLines;

void log_lines_clear(LogLines *lines);
/* Continues at this offset, with the current content of the file. */
MUST_CHECK bool log_lines_seek(LogLines *lines, int64_t offset, Error *err);
/* The next line without its newline, valid until the next call. Returns no data at the end of the
 * file, for an incomplete last line, and for a line that ends after `until`. */
MUST_CHECK bool log_lines_next(LogLines *lines, int64_t until, Str *line, Error *err);
/* Whether the line contains NUL bytes, which a power failure may leave. */
bool log_line_is_torn(Str line);
