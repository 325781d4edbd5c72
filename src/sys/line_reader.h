/* Lines from a descriptor, each at most so many bytes. A line that is longer is skipped and told,
 * and the next one is read as if nothing had happened. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct LineReader {
    int descriptor;
    size_t max; /* bytes of a line, its end not counted */
    Buf buf;    /* what is read but not given out, from `start` on */
    size_t start;
    size_t looked; /* no line end in the bytes before this */
    bool at_end;   /* the descriptor has no more */
} LineReader;

typedef enum LineOutcome {
    LINE_READ,
    LINE_TOO_LONG, /* skipped up to its end */
    LINE_END,
    LINE_FAILED, /* the descriptor could not be read */
} LineOutcome;

LineReader line_reader_make(int descriptor, size_t max);
void line_reader_clear(LineReader *reader);
DEFINE_AUTO_CLEAR(LineReader, line_reader_clear)

/* The next line without its end ("\n"), valid until the next call. Fills `err` for LINE_FAILED. */
LineOutcome line_reader_next(LineReader *reader, Str *line, Error *err);
/* Whether the next line, or the end, is known already, so that asking for it cannot wait for
 * whoever writes. The moment when it is not is the moment to send answers. */
bool line_reader_is_ready(LineReader *reader);
