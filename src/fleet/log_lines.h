/* Reads a file line by line while it grows. */
#pragma once

#include "base/buf.h"
#include "sys/file_reader.h"

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
/* Whether the line contains zeros, which a power failure may leave. */
bool log_line_is_torn(Str line);
