/* Reads lines with a maximum length from a descriptor. A longer line is skipped and reported, and
 * reading continues with the next line. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct LineReader {
    int descriptor;
    size_t max; /* bytes of a line, without its newline */
    Buf buf;    /* read but not returned yet, from `start` on */
    size_t start;
    size_t scanned; /* the bytes before this contain no newline */
    bool at_end;    /* end of file */
} LineReader;

typedef enum LineOutcome {
    LINE_READ,
    LINE_TOO_LONG, /* skipped up to its end */
    LINE_END,
    LINE_FAILED, /* read(2) failed */
} LineOutcome;

LineReader line_reader_make(int descriptor, size_t max);
void line_reader_clear(LineReader *reader);
DEFINE_AUTO_CLEAR(LineReader, line_reader_clear)

/* The next line without its end ("\n"), valid until the next call. Fills `err` for LINE_FAILED. */
LineOutcome line_reader_next(LineReader *reader, Str *line, Error *err);
/* Whether the next line, or the end of file, is buffered already, so that line_reader_next does not
 * block. If not, this is the moment to flush replies. */
bool line_reader_is_ready(LineReader *reader);
