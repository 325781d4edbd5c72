/* Reads a file line by line, also beyond what was its end earlier. */
#pragma once

#include "base/buf.h"
#include "sys/file_reader.h"

/* Starts as { .chunk = buf_make(BUF_UNLIMITED) }; then `file` is opened. */
typedef struct LogLines {
    FileReader *file; /* NULL: it did not exist */
    Buf chunk;        /* read but not returned yet, from `used` on */
    size_t used;
    int64_t offset; /* of the file: end of the last line */
} LogLines;

void log_lines_clear(LogLines *lines);
/* Continues at this offset, with what the file has there now. */
MUST_CHECK bool log_lines_seek(LogLines *lines, int64_t offset, Error *err);
/* The next line without its newline, valid until the next call; no data at the end of the file, of
 * which an incomplete last line is not returned, and before a line that ends after `until`. */
MUST_CHECK bool log_lines_next(LogLines *lines, int64_t until, Str *line, Error *err);
/* Whether a power failure has left zeros in it. */
bool log_line_is_torn(Str line);
