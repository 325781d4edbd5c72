/* Where a command writes: standard output or standard error, buffered, and the first failure kept
 * until somebody asks. Once writing has failed, the rest is dropped: a full disk or a reader that
 * went away is told once, at the end. A stream without a descriptor keeps everything in memory. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct Stream {
    int descriptor; /* STREAM_MEMORY: none */
    Buf buf;        /* what is not written yet */
    bool failed;
    Error error; /* why, when failed */
} Stream;

enum {
    STREAM_MEMORY = -1,
    STREAM_PIECE = 64 << 10, /* written when so much has gathered */
};

Stream stream_make(int descriptor);
void stream_clear(Stream *stream); /* drops what is not written; the descriptor stays open */
DEFINE_AUTO_CLEAR(Stream, stream_clear)

void stream_put(Stream *stream, Str text);
PRINTF_LIKE(2, 3) void stream_put_format(Stream *stream, const char *format, ...);
/* False when this or anything before could not be written. */
bool stream_flush(Stream *stream);

/* Whether a person sees it. */
bool stream_is_terminal(const Stream *stream);
/* How wide that is; 80 when it does not tell. */
unsigned stream_columns(const Stream *stream);
