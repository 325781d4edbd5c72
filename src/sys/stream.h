/* Output of a command: standard output or standard error, buffered. The first failure is stored
 * until it is queried. After a failed write further output is dropped, so a full disk or a closed
 * pipe is reported once, at the end. A stream without a descriptor collects its output in
 * memory. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct Stream {
    int descriptor; /* STREAM_MEMORY: no descriptor */
    Buf buf;        /* not written yet */
    bool failed;
    Error error; /* the reason, if `failed` */
} Stream;

enum {
    STREAM_MEMORY = -1,
    STREAM_PIECE = 64 << 10, /* buffered bytes that trigger a write */
};

Stream stream_make(int descriptor);
void stream_clear(Stream *stream); /* drops buffered output; the descriptor stays open */
DEFINE_AUTO_CLEAR(Stream, stream_clear)

void stream_put(Stream *stream, Str text);
PRINTF_LIKE(2, 3) void stream_put_format(Stream *stream, const char *format, ...);
/* Returns false if this write or an earlier one failed. */
bool stream_flush(Stream *stream);

/* Whether it is a terminal. */
bool stream_is_terminal(const Stream *stream);
/* Width of the terminal; 80 if unknown. */
unsigned stream_columns(const Stream *stream);
/* Height of the terminal; 24 if unknown. */
unsigned stream_rows(const Stream *stream);
